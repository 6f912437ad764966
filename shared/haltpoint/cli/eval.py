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
        mode: Annotated[
            list[Mode] | None, typer.Option(help="strict, advisory, off; again for more. None: all.")
        ] = None,
        kinds: Annotated[str | None, typer.Option(metavar="A,B", help="Kinds of models; none: all.")] = None,
        chains: Annotated[
            int | None, typer.Option(min=1, help="How many chains in all; of your own model: how many requests.")
        ] = None,
        seed: Annotated[int, typer.Option(help="The same seed, the same cases and the same models.")] = 1,
        model_url: ModelUrl = None,
        model: ModelName = None,
        claims: Annotated[
            bool,
            typer.Option("--claims", help="Measure a check of answers' words instead, on the texts of the source."),
        ] = False,
        check: Annotated[
            str, typer.Option(metavar="CHECK", help="With --claims: hint, model or module:function.")
        ] = "hint",
    ) -> int:
        """Run misbehaving models, or your own, and judge from what really happened. 0: all bars of strict hold."""
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
