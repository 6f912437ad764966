"""`make bench`: one run of everything, a table for people, build/bench.json for programs.

Absolute figures say as much about the machine as about the system: compare the ratios.
"""

import argparse
import asyncio
import json
import math
import secrets
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table

from haltpoint.cli.local.system import free_port
from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.service.embedded import EmbeddedServer
from tests.bench import floor, system
from tests.bench.contract import contract_ms
from tests.bench.processes import cpu_us, running, stopwatch
from tests.bench.waiting import waiting_bytes

CHAINS, IN_FLIGHT, STEPS = 2000, 128, 5
SERVICES = ("executor", "worker", "server")
Figures = JsonObject


def traceparents(share: float, count: int = 1000) -> list[str | None]:
    """Contexts of which `share` are sampled, as the gateway would have decided at submission."""
    return [
        f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-"
        f"{'01' if number < share * count else '00'}"
        for number in range(count)
    ]


def measure_floor(folder: Path, in_flight: int = IN_FLIGHT) -> Figures:
    """Actions a second of raw redis-py with the same messages, and CPU microseconds per action."""
    folder.mkdir()
    with EmbeddedServer(folder / "data") as server:
        asyncio.run(floor.prepare(server.url))
        log = folder / "log"
        with (
            running(["tests.bench.floor", server.url, "executor"], {}, log) as executor,
            running(["tests.bench.floor", server.url, "worker"], {}, log) as worker,
        ):
            uvloop.run(floor.drive(server.url, 200, in_flight))
            cost: dict[str, float] = {}
            with stopwatch(
                {"executor": executor.pid, "worker": worker.pid, "server": server.pid or 0}, cost
            ):
                uvloop.run(floor.drive(server.url, CHAINS, in_flight))
            hop = statistics.median(uvloop.run(floor.hops(server.url)))
    return {**rates(cost, CHAINS * STEPS), "hop_ms": round(hop, 2)}


def rates(cost: dict[str, float], actions: int) -> Figures:
    """Actions a second and CPU microseconds per action, services of the same kind added up."""
    per_action = {
        kind: round(
            sum(value for name, value in cost.items() if name.split("-")[0] == kind) / actions, 1
        )
        for kind in SERVICES
    }
    return {"actions_s": round(actions / cost["wall"]), "cpu_us_per_action": per_action}


def measure_load(
    folder: Path, *, executors: int = 1, sampled: float | None = 0.1, in_flight: int = IN_FLIGHT
) -> Figures:
    """The system under so many chains in flight. `sampled` None: traces off, nothing is
    exported.
    """
    port = free_port()
    endpoint = "" if sampled is None else f"http://127.0.0.1:{port}"
    folder.mkdir()
    with (
        running(["tests.bench.sink", str(port)], {}, folder / "sink.log"),
        system.system(folder, executors=executors, traced=endpoint) as (server, pids),
    ):

        async def load() -> Figures:
            async with system.driver(server.url, executors) as drive:
                cost: dict[str, float] = {}
                traces = traceparents(sampled) if sampled is not None else None
                with stopwatch(pids, cost):
                    await drive.run(system.sequence(STEPS), CHAINS, in_flight, traces)
                return rates(cost, CHAINS * STEPS)

        return uvloop.run(load())


def measure_one(folder: Path) -> Figures:
    """One chain at a time on an idle system; a chain that waits; long chains beside short ones."""
    with system.system(folder) as (server, pids):

        async def one() -> Figures:
            async with system.driver(server.url) as drive:
                idle = sorted(await drive.idle(system.sequence(STEPS), 200))
                answers, size = await waiting_bytes(drive)
                short, long = [], []
                # In turn, so that a slow moment of the machine meets both, and as many at a time of
                # both: what is done for a batch costs the less the more chains share it, however
                # long they are.
                for _ in range(3):
                    short.append(await per_action(drive, pids, system.sequence(5), 400))
                    long.append(await per_action(drive, pids, system.sequence(500), 8))
                return {
                    "idle_p50_ms": round(statistics.median(idle), 2),
                    "idle_p99_ms": round(idle[math.ceil(len(idle) * 0.99) - 1], 2),
                    "answer_p50_ms": round(statistics.median(answers), 2),
                    "waiting_bytes": size,
                    "long_chain_ratio": round(
                        statistics.median(long) / statistics.median(short), 2
                    ),
                }

        return uvloop.run(one())


async def per_action(drive: system.Driver, pids: dict[str, int], task: Any, chains: int) -> float:
    """CPU microseconds of all services together per action, eight chains at a time."""
    before = sum(cpu_us(pid) for pid in pids.values())
    await drive.run(task, chains, 8)
    return (sum(cpu_us(pid) for pid in pids.values()) - before) / (chains * len(task.plan.steps))


def measure_side_by_side(folder: Path) -> Figures:
    """Three reads of 200 ms beside the same in sequence, as a share of the time; ten no-op calls
    beside one.
    """
    with system.system(folder) as (server, _):

        async def one() -> Figures:
            async with system.driver(server.url) as drive:

                async def ms(rounds: int, calls: int, tool: str, parallel: int) -> float:
                    task = system.sequence(calls, tool, chained=False, parallel=parallel)
                    return statistics.median(await drive.idle(task, rounds))

                return {
                    "three_reads_share": round(
                        await ms(5, 3, "sleep", 3) / await ms(5, 3, "sleep", 1), 3
                    ),
                    "ten_beside_one": round(
                        await ms(100, 10, "noop", 16) / await ms(100, 1, "noop", 1), 2
                    ),
                }

        return uvloop.run(one())


