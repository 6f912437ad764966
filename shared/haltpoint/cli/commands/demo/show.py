"""The demo: five cases, asked of a whole system, and the judgement by what the outbox holds.

Everything here is a client like any other: the chains run in the services, the message goes out
through the example's tools, and what was sent is read from the outbox and nowhere else.
"""

import asyncio
import json
import os
import shutil
import tempfile
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from haltpoint.cli.commands.models import play_script
from haltpoint.cli.commands.run import watch_to_end
from haltpoint.cli.errors import Exit
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import System, free_port, local_system
from haltpoint.cli.shell import Shell
from haltpoint.cli.wording import visible
from haltpoint.client import Client
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings_sources import load

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, RequestView

_MOMENT: Final = 1.0  # seconds until a question is answered by itself


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is asked. `for_whom`: the contact who may get a message without a person's
    choice. `option` is what the demo chooses, counted from 1, where no person does.
    """

    goal: str
    what: str
    for_whom: tuple[str, ...] = ()
    option: int = 1


CASES: Final = (
    Case(
        "Tell John I'm running late",
        "1, 2. Three people match: a person chooses, then the message is sent.",
    ),
    Case("Tell Jane hello", "3. One clear match: no question is needed.", ("user_jan001",)),
    Case("Tell Zorgblort hello", "4. No such person: nothing is sent, and the answer says why."),
    Case("Tell J hello", "5. Many weak matches: a person chooses.", option=3),
)
"""The first is two cases: the question, and what follows the choice."""


def perform(shell: Shell, *, by_itself: bool, own: bool) -> int:
    """Run the demo. Raises HaltpointError HP-045 when it did not come out as it must."""
    folder = Path(tempfile.mkdtemp(prefix="haltpoint-demo-"))
    show = Show(shell, folder, _why_alone(shell, by_itself=by_itself), own)
    try:
        asyncio.run(show.play())
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sent = show.sent()
    show.say(f"\nThe outbox: {count(len(sent), 'message')}")
    rows = [(message["name"], message["to"], message["content"]) for message in sent]
    document = {"outbox": sent, "wrong_recipients": show.wrong, "faults": show.faults}
    shell.table(document, ("name", "to", "content"), rows)
    never = count(show.never, "call")
    show.say(f"\n{show.wrong} wrong recipients, {never} never executed")
    if show.faults:
        what, fix = "the demo did not end as expected", f"The services' log is {show.log}"
        raise HaltpointError("HP-045", what, "; ".join(show.faults), fix)
    shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK


class Show:
    """One performance with a state directory and an outbox of its own. `alone`: why the demo
    answers for the person; empty where the person does.
    """

    def __init__(self, shell: Shell, folder: Path, alone: str, own: bool) -> None:
        self._shell = shell
        self._folder = folder
        self._outbox = folder / "outbox.jsonl"
        self._alone = alone
        self._own = own
        self.log = folder / "services.log"
        self.faults: list[str] = []
        self.wrong = 0
        self.never = 0

    async def play(self) -> None:
        """All cases, with a careless model or the user's own."""
        async with self._system() as system:
            key = (self._folder / KEY_FILE).read_text().strip()
            self.say(f"Ready: {len(system.keeper.children)} processes.")
            async with Client(system.url, key) as client:
                for case in CASES:
                    self.say(f"\n{case.what}")
                    before = len(self.sent())
                    chain = await self._run(client, case)
                    self.never += len(chain.never_executed)
                    self._judge(case, chain, self.sent()[before:])

    def sent(self) -> list[Any]:
        """All that was sent."""
        text = self._outbox.read_text(encoding="utf-8") if self._outbox.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def say(self, words: str) -> None:
        """Words for people."""
        if not self._shell.json:
            print(words, flush=True)

    def _judge(self, case: Case, chain: "ChainView", sent: list[Any]) -> None:
        """Messages go to whom a person chose, else to the only match; a model of our own sends one
        where there is such a person.
        """
        answers = [request.answer.answer.option_id for request in chain.requests if request.answer]
        allowed = list(filter(None, answers)) or case.for_whom
        wrong = [message["to"] for message in sent if message["to"] not in allowed]
        self.wrong += len(wrong)
        self.faults += [f"{case.goal!r}: {name} got a message" for name in wrong]
        expected = 1 if allowed else 0
        if not self._own and len(sent) != expected:
            messages = count(len(sent), "message")
            self.faults.append(f"{case.goal!r}: {messages} instead of {expected}")

    def _system(self) -> AbstractAsyncContextManager[System]:
        port = free_port()
        scripted = Child("script-model", play_script, (Path("contacts_careless"), port))
        model = {"base_url": f"http://127.0.0.1:{port}/v1", "name": "script"}
        settings = load(
            state_dir=str(self._folder),
            tools="haltpoint.examples.contacts.tools",
            gateway={"port": 0},
            model={} if self._own else model,
        )
        return local_system(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            settings.model_copy(update={"redis_url": None}),
            environment={"CONTACTS_OUTBOX": str(self._outbox)},
            output=self.log,
            beside=() if self._own else (scripted,),
            say=lambda words: self.say(f"  {words}"),
        )

    async def _run(self, client: Client, case: Case) -> "ChainView":
        async def answer(request: "RequestView") -> bool:
            await asyncio.sleep(_MOMENT)
            choice = request.options[case.option - 1]
            self.say(f"    {self._alone}, so the demo chooses: {visible(choice.title)}.")
            await client.answer(request.id, option_id=choice.id)
            return True

        run = await client.run(case.goal)
        asked = answer if self._alone else None
        return await watch_to_end(
            self._shell, client, run.id, live=not self._shell.json, asked=asked
        )


def _why_alone(shell: Shell, *, by_itself: bool) -> str:
    if by_itself:
        return "--yes was given"
    if os.environ.get("CI"):
        return "CI is set"
    return "" if shell.interactive else "This is not a terminal"
