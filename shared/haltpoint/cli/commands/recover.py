"""`haltpoint recover`: what the server has lost (R10)."""

from typing import TYPE_CHECKING

import typer

from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.deployment import LossView

app = typer.Typer(
    help="Show and accept writes that the server has lost. Needs a key with the scope admin.",
    no_args_is_help=True,
)


@verb(app, "show", gateway=True)
def show(shell: Shell) -> None:
    """Show losses of the server that are not accepted yet."""
    losses = talk(shell, lambda client: client.losses())
    rows = [row for loss in losses for row in _rows(loss)]
    names = ("partition", "what", "which")
    shell.table({"items": losses}, names, rows, empty="No lost writes are known.")


@verb(app, "accept", gateway=True)
def accept(shell: Shell) -> None:
    """Accept the losses. Calls that were started are still not started again."""

    async def whole(client: "Client") -> list[int]:
        losses = await client.losses()
        await client.accept_losses()
        return [loss.partition for loss in losses]

    accepted = talk(shell, whole)
    words = ", ".join(map(str, accepted)) or "none"
    shell.show({"partitions": accepted}, note=f"accepted the losses of partitions: {words}")


def _rows(loss: "LossView") -> list[tuple[int, str, str]]:
    """A line for the loss, and one for each thing that is known of it."""
    found = f"{loss.at:%d %b %H:%M:%S} UTC"
    rows = [("writes lost", f"{loss.before - loss.after}, found {found}")]
    if loss.groups:
        rows.append(("consumer group was gone", loss.groups))
    rows += [("started, is not started again", action) for action in loss.recalled]
    rows += [("ran twice", action) for action in loss.twice]
    rows += [("chain is gone, perhaps after its end", chain) for chain in loss.gone]
    return [(loss.partition, what, which) for what, which in rows]
