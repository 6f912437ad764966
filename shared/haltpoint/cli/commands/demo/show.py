"""The demo: five cases, asked of a whole system, and the judgement by what the outbox holds.

Everything here is a client like any other: the chains run in the services, the message goes out
through the example's tools, and what was sent is read from the outbox and nowhere else.
"""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from haltpoint.cli.commands.models import OwnModel, play_script
from haltpoint.cli.errors import Exit
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import System, free_port, local_system
from haltpoint.cli.render.asking import ask
from haltpoint.cli.render.following import follow
from haltpoint.cli.render.picture import Teller
from haltpoint.cli.shell import Shell
from haltpoint.cli.wording import visible
from haltpoint.client import Client
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError
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
    for_whom: tuple[str, ...] = ()
    option: int = 1


CASES: Final = (
    Case(
        "Tell John I'm running late",
        "1, 2. Three people match: a person chooses, then the message is sent.",
    ),
    Case("Tell Jane hello", "3. One clear match: no question is needed.", ("user_jan001",)),
    Case("Tell Zorgblort hello", "4. No such person: nothing is sent, and the answer says why."),
    Case("Tell J hello", "5. Many weak matches: a person chooses.", option=3),
)
"""The first is two cases: the question, and what follows the choice."""


@dataclass(frozen=True, slots=True)
class Played:
    """A case as it went, and what was sent meanwhile."""

    case: Case
    chain: "ChainView"
    sent: Sequence[Any]

    @property
    def allowed(self) -> Sequence[str]:
        """Who may get a message: whom a person chose, else the only match."""
        answers = [request.answer.answer for request in self.chain.requests if request.answer]
        chosen = [answer.option_id for answer in answers if answer.option_id]
        return chosen or self.case.for_whom

    def wrong(self) -> Iterator[str]:
        """The messages that went to somebody else."""
        for message in self.sent:
            if message["to"] not in self.allowed:
                yield f"{self.case.goal!r}: {message['to']} got a message"

    def faults(self) -> Iterator[str]:
        """What did not come out as it must where the model is the demo's own."""
        expected = 1 if self.allowed else 0
        if len(self.sent) != expected:
            yield f"{self.case.goal!r}: {count(len(self.sent), 'message')} instead of {expected}"


def perform(shell: Shell, *, by_itself: bool, own: OwnModel | None) -> int:
    """Run the demo. Raises HaltpointError HP-045 when it did not come out as it must."""
    folder = Path(tempfile.mkdtemp(prefix="haltpoint-demo-"))
    show = Show(shell, folder, _why_alone(shell, by_itself=by_itself))
    try:
        played = asyncio.run(show.play(own))
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    wrong = [fault for one in played for fault in one.wrong()]
    faults = list(wrong)
    if own is None:
        faults += [fault for one in played for fault in one.faults()]
    sent = show.sent()
    chains = [one.chain for one in played]
    never = sum(len(chain.never_executed) for chain in chains)
    show.say(f"\nThe outbox: {count(len(sent), 'message')}")
    rows = [(message["name"], message["to"], message["content"]) for message in sent]
    document = {
        "chains": chains,
        "outbox": sent,
        "wrong_recipients": len(wrong),
        "faults": faults,
    }
    shell.table(document, ("name", "to", "content"), rows)
    show.say(f"\n{len(wrong)} wrong recipients, {count(never, 'call')} never executed")
    if faults:
        what, fix = "the demo did not end as expected", f"The services' log is {show.log}"
        raise HaltpointError("HP-045", what, "; ".join(faults), fix)
    shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK


class Show:
    """One performance with a state directory and an outbox of its own. `alone`: why the demo
    answers for the person; empty where the person does.
    """

    def __init__(self, shell: Shell, folder: Path, alone: str) -> None:
        self._shell = shell
        self._folder = folder
        self._outbox = folder / "outbox.jsonl"
        self.log = folder / "services.log"
        self._alone = alone

    async def play(self, own: OwnModel | None) -> list[Played]:
        """All cases, with a careless model or the user's own."""
        played = []
        async with self._system(own) as system:
            key = (self._folder / KEY_FILE).read_text().strip()
            self.say(f"Ready: {len(system.keeper.children)} processes.")
            async with Client(system.url, key) as client:
                for case in CASES:
                    self.say(f"\n{case.what}")
                    before = len(self.sent())
                    chain = await self._run(client, case)
                    played.append(Played(case, chain, self.sent()[before:]))
        return played

    def sent(self) -> list[Any]:
        """All that was sent."""
        if not self._outbox.exists():
            return []
        return [json.loads(line) for line in self._outbox.read_text(encoding="utf-8").splitlines()]

    def say(self, words: str) -> None:
        """Words for people."""
        if not self._shell.json:
            self._shell.out.print(words, markup=False, soft_wrap=True)

    def _system(self, own: OwnModel | None) -> AbstractAsyncContextManager[System]:
        port = free_port()
        model = own or OwnModel(f"http://127.0.0.1:{port}/v1", "script")
        scripted = Child("script-model", play_script, (Path("contacts_careless"), port))
        settings = load(
            state_dir=str(self._folder),
            tools="haltpoint.examples.contacts.tools",
            gateway={"port": 0},
            model={"base_url": model.url, "name": model.name},
        )
        return local_system(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            settings.model_copy(update={"redis_url": None}),
            environment={"CONTACTS_OUTBOX": str(self._outbox)},
            output=self.log,
            beside=() if own else (scripted,),
            say=lambda words: self.say(f"  {words}"),
        )

    async def _run(self, client: Client, case: Case) -> "ChainView":
        run = await client.run(case.goal)
        teller = Teller(self._shell.out)

        async def asked(request: "RequestView") -> bool:
            with teller.pause():
                await self._answer(client, request, case)
            return True

        try:  # with --json everything comes at the end
            return await follow(client, run.id, None if self._shell.json else teller.show, asked)
        finally:
            teller.close()

    async def _answer(self, client: Client, request: "RequestView", case: Case) -> None:
        if not self._alone:
            await ask(client, request)
            return
        await asyncio.sleep(_MOMENT)
        choice = request.options[case.option - 1]
        self.say(f"    {self._alone}, so the demo chooses: {visible(choice.title)}.")
        await client.answer(request.id, option_id=choice.id)


def _why_alone(shell: Shell, *, by_itself: bool) -> str:
    if by_itself:
        return "--yes was given"
    if os.environ.get("CI"):
        return "CI is set"
    return "" if shell.interactive else "This is not a terminal"
