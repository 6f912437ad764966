"""docs/reference/eval.md: the kinds of models of the eval, and the figures, out of their data."""

from typing import Final

from evals.figures import FIGURES, Figure
from evals.kinds import KINDS
from tests.reference.markdown import code, page, table, words

INTRODUCTION: Final = """\
What `make eval` runs and counts. [The eval](../explanation/eval.md) says how it is judged."""


def written() -> str:
    """The page."""
    kinds = [(code(name), words(kind.what)) for name, kind in KINDS.items()]
    figures = [(code(figure.name), words(figure.title), allowed(figure)) for figure in FIGURES]
    return page(
        "The eval: kinds and figures",
        INTRODUCTION,
        "## Kinds of models",
        "Each misbehaves once, twice, or for ever, by the seed; then it does better.",
        table(("kind", "what it does"), kinds),
        "## Figures",
        table(("figure", "what it counts", "bar under strict"), figures),
    )


def allowed(figure: Figure) -> str:
    """What strict allows of it; nothing where it is no bar."""
    if not figure.bar:
        return "none"
    return "0" if figure.least is None else f"at least {figure.least:g}"
