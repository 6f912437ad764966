"""One state of everything that a scenario is about, and how much bad luck there may be."""

from dataclasses import dataclass
from typing import NamedTuple

from tests.proofs.decisions import Kind
from tests.proofs.functions import Item, Sent, Store
from tests.support.function_rules import Mutation


class Luck(NamedTuple):
    """How much bad luck, and how many visits of people, are left."""

    crashes: int = 0
    takeovers: int = 0
    losses: int = 0
    copies: int = 0
    forgeries: int = 0
    submits: int = 1
    doubts: int = 0
    failures: int = 0
    cancels: int = 0
    times: int = 0
    releases: int = 0
    previews: int = 0
    tampers: int = 0
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """What to search: the plan's actions, one a step, and the luck. Each step waits for the one
    before; with `parallel` none waits, and so many may be under way.
    """

    actions: tuple[Kind, ...]
    luck: Luck
    without: Mutation | None = None
    parallel: int | None = None


class Executor(NamedTuple):
    """An executor between its read and its commit. `half`: between the halves of a commit that was
    torn in two.
    """

    entry: Sent
    chain: int
    version: int
    half: bool = False


class Worker(NamedTuple):
    """A worker with an entry: read (who took it over looks first), ready (to start it), go (may
    run), in_doubt (somebody had started it), asks (a person, about the call of this digest),
    refused (no approval lets it run), ran.
    """

    item: Item
    phase: str = "read"
    epoch: int = 0
    digest: str = ""


class State(NamedTuple):
    """One state of everything. Executors are alike and so are workers: who is who does not matter,
    they are sorted.
    """

    store: Store
    executors: tuple[Executor, ...]
    workers: tuple[Worker, ...]
    luck: Luck
    sent: frozenset[Sent]  # ever: what can be copied
    applied: frozenset[Sent]  # messages that changed the chain
