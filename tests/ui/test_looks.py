"""What pages look like to those who do not see them as we do, and to those who mean harm."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe

from haltpoint.sync_client import SyncClient
from tests.ui.conftest import Person

People = Callable[..., Person]

PAYLOADS = [
    form.format(script="window.hurt=1")
    for form in (
        "<script>{script}</script>",
        "<img src=x onerror={script}>",
        "<svg onload={script}>",
        "<svg><script>{script}</script></svg>",
        "<body onload={script}>",
        "<iframe srcdoc='<script>parent.{script}</script>'>",
        "<a href=javascript:{script}>x</a>",
        "<details open ontoggle={script}>",
        "<input autofocus onfocus={script}>",
        "<video><source onerror={script}></video>",
        "<math><mi//xlink:href='data:x,<script>{script}</script>'>",
        "'\"><script>{script}</script>",
        '"onmouseover="{script}',
        "' autofocus onfocus='{script}",
        "</title><script>{script}</script>",
        "</textarea><script>{script}</script>",
        "</script><script>{script}</script>",
        "<!--><script>{script}</script>-->",
        "{{{{constructor.constructor('{script}')()}}}}",
        "{{% raw %}}<script>{script}</script>{{% endraw %}}",
    )
]
PAGES = ("/", "/new", "/inbox", "/chains", "/tools", "/agents", "/queues", "/stats")


def test_what_a_model_a_tool_or_a_person_wrote_is_text(client: SyncClient, person: People) -> None:
    words = "\n".join(PAYLOADS)
    calls = [
        {"tool": "echo", "arguments": {"words": words}},
        {"tool": "publish", "arguments": {"page": words}},
    ]
    steps = [
        {"id": "first", "label": PAYLOADS[0], "actions": calls[:1]},
        {"id": "then", "label": PAYLOADS[1], "actions": calls[1:], "dependencies": ["first"]},
    ]
    run = client.run(words, plan={"steps": steps})
    request = run.expects_request()
    ann = person()
    for path in (*PAGES, f"/inbox/{request.id}", f"/chains/{run.id}"):
        ann.goes_to(path)
        assert ann.page.evaluate("window.hurt") is None, path
    ann.goes_to(f"/inbox/{request.id}")
    ann.page.keyboard.press("e")
    assert ann.page.locator("[name='argument.page']").input_value() == words
    client.answer(request.id, decision="reject", text=words)
    run.result()
    for path in (f"/inbox/{request.id}", f"/chains/{run.id}", "/chains"):
        ann.goes_to(path)
        assert ann.page.evaluate("window.hurt") is None, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong_on_any_page(
    client: SyncClient, person: People, scheme: str
) -> None:
    run = client.run("Tell John for axe")
    requests = [run.expects_request(), client.run("Book for axe").expects_request()]
    call = {"tool": "delete_page", "arguments": {"page": f"axe-{scheme}"}}
    deletes = client.run("Delete", plan={"steps": [{"id": "s", "actions": [call]}]})
    requests.append(deletes.expects_request())
    done = client.run("Tell Jane for axe")
    done.result()
    questions = [f"/inbox/{request.id}" for request in requests]
    ann = person(color_scheme=scheme)
    for path in (*PAGES, *questions, f"/chains/{run.id}", f"/chains/{done.id}"):
        ann.goes_to(path)
        found = Axe().run(ann.page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
