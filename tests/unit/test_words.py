"""Pages and strings are in plain English: no phrases of a translation, no words for which the
glossary has others.
"""

import ast
import re
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")),
    *CHECKOUT.glob("docs/**/*.md"),
    *CHECKOUT.glob("services/*/README.md"),
    *CHECKOUT.glob("examples/*/README.md"),
    *CHECKOUT.glob("shared/haltpoint/examples/*/README.md"),
    CHECKOUT / "services/haltpoint_gateway/pages/words.toml",
    CHECKOUT / "deploy/alerts.yaml",
]
DATA = ("prompting/",)
"""Measured prompts."""
PUBLIC = (
    "haltpoint/(tools|contracts|testing)/|haltpoint/(sync_)?client"
    "|haltpoint/(runs|faststream|connection|operating|__init__)|gateway/api"
)
MODULES = [
    path
    for root in ("services", "shared", "evals")
    for path in (CHECKOUT / root).rglob("*.py")
    if not re.search("|".join(DATA), str(path))
]
BANNED_IN_CODE = {
    (
        r"who (can|could|may|might|has|reads|writes|knows|wants) .* " r"(is|are|must|may|can)\b"
    ): "name the person",
    r"tells? of": "says, shows, reports",
    r"(lies?|stands?) (in|on|under|beside|behind|at|there|above|below|between)": "is",
    r"bears?": "has",
    r"beaten": "renewed",
    r"what (came|comes) of": "the result",
    r"put aside": "keeps, dead-letters",
    r"of its own accord": "by itself",
    r"to be had": "available",
    r"mend(s|ed|ing)?": "fix",
    r"wish(es|ed)?": "want",
    r"(go|goes|going|went) on": "continue",
    r"(hand|hands|handed|handing) out": "deliver",
}
"""Also in comments and in docstrings that no user reads."""
BANNED = BANNED_IN_CODE | {
    r"whoever|nobody|somebody": "name the person or the program",
    r"(is|are|was|were|be|been) told": "say who says it, or 'gets', 'hears', 'shows'",
    r"of (its|their|his|her) own": "its own ..., a separate ...",
    r"(is|are) no (JSON|list|name|id)": "is not a ...",
    (
        r"what (is|was|has been) "
        r"(cut|done|short|asked|said|taken|sent|left|refused|hit|lost|meant|wanted|over)"
    ): "a noun",
}


def banned_in(
    name: str, lines: Iterable[tuple[int, str]], phrases: Mapping[str, str] = BANNED
) -> list[str]:
    return [
        f"{name}:{number}: {hit[0]!r}: write {better!r}"
        for number, line in lines
        for banned, better in phrases.items()
        if (hit := re.search(rf"\b({banned})\b", line, re.IGNORECASE))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_page_has_a_banned_phrase(page: Path) -> None:
    code = (
        r"^```.*?^```$|<!-- matrix: " r"begin.*matrix: end -->|^\| HP-.*?\|.*?\|"
    )  # the last two are held by other tests
    text = re.sub(
        code,
        lambda block: "\n" * block[0].count("\n"),
        page.read_text(),
        flags=re.MULTILINE | re.DOTALL,
    )
    lines = enumerate(text.splitlines(), 1)
    assert (
        banned_in(page.name, (line for line in lines if not line[1].startswith("    "))) == []
    )  # a program's output


def strings_of(module: Path) -> Iterable[tuple[int, str]]:
    """The texts of a module with their lines; docstrings only where users read them."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    public = re.search(PUBLIC, str(module))
    docstrings = (
        {}
        if public
        else {
            ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, documented)
        }
    )
    strings = ((node.lineno, node.value) for node in nodes if isinstance(node, ast.Constant))
    return [
        (at, text)
        for at, text in strings
        if isinstance(text, str) and " " in text and text not in docstrings
    ]


def test_no_string_has_a_banned_phrase() -> None:
    found = [
        fault
        for module in MODULES
        for fault in banned_in(str(module.relative_to(CHECKOUT)), strings_of(module))
    ]
    assert found == []


def code_words_of(module: Path) -> Iterable[tuple[int, str]]:
    """The comments and the docstrings of a module, line by line."""
    with module.open("rb") as text:
        for token in tokenize.tokenize(text.readline):
            if token.type is tokenize.COMMENT or (
                token.type is tokenize.STRING and token.string.startswith('"""')
            ):
                yield from enumerate(token.string.splitlines(), token.start[0])


def test_no_comment_and_no_docstring_has_a_banned_phrase() -> None:
    every = ((str(module.relative_to(CHECKOUT)), code_words_of(module)) for module in MODULES)
    assert [
        fault for name, lines in every for fault in banned_in(name, lines, BANNED_IN_CODE)
    ] == []
