"""Metrics: every name of ours that a service shows on /metrics, in one place.

Those at the top are of one process: each service counts its own, and Prometheus adds them up.
`Deployment` has those that are right only over all processes. The gateway reads them from Redis
whenever it is asked; where several gateways run, each shows the same values.

No label has the id of a chain, an argument, or a tenant.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

_QUICK: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

ACTION_SECONDS: Final = Histogram(
    "haltpoint_action_seconds",
    "Seconds that a worker spent on a call, with its hooks",
    ["tool", "outcome"],
    buckets=_SLOW,
)
"""`outcome` is the type of its error, or what its result asks for next."""

DISPATCH_LAG: Final = Histogram(
    "haltpoint_dispatch_lag_seconds",
    "Seconds from the commit that sent a call until a worker began it",
    buckets=_QUICK,
)
DECISION_SECONDS: Final = Histogram(
    "haltpoint_decision_seconds",
    "Seconds from reading a batch of events until it was committed",
    buckets=_QUICK,
)
SLOTS: Final = Gauge("haltpoint_slots", "Slots of this process", ["state"])
"""`state`: used, free."""

REDELIVERIES: Final = Counter(
    "haltpoint_redeliveries",
    "Messages taken over because their reader did not finish them within its lease",
    ["stream"],
)
LEASES_TAKEN: Final = Counter(
    "haltpoint_partition_leases_taken", "Leases of partitions that this executor took"
)
REFUSALS: Final = Counter(
    "haltpoint_refusals", "Calls that the server refused for now, by its own code", ["code"]
)
MODEL_SECONDS: Final = Histogram(
    "haltpoint_model_seconds",
    "Seconds of a question to a model",
    ["model", "outcome"],
    buckets=_SLOW,
)
"""`outcome`: replied, given_up (the chain is over), or the code of our error."""

MODEL_TOKENS: Final = Counter("haltpoint_model_tokens", "Tokens of models", ["model", "direction"])
"""`direction`: input, output."""


@lru_cache(maxsize=4096)
def _action_seconds(tool: str, outcome: str) -> Histogram:
    """The samples of these labels, which prometheus-client would look for with a lock."""
    return ACTION_SECONDS.labels(tool, outcome)


def observe_action(tool: str, outcome: str, seconds: float) -> None:
    """A call has ended: the hot path of a worker."""
    _action_seconds(tool, outcome).observe(seconds)


def show_slots(used: Callable[[], int], capacity: int) -> None:
    """Show the slots of this process whenever metrics are read."""
    SLOTS.labels("used").set_function(used)
    SLOTS.labels("free").set_function(lambda: capacity - used())


class Deployment:
    """The state of the whole deployment at one moment: each field is a family of samples, filled
    by its reader.
    """

    def __init__(self) -> None:
        self.backlog = GaugeMetricFamily(
            "haltpoint_backlog",
            "Messages of a stream: without a reader yet (waiting), or in hand (running)",
            labels=["stream", "queue", "state"],
        )
        self.oldest = GaugeMetricFamily(
            "haltpoint_oldest_pending_seconds",
            "Seconds since the oldest message of a stream was written",
            labels=["stream", "queue"],
        )
        self.resting = GaugeMetricFamily(
            "haltpoint_calls_resting", "Calls that wait for a limit", labels=["queue", "limit"]
        )
        self.requests = GaugeMetricFamily(
            "haltpoint_requests_open",
            "Questions that wait for a person",
            labels=["kind", "priority"],
        )
        self.request_age = GaugeMetricFamily(
            "haltpoint_request_age_seconds",
            "Seconds that the oldest open question has waited",
            labels=["kind"],
        )
        self.in_doubt = GaugeMetricFamily(
            "haltpoint_in_doubt_open", "Calls about which a person is asked whether they happened"
        )
        self.human_wait = HistogramMetricFamily(
            "haltpoint_human_wait_seconds",
            "Seconds that a question waited for its answer",
            labels=["kind", "decision"],
        )
        self.undecided = CounterMetricFamily(
            "haltpoint_requests_undecided",
            "Questions whose time ran out without an answer",
            labels=["kind"],
        )
        self.violations = CounterMetricFamily(
            "haltpoint_violations", "Violations of the contract", labels=["rule", "mode"]
        )
        self.strikes = CounterMetricFamily(
            "haltpoint_strikes", "Violations that counted as a strike", labels=["rule"]
        )
        self.retries = CounterMetricFamily(
            "haltpoint_retries",
            "Waits of calls before an automatic retry",
            labels=["tool", "error"],
        )
        self.dead_letters = GaugeMetricFamily(
            "haltpoint_dead_letters", "Messages that could not be processed and are kept"
        )
        self.losses = GaugeMetricFamily(
            "haltpoint_losses", "Partitions that lost writes, until a person accepts it"
        )

    def collect(self) -> Iterator[Metric]:
        """All families, as a registry of prometheus-client asks for them."""
        yield from vars(self).values()
