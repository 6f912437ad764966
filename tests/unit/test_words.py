"""The pages are in plain English: phrases that read like a translation, and words that the glossary has others for."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")),
    *CHECKOUT.glob("docs/**/*.md"),
    *CHECKOUT.glob("services/*/README.md"),
    *CHECKOUT.glob("examples/*/README.md"),
    *CHECKOUT.glob("shared/haltpoint/examples/*/README.md"),
]
BANNED = {
    r"whoever|nobody|somebody": "name the person or the program",
    r"who (can|could|may|might|has|reads|writes|knows|wants) .* (is|are|must|may|can)\b": "name the person",
    r"(is|are|was|were|be|been) told": "say who says it, or 'gets', 'hears', 'shows'",
    r"tells? of": "says, shows, reports",
    r"(lies?|stands?) (in|on|under|beside|behind|at|there|above|below|between)": "is",
    r"bears?": "has",
    r"beaten": "renewed",
    r"what (came|comes) of": "the result",
    r"what (is|was|has been) (cut|done|short|asked|said|taken|sent|left|refused|hit|lost|meant|wanted|over)": "a noun",
    r"put aside": "keeps, dead-letters",
    r"of its own accord": "by itself",
    r"to be had": "available",
    r"mend(s|ed|ing)?": "fix",
    r"wish(es|ed)?": "want",
    r"(go|goes|going|went) on": "continue",
    r"(hand|hands|handed|handing) out": "deliver",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_page_has_a_banned_phrase(page: Path) -> None:
    code = r"^```.*?^```$|<!-- matrix: begin.*matrix: end -->|^\| HP-.*?\|.*?\|"  # the last two are held by other tests
    text = re.sub(code, lambda block: "\n" * block[0].count("\n"), page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = [
        f"{page.name}:{number}: {hit[0]!r}: write {better!r}"
        for number, line in enumerate(text.splitlines(), 1)
        if not line.startswith("    ")  # what a program prints
        for banned, better in BANNED.items()
        if (hit := re.search(rf"\b({banned})\b", line, re.IGNORECASE))
    ]
    assert found == []
