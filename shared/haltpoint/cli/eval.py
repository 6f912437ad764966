"""`haltpoint eval`: how well models are held to their word, measured."""

from typing import Annotated

import typer

from haltpoint.cli.model import ModelName, ModelUrl, own_model
from haltpoint.cli.shell import Shell, verb
from haltpoint.cli.task import Mode


def add_to(app: typer.Typer) -> None:
    """Add the verb."""

    @verb(app, "eval")
    def evaluate(
        shell: Shell,
        mode: Annotated[list[Mode] | None, typer.Option(help="Mode to run; may be repeated (default: all).")] = None,
        kinds: Annotated[str | None, typer.Option(metavar="A,B", help="Kinds of models (default: all).")] = None,
        chains: Annotated[
            int | None, typer.Option(min=1, help="Number of chains; for your own model: of requests.")
        ] = None,
        seed: Annotated[int, typer.Option(help="The same seed gives the same cases and models.")] = 1,
        model_url: ModelUrl = None,
        model: ModelName = None,
        claims: Annotated[
            bool,
            typer.Option("--claims", help="Measure a check of claims instead, on the texts in the source."),
        ] = False,
        check: Annotated[
            str, typer.Option(metavar="CHECK", help="With --claims: hint, model or module:function.")
        ] = "hint",
    ) -> int:
        """Run misbehaving models, or your own, and judge what really happened. Exit code 0: strict meets every bar."""
        real = own_model(model_url, model)
        # Only now: these imports are slow.
        from haltpoint.cli.eval_show import perform
        from haltpoint.contracts import tasks

        if claims:
            from haltpoint.cli import eval_claims

            return eval_claims.perform(shell, check, real, chains)
        modes = mode or ([Mode.OFF, Mode.STRICT] if real else [Mode.OFF, Mode.ADVISORY, Mode.STRICT])
        chosen = tuple(map(tasks.Mode, dict.fromkeys(modes)))
        return perform(shell, modes=chosen, kinds=kinds, chains=chains, seed=seed, real=real)
