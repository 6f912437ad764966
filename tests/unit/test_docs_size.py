"""The documentation is short: words in all, words of a page, words of a sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    CHECKOUT / "README.md",
    *(page for page in CHECKOUT.glob("docs/**/*.md") if page.parent.name != "reference"),
]
"""All but the reference, which is written from the code."""
IN_ALL = 22_000
"""With blocks of code; without the decisions, which are for readers of the code."""
OF_A_PAGE = 2_500
OF_A_SENTENCE = 20
"""In the mean of a page."""
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^|(?<=\n\n))(?: {4,}\S.*\n)+", re.MULTILINE)
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[\"(])")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return INDENTED.sub("", FENCED.sub("", page.read_text()))


def words(text: str) -> int:
    """Words; bars of tables and numbers are none."""
    return len(re.findall(r"\S*[^\W\d_]\S*", text))


def sentences(page: Path) -> Iterator[str]:
    """The sentences of a page; a cell of a table and a heading are some, too."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) ?)|\|", prose(page)):
        yield from END.split(" ".join(paragraph.split()))


def test_the_documentation_is_short() -> None:
    read = [page for page in PAGES if page.parent.name != "decisions"]
    assert sum(words(page.read_text()) for page in read) <= IN_ALL


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_a_page_is_short_and_so_are_its_sentences(page: Path) -> None:
    assert words(prose(page)) <= OF_A_PAGE
    lengths = [words(sentence) for sentence in sentences(page) if words(sentence) > 2]
    assert sum(lengths) / len(lengths) < OF_A_SENTENCE
