"""A call with secrets of every kind, over real processes: none of them is in clear where people
look.
"""

import json
import re

import httpx

from haltpoint.client import Client
from tests.e2e.otlp import Receiver
from tests.e2e.running import Running
from tests.support import wait_until
from tests.support.secret_forms import FORMS, secret_in

NAMED = ("hunter2-of-ann", "code-of-ann-99", "918273")
"""By their parameters: a name, a type, and a number."""
SECRETS = (*NAMED, *map(secret_in, FORMS.values()))
NOTE = " | ".join(FORMS.values())


async def test_no_secret_of_a_call_is_in_clear_anywhere(
    system: Running, client: Client, receiver: Receiver
) -> None:
    places: dict[str, str] = {}
    given = ["user=ann", f"password={NAMED[0]}", f"code={NAMED[1]}", f"pin={NAMED[2]}"]
    run = await system.typed("tool", "call", "sign_in", *given, f"note={NOTE}", "--json")
    places["tool call"] = run.stdout + run.stderr
    chain_id = re.findall(r'"id":\s*"([^"]+)"', run.stdout)[0]
    chain = await client.chain(chain_id)
    request = chain.requests[0].id
    places["inbox before the yes"] = (await system.typed("inbox")).stdout
    headers = {"Authorization": f"Bearer {system.key}"}
    async with httpx.AsyncClient(base_url=system.url, headers=headers) as http:
        question = await http.get(f"/v1/requests/{request}")
        places["question before the yes"] = question.text
        shown = json.dumps(question.json()["arguments"])  # stars, sent back
        answer = await system.typed("answer", request, "approve", shown)
        places["answer"] = answer.stdout + answer.stderr

        async def in_doubt() -> bool:
            return len((await client.chain(chain_id)).requests) == 2

        await wait_until(in_doubt)
        places["inbox of the doubt"] = (await system.typed("inbox")).stdout
        doubt = (await client.chain(chain_id)).requests[1].id
        await system.typed("answer", doubt, "failed")
        events = f"/v1/chains/{chain_id}/events"
        stream = await http.get(events, headers={"Accept": "text/event-stream"})
        places["event stream"] = stream.text
        places["events"] = (await http.get(events)).text
    for words in ("chain show", "chain watch", "chain actions"):
        for form in ((), ("--json",)):
            done = await system.typed(*words.split(), chain_id, *form)
            places[" ".join((words, *form))] = done.stdout + done.stderr
    places["chain list"] = (await system.typed("chain", "list")).stdout
    places["log"] = system.state_dir.with_name("log").read_text()

    async def traced() -> bool:
        return any("execute_tool" in span.name for span in receiver.of_chain(chain_id))

    await wait_until(traced)
    places["traces"] = str(receiver.of_chain(chain_id))
    clear = [
        (place, secret) for place, text in places.items() for secret in SECRETS if secret in text
    ]
    assert clear == []
    for place in ("chain show --json", "inbox of the doubt", "log"):
        assert "no sign-in for ann with ***" in " ".join(places[place].split()), place
    assert system.written(chain_id) == [f"{NAMED[0]} {NAMED[1]} {NAMED[2]} {len(NOTE)}"]


async def test_what_a_result_gives_back_of_a_secret_is_in_clear_nowhere(
    system: Running, client: Client
) -> None:
    given = [f"password={NAMED[0]}", f"code={NAMED[1]}", f"pin={NAMED[2]}", "pages=3"]
    run = await system.typed("tool", "call", "repeat", *given, "--json")
    places = {"tool call": run.stdout + run.stderr}
    chain_id = re.findall(r'"id":\s*"([^"]+)"', run.stdout)[0]
    chain = await client.chain(chain_id)
    (action,) = chain.steps[0].actions
    wrong = {"password": NAMED[0], "code": [NAMED[1]], "pin": [NAMED[2]], "pages": 1}
    plan = {"steps": [{"id": "a", "actions": [{"tool": "repeat", "arguments": wrong}]}]}
    headers = {"Authorization": f"Bearer {system.key}"}
    async with httpx.AsyncClient(base_url=system.url, headers=headers) as http:
        of_chain = f"/v1/chains/{chain_id}"
        for where in ("", "/events", "/actions", f"/results/{action.id}"):
            places[where] = (await http.get(of_chain + where)).raise_for_status().text
        stream = await http.get(f"{of_chain}/events", headers={"Accept": "text/event-stream"})
        places["event stream"] = stream.text
        refused = await http.post("/v1/tasks", json={"goal": "x", "plan": plan})
        assert refused.status_code == 422
        places["a plan that is refused"] = refused.text
    for words in ("chain show", "chain watch", "chain actions"):
        done = await system.typed(*words.split(), chain_id)
        places[words] = done.stdout + done.stderr
    own = {"Origin": system.url}
    async with httpx.AsyncClient(base_url=system.url, headers=own) as browser:
        await browser.post("/login", data={"key": system.key, "next": "/"})
        page = await browser.get(f"/chains/{chain_id}")
        assert "repeat" in page.raise_for_status().text
        places["page"] = page.text
    clear = [
        (place, secret) for place, text in places.items() for secret in NAMED if secret in text
    ]
    assert clear == []
