"""The demo: five cases, asked of a whole system, and the judgement by what the outbox holds.

Everything here is a client like any other: the chains run in the services, the message goes out
through the example's tools, and what was sent is read from the outbox and nowhere else.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from haltpoint.cli.commands.models import OwnModel, play_script
from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import System, free_port
from haltpoint.cli.render.asking import ask
from haltpoint.cli.render.following import follow
from haltpoint.cli.render.picture import teller
from haltpoint.cli.shell import Shell
from haltpoint.cli.wording import visible
from haltpoint.client import Client
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.settings_sources import load

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, RequestView

_MOMENT: Final = 1.0  # seconds until a question is answered by itself


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is asked. `for_whom`: the contact who may get a message without a person's
    choice. `option` is what the demo chooses, counted from 1, where no person does.
    """

    goal: str
    what: str
    for_whom: str | None = None
    option: int = 1


CASES: Final = (
    Case(
        "Tell John I'm running late",
        "1, 2. Three people match: a person chooses, then the message is sent.",
    ),
    Case("Tell Jane hello", "3. One clear match: no question is needed.", "user_jan001"),
    Case("Tell Zorgblort hello", "4. No such person: nothing is sent, and the answer says why."),
    Case("Tell J hello", "5. Many weak matches: a person chooses.", option=3),
)
"""The first is two cases: the question, and what follows the choice."""


def perform(shell: Shell, *, by_itself: bool, own: OwnModel | None) -> int:
    """Run the demo. Raises CliError HP-045 when it did not come out as it must."""
    folder = Path(tempfile.mkdtemp(prefix="haltpoint-demo-"))
    show = Show(shell, folder, by_itself=by_itself, own=own)
    try:
        asyncio.run(show.play())
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    show.conclude()
    if faults := list(show.faults()):
        what, fix = "the demo did not end as expected", f"The services' log is {show.log}"
        raise CliError("HP-045", what, "; ".join(faults), fix)
    shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK


class Show:
    """One performance with a state directory and an outbox of its own."""

    def __init__(
        self, shell: Shell, folder: Path, *, by_itself: bool, own: OwnModel | None
    ) -> None:
        self._shell = shell
        self._folder = folder
        self._own = own
        self._outbox = folder / "outbox.jsonl"
        self._played: list[tuple[Case, ChainView, list[Any]]] = []
        self.log = folder / "services.log"
        self._alone = _why_alone(shell, by_itself=by_itself)

    async def play(self) -> None:
        """All cases, with a careless model or the user's own."""
        system = self._system()
        async with (
            system,
            Client(system.url, (self._folder / KEY_FILE).read_text().strip()) as client,
        ):
            self._say(f"Ready: {len(system.keeper.children)} processes.")
            for case in CASES:
                self._say(f"\n{case.what}")
                before = len(self._sent())
                chain = await self._run(client, case)
                self._played.append((case, chain, self._sent()[before:]))

    def conclude(self) -> None:
        """The outbox, and the sum."""
        chains, sent = [chain for _, chain, _ in self._played], self._sent()
        wrong = len(list(self._wrong()))
        if self._shell.json:
            views = [chain.model_dump(mode="json") for chain in chains]
            faults = list(self.faults())
            told = {"chains": views, "outbox": sent, "wrong_recipients": wrong, "faults": faults}
            self._shell.emit(told)
            return
        self._say(f"\nThe outbox: {count(len(sent), 'message')}")
        rows = [(message["name"], message["to"], message["content"]) for message in sent]
        self._shell.table(("name", "to", "content"), rows)
        never = sum(len(chain.never_executed) for chain in chains)
        self._say(f"\n{wrong} wrong recipients, {count(never, 'call')} never executed")

    def faults(self) -> Iterator[str]:
        """What did not come out as it must."""
        yield from self._wrong()
        for case, chain, sent in self._played:
            expected = 1 if _may_get(case, chain) else 0
            if self._own is None and len(sent) != expected:
                yield f"{case.goal!r}: {count(len(sent), 'message')} instead of {expected}"

    def _wrong(self) -> Iterator[str]:
        for case, chain, sent in self._played:
            allowed = _may_get(case, chain)
            for message in sent:
                if message["to"] not in allowed:
                    yield f"{case.goal!r}: {message['to']} got a message"

    def _system(self) -> System:
        port = free_port()
        model = self._own or OwnModel(f"http://127.0.0.1:{port}/v1", "script")
        scripted = Child("script-model", play_script, (Path("contacts_careless"), port))
        settings = load(
            state_dir=str(self._folder),
            tools="haltpoint.examples.contacts.tools",
            gateway={"port": 0},
            model={"base_url": model.url, "name": model.name},
        )
        return System(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            settings.model_copy(update={"redis_url": None}),
            environment={"CONTACTS_OUTBOX": str(self._outbox)},
            output=self.log,
            beside=() if self._own else (scripted,),
            say=lambda words: self._say(f"  {words}"),
        )

    async def _run(self, client: Client, case: Case) -> "ChainView":
        run = await client.run(case.goal)
        told = teller(self._shell.out)

        async def asked(request: "RequestView") -> bool:
            with told.pause():
                await self._answer(client, request, case)
            return True

        try:  # with --json everything comes at the end
            return await follow(client, run.id, None if self._shell.json else told.show, asked)
        finally:
            told.close()

    async def _answer(self, client: Client, request: "RequestView", case: Case) -> None:
        if not self._alone:
            await ask(client, request)
            return
        await asyncio.sleep(_MOMENT)
        choice = request.options[case.option - 1]
        self._say(f"    {self._alone}, so the demo chooses: {visible(choice.title)}.")
        await client.answer(request.id, option_id=choice.id)

    def _sent(self) -> list[Any]:
        if not self._outbox.exists():
            return []
        return [json.loads(line) for line in self._outbox.read_text(encoding="utf-8").splitlines()]

    def _say(self, words: str) -> None:
        if not self._shell.json:
            self._shell.out.print(Text(words), soft_wrap=not sys.stdout.isatty())


def _why_alone(shell: Shell, *, by_itself: bool) -> str:
    """Why the demo answers for the person; empty where the person does."""
    if by_itself:
        return "--yes was given"
    if os.environ.get("CI"):
        return "CI is set"
    return "" if shell.interactive else "This is not a terminal"


def _may_get(case: Case, chain: "ChainView") -> Sequence[str]:
    """Who may get a message: whom a person chose, else the only match."""
    answers = [request.answer.answer for request in chain.requests if request.answer]
    chosen = [answer.option_id for answer in answers if answer.option_id]
    return chosen or list(filter(None, [case.for_whom]))
