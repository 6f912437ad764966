"""The machine drawn as a table, in the executor's README: `python -m tests.pictures.matrix`."""

from pathlib import Path
from typing import Any, Final, get_args

from haltpoint.chain.decide import HANDLERS
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import Message, ToExecutor

README: Final = Path(__file__).parents[2] / "services" / "haltpoint_executor" / "README.md"
BEGIN: Final = "<!-- matrix: begin -->"
END: Final = "<!-- matrix: end -->"


def matrix() -> str:
    """What each state of a chain does with each event, as a markdown table, and below it what that
    means.
    """
    statuses = list(ChainStatus)
    promises: dict[str, str] = {}
    rows: list[str] = []
    events: tuple[type[Message], ...] = get_args(ToExecutor)
    for event in events:
        cells = [_promise(status, event).partition(":") for status in statuses]
        promises.update({short: promise.strip() for short, _, promise in cells if promise})
        name = str(event.__struct_config__.tag).rpartition(".")[0]
        rows.append(f"| `{name}` | {' | '.join(short for short, _, _ in cells)} |")
    header = f"| event | {' | '.join(status.value for status in statuses)} |"
    legend = (f"- {short}: {promise}" for short, promise in promises.items())
    return "\n".join((header, f"|---|{'---|' * len(statuses)}", *rows, "", *legend))


def _promise(status: ChainStatus, event: type[Any]) -> str:
    """The docstring of the handler that takes such an event: its name in words, a colon, what it
    does.
    """
    handler, statuses = HANDLERS[event]
    promise = " ".join(str(handler.__doc__).split())
    return promise if status in statuses else "·"


def with_matrix(page: str) -> str:
    """A page with the table between its two markers drawn anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{matrix()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    README.write_text(with_matrix(README.read_text()))
