"""`haltpoint run`: submit a task, and wait for it, watch it, or leave it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haltpoint.cli.errors import Exit, usage
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb
from haltpoint.cli.task import Mode, task_of

if TYPE_CHECKING:
    from haltpoint.cli.render.following import Asked, Show
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import ChainView, RequestView

_SETTLED = ("answered_already", "request_expired", "request_stale")
"""The question on the screen is closed; the chain continues."""


app = typer.Typer()


_Goal = Annotated[str, typer.Argument(help="What to do, in words.")]
_Plan = Annotated[Path | None, typer.Option(help="A literal plan (JSON): no model is called.")]
_Agent = Annotated[
    str | None, typer.Option(help="The agent that works on it (default: the supervisor chooses).")
]
_Conversation = Annotated[str | None, typer.Option(help="The conversation it belongs to.")]
_Mode = Annotated[Mode | None, typer.Option(help="How strictly the contract is enforced.")]
_Style = Annotated[
    Literal["plan", "react"] | None,
    typer.Option(help="A drafted plan, or one open-ended step."),
]
_Context = Annotated[
    str | None, typer.Option(metavar="JSON|@FILE", help="More data for the model and the tools.")
]
_Tools = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="The tools that the model may call; may be repeated."),
]
_Budget = Annotated[
    str | None,
    typer.Option(metavar="NAME=N,...", help="Limits: turns, actions, tokens, cost, seconds."),
]
_Deadline = Annotated[
    str | None, typer.Option(metavar="2h|TIME", help="When the chain fails if it has not ended.")
]
_MaxTurns = Annotated[int | None, typer.Option(min=1, max=100, help="Model turns per step.")]
_Parallel = Annotated[
    int | None, typer.Option(min=1, max=16, help="How many calls and thoughts may run at once.")
]
_User = Annotated[str | None, typer.Option(help="The user this task is for.")]
_IdempotencyKey = Annotated[str | None, typer.Option(help="The same key returns the same chain.")]
_Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        "-w",
        help="Show the chain live until it ends; in a pipe, until its first question.",
    ),
]
_Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the chain's id and exit.")]


@verb(app, "run", gateway=True)
def run(
    shell: Shell,
    goal: _Goal = "",
    plan: _Plan = None,
    agent: _Agent = None,
    conversation: _Conversation = None,
    mode: _Mode = None,
    style: _Style = None,
    context: _Context = None,
    tools: _Tools = None,
    budget: _Budget = None,
    deadline: _Deadline = None,
    max_turns: _MaxTurns = None,
    parallel: _Parallel = None,
    user: _User = None,
    idempotency_key: _IdempotencyKey = None,
    watch: _Watch = False,
    detach: _Detach = False,
) -> int:
    """Submit a task. Exit codes: 0 completed, 1 failed, 3 waiting for a person."""
    if watch and detach:
        why = "one waits for the end, the other exits at once"
        raise usage("--watch and --detach cannot be combined", why, "Choose one")
    task = task_of(
        {
            "goal": goal,
            "plan": plan,
            "agent": agent,
            "conversation_id": conversation,
            "mode": mode,
            "style": style,
            "context": context,
            "tools": tools,
            "budget": budget,
            "deadline": deadline,
            "max_turns": max_turns,
            "parallel": parallel,
            "user": user,
        }
    )

    async def converse(client: "Client") -> int:
        import asyncio

        from haltpoint.cli.render.following import exit_code

        started = await client.run(task=task, idempotency_key=idempotency_key)
        if detach:
            shell.show({"chain_id": started.id}, [started.id])
            return Exit.OK
        try:
            ended = await watch_to_end(shell, client, started.id, live=watch)
        except asyncio.CancelledError:  # Ctrl-C
            shell.note(f"the chain continues: haltpoint chain watch {started.id}")
            raise
        return exit_code(ended)

    return talk(shell, converse)


async def watch_to_end(
    shell: Shell,
    client: "Client",
    chain_id: str,
    *,
    live: bool,
    stay: bool = False,
    asked: "Asked | None" = None,
) -> "ChainView":
    """Follow a chain to its end; `live` shows it, else only its answer is printed. Questions go to
    the person at the terminal, or to `asked`. `stay`: also while others are asked.
    """
    from haltpoint.cli.commands.inbox import card, how_to_answer
    from haltpoint.cli.render.following import exit_code, follow
    from haltpoint.cli.render.picture import Teller

    live = live and not shell.quiet
    teller = Teller(shell.out)
    show: Show | None = shell.emit if shell.json else teller.show

    async def ask(request: "RequestView") -> bool:
        teller.close()
        if asked is not None:
            return await asked(request)
        return await _ask(client, request, chain_id) if live and shell.interactive else stay

    try:
        chain = await follow(
            client, chain_id, show if live else None, ask, teller.progress, story=not shell.json
        )
    finally:
        teller.close()
    if shell.json:
        shell.emit(chain)
    elif exit_code(chain) is Exit.WAITING:
        lines = how_to_answer if live else card  # it was shown
        for request in chain.requests:
            if request.is_open:
                for line in lines(request, shell.err.width):
                    shell.tell(line)
    elif not live:
        _conclude(shell, chain)
    return chain


async def _ask(client: "Client", request: "RequestView", chain_id: str) -> bool:
    """Ask the person at the terminal; false where it is left for later."""
    import asyncio

    from haltpoint.chain.model.canonical import spelt_out
    from haltpoint.cli.render.asking import ask
    from haltpoint.client import GatewayError

    if request.chain_id != chain_id:  # of several chains below, each with its question
        print(f"    {spelt_out(request.question)}")
    try:
        await ask(client, request)
    except EOFError:  # Ctrl-D: not now
        print()
        return False
    except asyncio.CancelledError:  # Ctrl-C
        print(f"\n    haltpoint answer {request.id} ... answers it later")
        raise
    except GatewayError as error:
        if error.code not in _SETTLED:
            raise
        print(f"    {error.detail}")
    return True


def _conclude(shell: Shell, chain: "ChainView") -> None:
    """The answer on stdout, words and deeds apart; how it ended on stderr, and why unless the
    answer says so.
    """
    from haltpoint.cli.render.picture import plain

    *_, ending = chain.story
    answer = [line for line in chain.story if line.about == "answer"]
    shell.show(chain, map(plain, answer))
    say = shell.tell if chain.error else shell.note
    say(f"{ending.text}; haltpoint chain show {chain.id}")
