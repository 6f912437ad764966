"""Where a process under test dies, and what it writes down: wrapped around the real parts; the
product knows nothing.

A point is a place that every service passes:

    read              entries were read and the handler is about to get them
    before <function> the function of the library (claim, commit, ...) is about to be called
    after <function>  it was done, and its caller is about to hear of it
    effect            a tool has had its effect and is about to return

The environment says where: CHAOS_POINT, CHAOS_NTH (at which passage, from 1), CHAOS_MARKER (a file
that is made then: who finds it lives on) and CHAOS_HISTORY (the folder of the history).
"""

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from haltpoint.runtime.service.service import Service
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.delivery import Entry, Handler, Subscription
from haltpoint.runtime.streams.topology import PREFIX
from tests.proofs.records import Claimed, Decided, Recorder

_passages: dict[str, int] = {}


def passing(point: str) -> None:
    """Die here by SIGKILL, when this is the place and the time, and for the first time."""
    if point != os.environ.get("CHAOS_POINT"):
        return
    _passages[point] = _passages.get(point, 0) + 1
    if _passages[point] < int(os.environ.get("CHAOS_NTH", "1")):
        return
    try:
        Path(os.environ["CHAOS_MARKER"]).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def install(actor: str) -> None:
    """Wrap what this process reads and calls by."""
    recorder = Recorder(Path(os.environ["CHAOS_HISTORY"]), actor)
    subscribe, call = Service.subscribe, AutoPipeline.call

    def subscribe_and_pass(
        self: Service, stream: str, group: str, handler: Handler, **more: Any
    ) -> Subscription:
        async def pass_on(entries: list[Entry]) -> None:
            passing("read")
            await handler(entries)

        return subscribe(self, stream, group, pass_on, **more)

    def call_and_pass(
        self: AutoPipeline, *args: Argument, read: Callable[[Any], Any] | None = None
    ) -> "asyncio.Future[Any]":
        name = str(args[1]).removeprefix(PREFIX) if args[0] == "FCALL" else ""
        passing(f"before {name}")
        future = call(self, *args, read=read)
        # Before the caller hears: callbacks are called in the order in which they were added.
        future.add_done_callback(partial(_answered, recorder, name, args))
        return future

    Service.subscribe = subscribe_and_pass  # type: ignore[method-assign]
    AutoPipeline.call = call_and_pass  # type: ignore[method-assign]


def _answered(
    recorder: Recorder, name: str, args: tuple[Argument, ...], future: "asyncio.Future[Any]"
) -> None:
    if future.cancelled() or future.exception() is not None:
        return
    if name == "claim" and future.result()[0] in (b"go", b"in_doubt"):
        entry, action = str(args[5]), str(args[6])
        recorder.write(Claimed(action, entry, int(future.result()[1])))
    if name == "commit":
        for chain, version in _committed(args, future.result()[1:]):
            recorder.write(Decided(chain, version))
    passing(f"after {name}")


def _committed(args: tuple[Argument, ...], statuses: list[int]) -> list[tuple[str, str]]:
    """Chains and their new versions in a commit that was applied (the arguments are told in
    lua/commit.lua).
    """
    made = []
    for status, packed in zip(statuses, args[6 + int(args[5]) :], strict=True):
        chain, expected, version, *_ = msgspec.msgpack.decode(cast("bytes", packed))
        if status == 0 and version != expected:
            made.append((chain, version))
    return made
