"""What pages look like to those who do not see them as we do, and to those who mean harm."""

from collections.abc import Callable
from urllib.parse import quote, urlencode

from axe_playwright_python.sync_playwright import Axe

from haltpoint.sync_client import SyncClient
from tests.ui.conftest import Person
from tests.unit.gateway.test_page_parts import DECEPTIVE

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
        "<object data='javascript:{script}'></object>",
        "<embed src='javascript:{script}'>",
        "<form action=javascript:{script}><button>x</button></form>",
        "<button formaction=javascript:{script}>x</button>",
        "<base href=javascript:{script}//>",
        "<link rel=stylesheet href='data:text/css,*{{{{background:red}}}}'>",
        "<style>@import'javascript:{script}';</style>",
        "<meta http-equiv=refresh content='0;url=javascript:{script}'>",
        "<template><script>{script}</script></template>",
        "<noscript><p title='</noscript><img src=x onerror={script}>'>",
        "<svg><animate onbegin={script} attributeName=x dur=1s>",
        "<svg><use href='data:image/svg+xml,<svg id=x onload={script}/>#x'>",
        "<marquee onstart={script}>",
        "<audio src onloadstart={script}>",
        "<select autofocus onfocus={script}>",
        "<a href='java\tscript:{script}'>x</a>",
        "<iMg SrC=x OnErRoR={script}>",
        "&lt;script&gt;{script}&lt;/script&gt;",
        "\\u003cscript\\u003e{script}\\u003c/script\\u003e",
        "{{{{ cycler.__init__.__globals__ }}}}",
    )
]
PAGES = (
    *("/", "/new", "/inbox", "/chains", "/tools", "/tools/delete_page", "/agents"),
    *("/workers", "/queues", "/dead-letters", "/keys", "/stats"),
)
OPENED = "document.querySelectorAll('details').forEach((one) => one.open = true)"
MADE = "img, iframe, object, embed, video, audio, math, marquee, base, main script, main style"
"""Elements that no page has, so that a text has made them."""


def is_text(somebody: Person, path: str) -> None:
    """The page has run nothing that it shows, and made no element of it."""
    somebody.goes_to(path)
    assert somebody.page.evaluate("window.hurt") is None, path
    assert somebody.page.locator(MADE).count() == 0, path


def test_what_a_model_a_tool_or_a_person_wrote_is_text(client: SyncClient, person: People) -> None:
    words = "\n".join(PAYLOADS)
    calls = [
        {"tool": "echo", "arguments": {"words": words}},
        {"tool": "publish", "arguments": {"page": words}},
    ]
    steps = [
        {"id": "first", "label": PAYLOADS[0], "description": words, "actions": calls[:1]},
        {"id": "then", "label": PAYLOADS[1], "actions": calls[1:], "dependencies": ["first"]},
    ]
    run = client.run(words, plan={"steps": steps}, task={"tenant": PAYLOADS[2]})
    request = run.expects_request()
    fails = {"tool": "echo", "arguments": {"words": "break"}, "expected": PAYLOADS[3]}
    failed = client.run(words, plan={"steps": [{"id": "fails", "actions": [fails]}]})
    ann = person()
    for path in (*PAGES, f"/inbox/{request.id}", f"/chains/{run.id}", f"/chains/{failed.id}"):
        is_text(ann, path)
    ann.goes_to(f"/inbox/{request.id}")
    ann.page.keyboard.press("e")
    assert ann.page.locator("[name='arguments.page']").input_value() == words
    client.answer(request.id, decision="reject", text=words)
    run.result()
    for path in (f"/inbox/{request.id}", f"/chains/{run.id}", "/chains", "/inbox?status=answered"):
        is_text(ann, path)


def test_what_an_address_says_is_text(person: People) -> None:
    ann = person()
    names = ("q", "tool", "agent", "tenant", "answered")
    for first in range(0, len(PAYLOADS), len(names)):
        said = dict(zip(names, PAYLOADS[first:], strict=False))
        is_text(ann, f"/inbox?{urlencode(said)}")
    for name in ("chains?q", "login?next", "inbox?kind", "tools/x?x"):
        is_text(ann, f"/{name}={quote(PAYLOADS[0])}")


def test_signs_that_deceive_are_spelt_out_wherever_they_are(
    client: SyncClient, person: People
) -> None:
    words = " ".join(f"pay{sign}pal" for sign in DECEPTIVE)
    call = {"tool": "publish", "arguments": {"page": words}}
    plan = {"steps": [{"id": "s", "label": words, "actions": [call]}]}
    run = client.run(words, plan=plan)
    ann = person()
    for path in (f"/inbox/{run.expects_request().id}", f"/chains/{run.id}"):
        ann.goes_to(path)
        ann.page.evaluate(OPENED)
        for shown in (ann.page.locator("h1, .about"), ann.page.locator("td, dd")):
            seen = " ".join(shown.all_inner_texts())
            assert [sign for sign in DECEPTIVE if f"U+{ord(sign):04X}" not in seen] == [], path
    ann.goes_to("/inbox")
    seen = ann.page.locator(".items").inner_text()
    assert [sign for sign in DECEPTIVE if f"U+{ord(sign):04X}" not in seen] == []


def test_axe_finds_nothing_wrong_on_any_page(client: SyncClient, person: People) -> None:
    run = client.run("Tell John for axe")
    requests = [run.expects_request(), client.run("Book for axe").expects_request()]
    for tool in ("delete_page", "publish", "publish"):
        call = {"tool": tool, "arguments": {"page": "axe"}}
        asks = client.run("Axe", plan={"steps": [{"id": "s", "actions": [call]}]})
        requests.append(asks.expects_request())
    done = client.run("Tell Jane for axe")
    done.result()
    questions = [f"/inbox/{request.id}" for request in requests]
    alike = "/inbox?tool=publish&kind=confirmation"
    ann = person(reduced_motion="reduce")
    for path in (*PAGES, alike, *questions, f"/chains/{run.id}", f"/chains/{done.id}", "/no"):
        ann.goes_to(path)
        ann.page.evaluate(OPENED)
        light = Axe().run(ann.page)
        ann.page.emulate_media(color_scheme="dark")
        dark = Axe().run(ann.page, options={"runOnly": ["color-contrast"]})
        ann.page.emulate_media(color_scheme="light")
        for found in (light, dark):
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"
    ann.goes_to("/inbox")
    ann.page.keyboard.press("?")
    assert Axe().run(ann.page).violations_count == 0
