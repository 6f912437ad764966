"""The demo: what is asked of the system, who answers, and the judgement at the end.

Everything here is a client like any other: the chains run in the services, the message goes out
through the example's tools, and what was sent is read from the outbox and nowhere else.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from haltpoint.cli.commands.demo.cases import CASES, MODELS, Case, Judgement, may_get
from haltpoint.cli.commands.models import OwnModel
from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import System, free_port, http_get
from haltpoint.cli.render.asking import ask
from haltpoint.cli.render.following import follow
from haltpoint.cli.render.lines import wished
from haltpoint.cli.render.picture import teller
from haltpoint.cli.shell import Shell
from haltpoint.cli.wording import visible
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings_sources import load

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import RequestView

_MOMENT: Final = 1.0  # seconds until a question is answered by itself
_LINGER: Final = 60  # seconds that the carrier would take, were its worker not killed


def perform(shell: Shell, *, by_itself: bool, kill_worker: bool, own: OwnModel | None) -> int:
    """Run the demo. Raises CliError HP-045 when it did not come out as it must."""
    folder = Path(tempfile.mkdtemp(prefix="haltpoint-demo-"))
    show = Show(shell, folder, by_itself=by_itself, own=own)
    kept = False
    try:
        log = folder / "services.log"
        judgement = asyncio.run(show.killed_worker(log) if kill_worker else show.cases(log))
        show.conclude(judgement)
        if judgement.faults:
            why, fix = (
                "; ".join(judgement.faults),
                f"The services' log is {folder / 'services.log'}",
            )
            raise CliError("HP-045", "the demo did not end as expected", why, fix)
    except HaltpointError:
        kept = True
        raise
    finally:
        if not kept:
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
        self._alone = (
            "" if shell.interactive else "This is not a terminal"
        )  # why the demo answers for the person
        if by_itself or os.environ.get("CI"):
            self._alone = "--yes was given" if by_itself else "CI is set"
        self._outbox = folder / "outbox.jsonl"
        self._model = Child("script-model", ())

    # ---- what is shown
    # ----------------------------------------------------------------------------------------------

    async def cases(self, log: Path) -> Judgement:
        """All cases with a model that behaves and with one that does not; or once, with the user's
        own.
        """
        judgement = Judgement()
        async with self._system(log) as system, self._client(system) as client:
            self._ready(system)
            for name in ("careless", "good") if self._own is None else ("own",):
                if self._own is None:
                    await self._cast(system, name)
                self._heading(MODELS[name])
                for case in CASES:
                    self._say(f"\n{case.what}")
                    await self._play(client, case, judgement)
        return judgement

    async def killed_worker(self, log: Path) -> Judgement:
        """One message, and the worker dies between sending and reporting it."""
        judgement = Judgement()
        case = CASES[1]
        async with (
            self._system(log, CONTACTS_LINGER=f"after:{_LINGER}") as system,
            self._client(system) as client,
        ):
            self._ready(system)
            self._heading("A worker dies in the middle of send_message")
            self._say("\nSending takes a minute; the worker is killed meanwhile.")
            killer = asyncio.create_task(self._kill(system))
            try:
                await self._play(client, case, judgement)
            finally:
                killer.cancel()
                await asyncio.gather(killer, return_exceptions=True)
        if judgement.sent != 1:
            judgement.faults.append(
                f"the outbox has {judgement.sent} messages instead of exactly one"
            )
        return judgement

    def conclude(self, judgement: Judgement) -> None:
        """The outbox, what never ran, and the verdict."""
        sent = self._sent()
        if self._shell.json:
            self._shell.emit(
                {
                    "chains": [chain.model_dump(mode="json") for chain in judgement.chains],
                    "outbox": sent,
                    "messages_sent": judgement.sent,
                    "wrong_recipients": judgement.wrong,
                    "never_executed": [
                        {"call": call, "reason": reason} for call, reason in judgement.dropped
                    ],
                    "faults": judgement.faults,
                }
            )
            return
        self._heading(f"The outbox: {len(sent)} message{'' if len(sent) == 1 else 's'}")
        for message in sent:
            self._say(visible(f"  {message['name']:<14} {message['to']:<12} {message['content']}"))
        if judgement.dropped:
            self._heading("Calls that the model wanted and that never ran")
            rows = Table.grid(padding=(0, 1))
            for (call, reason), count in Counter(judgement.dropped).items():
                rows.add_row(
                    Text(f"  {count} ×"), Text(call, overflow="fold"), Text(reason, style="dim")
                )
            self._shell.out.print(rows)
        wrong = Text(str(judgement.wrong), style="bold red" if judgement.wrong else "bold green")
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        table.add_row("chains", str(len(judgement.chains)))
        table.add_row("messages sent", str(judgement.sent))
        table.add_row("wrong recipients", wrong)
        table.add_row("calls that never ran", str(len(judgement.dropped)))
        self._heading("In short")
        self._shell.out.print(table)

    # ---- how it is done
    # ---------------------------------------------------------------------------------------------

    def _system(self, log: Path, **environment: str) -> System:
        port = free_port()
        model = self._own or OwnModel(f"http://127.0.0.1:{port}/v1", "script")
        self._model.words = ("script-model", "contacts_good", "--port", str(port))
        settings = load(
            state_dir=str(self._folder),
            tools="haltpoint.examples.contacts.tools",
            lease=2.0,
            heartbeat=0.5,
            gateway={"port": 0},
            model={"base_url": model.url, "name": model.name},
        )
        return System(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            settings.model_copy(update={"redis_url": None}),
            environment={"CONTACTS_OUTBOX": str(self._outbox), **environment},
            output=log,
            beside=() if self._own else (self._model,),
            say=lambda words: self._say(f"  {words}"),
        )

    def _client(self, system: System) -> Client:
        return Client(system.url, (self._folder / KEY_FILE).read_text().strip())

    async def _play(self, client: Client, case: Case, judgement: Judgement) -> None:
        before = len(self._sent())
        run = await client.run(case.goal)
        told = teller(self._shell.out)

        async def asked(request: "RequestView") -> bool:
            with told.pause():
                await self._answer(client, request, case)
            return True

        try:  # with --json everything comes at the end
            chain = await follow(client, run.id, None if self._shell.json else told.show, asked)
        finally:
            told.close()
        judgement.chains.append(chain)
        judgement.dropped += map(wished, chain.never_executed)
        allowed = may_get(case, chain)
        for message in self._sent()[before:]:
            judgement.sent += 1
            if message["to"] not in allowed:
                judgement.wrong += 1
                judgement.faults.append(f"{case.goal!r}: {message['to']} got a message")
        sent, expected = len(self._sent()) - before, 1 if allowed else 0
        if self._own is None and sent != expected:
            judgement.faults.append(f"{case.goal!r}: {sent} messages instead of {expected}")

    async def _answer(self, client: Client, request: "RequestView", case: Case) -> None:
        if request.kind is RequestKind.IN_DOUBT:
            await self._look_into_the_outbox(client, request)
            return
        if not self._alone:
            await ask(client, request)
            return
        await asyncio.sleep(_MOMENT)
        choice = request.options[case.option - 1]
        self._say(f"    {self._alone}, so the demo chooses: {visible(choice.title)}.")
        await client.answer(request.id, option_id=choice.id)

    async def _look_into_the_outbox(self, client: Client, request: "RequestView") -> None:
        """Did it happen? Whoever knows is outside of the system: the outbox."""
        found = next(
            (message for message in self._sent() if message["key"] == request.action_id), None
        )
        where = (
            "is in the outbox: it happened" if found else "is not in the outbox: it did not happen"
        )
        self._say(f"    The message of {request.action_id.partition('.')[2]} {where}.")
        if not self._alone:
            await ask(client, request)
            return
        await asyncio.sleep(_MOMENT)
        if found is None:
            await client.answer(request.id, decision=Choice.NOT_HAPPENED)
            return
        value = {"message_id": found["key"], "recipient_id": found["to"], "name": found["name"]}
        await client.answer(request.id, decision=Choice.HAPPENED, value=value)

    async def _kill(self, system: System) -> None:
        busy = self._outbox.with_suffix(".busy")
        while not busy.exists() or not busy.read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
        pid = int(busy.read_text())
        if pid != system.pid("tool-worker"):
            raise RuntimeError(f"process {pid} sends messages and is not our worker")
        self._say(f"  SIGKILL to the worker (process {pid}): the message is sent, but not reported")
        os.kill(pid, signal.SIGKILL)

    async def _cast(self, system: System, name: str) -> None:
        """Let the model follow another script: end it, it starts again with the new one."""
        verb, _, option, port = self._model.words
        await system.keeper.replace(self._model, (verb, f"contacts_{name}", option, port))
        while (await http_get("127.0.0.1", int(port), "/v1/models"))[0] == 0:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)

    def _sent(self) -> list[dict[str, Any]]:
        if not self._outbox.exists():
            return []
        return [json.loads(line) for line in self._outbox.read_text(encoding="utf-8").splitlines()]

    def _ready(self, system: System) -> None:
        names = ", ".join(f"{child.name} {child.pid}" for child in system.keeper.children)
        self._say(f"Ready. Processes: {names}.")

    def _heading(self, words: str) -> None:
        if not self._shell.json:
            self._shell.out.print(Text(f"\n{words}", style="bold"))
            self._shell.out.print(Text("─" * min(len(words), self._shell.out.width), style="dim"))

    def _say(self, words: str) -> None:
        if not self._shell.json:
            self._shell.out.print(Text(words), soft_wrap=not sys.stdout.isatty())
