"""The demo: five cases, asked of a whole system, and the judgement by what the outbox holds.

Everything here is a client like any other: the chains run in the services, the message goes out
through the example's tools, and what was sent is read from the outbox and nowhere else.
"""

import asyncio
import json
import tempfile
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.cli.commands.models import play_script
from haltpoint.cli.commands.run import watch_to_end
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import System, free_port, local_system
from haltpoint.cli.shell import Shell
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


@dataclass
class Show:
    """One performance with a state directory and an outbox of its own. `alone`: why the demo
    answers for the person; empty where the person does.
    """

    shell: Shell
    folder: Path
    alone: str
    page: bool
    wrong: int = 0
    never: int = 0

    async def play(self) -> None:
        """All cases, and their judgement. Raises HaltpointError HP-045 when they did not come out
        as they must.
        """
        faults: list[str] = []
        async with self._system() as system:
            key = (self.folder / KEY_FILE).read_text().strip()
            self.say(f"Ready: {len(system.keeper.children)} processes.")
            async with Client(system.url, key) as client:
                for case in CASES:
                    self.say(f"\n{case.what}")
                    before = len(self.sent())
                    chain = await self._run(client, case)
                    self.never += len(chain.never_executed)
                    faults += self._faults(case, chain, self.sent()[before:])
            self._conclude(faults)
            if self.page:
                self.say(f"\nThe page: {system.url}\nIts key:  {key}\nCtrl-C ends it.")
                await asyncio.Event().wait()

    def sent(self) -> list[Any]:
        """All that was sent."""
        outbox = self.folder / "outbox.jsonl"
        text = outbox.read_text(encoding="utf-8") if outbox.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def say(self, words: str) -> None:
        """Words for people."""
        if not self.shell.json:
            print(words, flush=True)

    def _faults(self, case: Case, chain: "ChainView", sent: list[Any]) -> list[str]:
        """One message goes to whom a person chose, else to the only match; where there is neither
        none does.
        """
        answers = [request.answer.answer.option_id for request in chain.requests if request.answer]
        allowed = list(filter(None, answers)) or case.for_whom
        wrong = [message["to"] for message in sent if message["to"] not in allowed]
        self.wrong += len(wrong)
        faults = [f"{case.goal!r}: {name} got a message" for name in wrong]
        expected = 1 if allowed else 0
        if len(sent) != expected:
            messages = count(len(sent), "message")
            faults.append(f"{case.goal!r}: {messages} instead of {expected}")
        return faults

    def _conclude(self, faults: list[str]) -> None:
        sent = self.sent()
        self.say(f"\nThe outbox: {count(len(sent), 'message')}")
        rows = [(message["name"], message["to"], message["content"]) for message in sent]
        document = {"outbox": sent, "wrong_recipients": self.wrong, "faults": faults}
        self.shell.table(document, ("name", "to", "content"), rows)
        never = count(self.never, "call")
        self.say(f"\n{self.wrong} wrong recipients, {never} never executed")
        if faults:
            what, log = "the demo did not end as expected", self.folder / "services.log"
            why = f"{'; '.join(faults)}\n{log.read_text(errors='replace')[-2000:]}"
            raise HaltpointError("HP-045", what, why, "Please report it")

    def _system(self) -> AbstractAsyncContextManager[System]:
        port = free_port()
        scripted = Child("script-model", play_script, ("contacts_careless", port))
        model = {"base_url": f"http://127.0.0.1:{port}/v1", "name": "script"}
        settings = load(
            state_dir=str(self.folder),
            tools="haltpoint.examples.contacts.tools",
            gateway={"port": 0},
            model=model,
        )
        return local_system(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            settings.model_copy(update={"redis_url": None}),
            environment={"CONTACTS_OUTBOX": str(self.folder / "outbox.jsonl")},
            output=self.folder / "services.log",
            beside=(scripted,),
            say=lambda words: self.say(f"  {words}"),
        )

    async def _run(self, client: Client, case: Case) -> "ChainView":
        async def answer(request: "RequestView") -> bool:
            await asyncio.sleep(_MOMENT)
            choice = request.options[case.option - 1]
            self.say(f"    {self.alone}, so the demo chooses: {spelt_out(choice.title)}.")
            await client.answer(request.id, option_id=choice.id)
            return True

        run = await client.run(case.goal)
        asked = answer if self.alone else None
        return await watch_to_end(self.shell, client, run.id, live=not self.shell.json, asked=asked)


def perform(shell: Shell, *, by_itself: bool, page: bool) -> None:
    """Run the demo. Raises HaltpointError HP-045 when it did not come out as it must."""
    alone = "" if shell.interactive else "This is not a terminal"
    if by_itself:
        alone = "--yes was given"
    with tempfile.TemporaryDirectory(prefix="haltpoint-demo-") as folder:
        try:
            asyncio.run(Show(shell, Path(folder), alone, page).play())
        except KeyboardInterrupt:
            if not page:
                raise
