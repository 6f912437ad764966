"""Questions as the operator of a terminal sees them: one line each, with the command that answers it."""

from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.views import RequestView

_ANSWERS = {
    RequestKind.CONFIRMATION: "--approve, or --reject WORDS",
    RequestKind.ESCALATION: "--rephrase WORDS, --manual JSON, --retry, or --abort",
    RequestKind.IN_DOUBT: "--happened JSON, or --not-happened",
}


def command(request: RequestView) -> str:
    """What to type, with what can be chosen: `haltpoint answer <id> --option u1 (John Smith) | u2 (John Doe)`."""
    how = _ANSWERS.get(request.kind)
    if how is None and not request.options:
        how = "--text WORDS" if request.form is None else "--value JSON"
    elif how is None:
        options = " | ".join(f"{option.id} ({_line(option.title)})" for option in request.options)
        how = f"--option {options}{', or --text WORDS' if request.kind is RequestKind.INPUT else ''}"
    return f"haltpoint answer {request.id} {how}"


def about(request: RequestView) -> str:
    """The question in one line."""
    return f"a person is asked: {_line(request.question)}"


def _line(text: str) -> str:
    """Text of a tool or a model as it may stand in a terminal: no line breaks, no control characters."""
    return "".join(char if char.isprintable() else " " for char in text)[:500]