def table(figures: Figures) -> Table:
    """What a person wants to see, with the bars that the project sets itself."""
    shown = Table(
        title="Haltpoint bench: chains of five no-op actions, 1 kB each way, 128 in flight"
    )
    for column in ("figure", "measured", "bar"):
        shown.add_column(column, justify="left" if column == "figure" else "right")
    cpu, base = figures["cpu_us_per_action"], figures["floor_cpu_us_per_action"]
    rows = [
        ("floor, raw redis-py, actions/s", f"{figures['floor_actions_s']:,}", ""),
        ("Haltpoint, traces sampled at 10 %, actions/s", f"{figures['actions_s']:,}", "5,000"),
        ("ratio to the floor", f"{figures['ratio']:.2f}", "0.45"),
        ("ratio to the floor, both with 512 in flight", f"{figures['ratio_512']:.2f}", "0.55"),
        (
            "  traces off / all traced, actions/s",
            f"{figures['untraced_actions_s']:,} / {figures['traced_actions_s']:,}",
            "",
        ),
        *(
            (f"CPU us per action, {name} (floor)", f"{cpu[name]} ({base[name]})", "")
            for name in SERVICES
        ),
        ("  all three beside the floor's", f"{sum(cpu.values()) / sum(base.values()):.2f}", "2.30"),
        ("two executors beside one", f"{figures['two_executors_ratio']:.2f}", "1.10"),
        (
            "one idle chain of five, p50 / p99 ms",
            f"{figures['idle_p50_ms']} / {figures['idle_p99_ms']}",
            "8 / -",
        ),
        (
            "from an answer in Redis to the next dispatch (floor), ms",
            f"{figures['answer_p50_ms']} ({figures['floor_hop_ms']})",
            "",
        ),
        ("a waiting chain, bytes beside payload", f"{figures['waiting_bytes']:,}", "1,600"),
        ("cost per action, 500 steps beside 5", f"{figures['long_chain_ratio']:.2f}", "1.30"),
        (
            "three reads of 200 ms side by side, share of the time",
            f"{figures['three_reads_share']:.3f}",
            "0.34",
        ),
        ("ten no-op calls side by side, beside one", f"{figures['ten_beside_one']:.2f}", "2.50"),
        (
            "contract time per turn, p50 / p99 ms",
            f"{figures['contract_p50_ms']} / {figures['contract_p99_ms']}",
            "- / 1",
        ),
    ]
    for row in rows:
        shown.add_row(*row)
    return shown


def main() -> None:
    """Measure, print, write."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    # Ended as by an error, so that every process of a part ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    console = Console()
    with tempfile.TemporaryDirectory(prefix="haltpoint-bench-") as name:
        folder = Path(name)

        def part(title: str, work: Callable[[], Figures]) -> Figures:
            console.print(f"[dim]{title} ...[/dim]")
            return work()

        floors, loads = [], []
        # In turn and three times: these machines drift, and a ratio wants neighbours.
        for turn in range(3):
            floors.append(part("floor", partial(measure_floor, folder / f"floor{turn}")))
            loads.append(part("load, 10 % traced", partial(measure_load, folder / f"load{turn}")))
        floor_512 = part("floor, 512 in flight", lambda: measure_floor(folder / "floor512", 512))
        many = part("load, 512 in flight", lambda: measure_load(folder / "load512", in_flight=512))
        untraced = part("load, traces off", lambda: measure_load(folder / "off", sampled=None))
        two = part(
            "load, two executors, traces off",
            lambda: measure_load(folder / "two", executors=2, sampled=None),
        )
        traced = part("load, all traced", lambda: measure_load(folder / "all", sampled=1.0))
        middle = sorted(
            range(3), key=lambda turn: loads[turn]["actions_s"] / floors[turn]["actions_s"]
        )[1]
        figures: Figures = {
            "floor_actions_s": floors[middle]["actions_s"],
            "actions_s": loads[middle]["actions_s"],
            "ratio": round(loads[middle]["actions_s"] / floors[middle]["actions_s"], 2),
            "cpu_us_per_action": loads[middle]["cpu_us_per_action"],
            "floor_cpu_us_per_action": floors[middle]["cpu_us_per_action"],
            "floor_hop_ms": floors[middle]["hop_ms"],
            "ratio_512": round(many["actions_s"] / floor_512["actions_s"], 2),
            "untraced_actions_s": untraced["actions_s"],
            "traced_actions_s": traced["actions_s"],
            "two_executors_ratio": round(two["actions_s"] / untraced["actions_s"], 2),
            **part(
                "one chain at a time, waiting chains, long chains",
                lambda: measure_one(folder / "one"),
            ),
            **part("prompts, replies and checks of a turn", contract_ms),
            **part("side by side", lambda: measure_side_by_side(folder / "wide")),
        }
    console.print(table(figures))
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")
    console.print(f"written to {target}")


if __name__ == "__main__":
    main()
