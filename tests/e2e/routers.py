"""A model that routes tasks: it looks things up, asks, decides, and makes the mistakes that models
make.
"""

from collections.abc import Iterator
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.routing import ROUTE
from tests.e2e.stubborn import calls, when

ROUTERS_FILE: Final = """
[supervisor]
strategy = "llm"
tools = ["find_order", "lookup_contacts"]
max_tool_retries = 2
threshold = 0.5

[[agents]]
name = "billing"
description = "Invoices and refunds."
style = "react"
tools = []

[[agents]]
name = "technical"
description = "Things that do not work."
style = "react"
tools = []
"""

SLOWLY: Final = " slowly"
"""The end of a goal with which each decision takes a while."""

TO_BILLING: Final = {
    "target_agent": "billing",
    "task": "Do it",
    "reasoning": "an invoice",
    "confidence": 0.9,
}
_BY_ORDER: Final = {
    "target_agent": "{{results.find_order.data.team}}",
    "task": "Do order 17",
    "confidence": 0.8,
}
_BY_BOTH: Final = (
    "Do order {{results.find_order.data.order}} of {{results.lookup_contacts.data.name}}"
)


def _rules(end: str, delay: float) -> Iterator[JsonObject]:
    """What it says to the goals that end so; each decision takes so many seconds."""

    def look(case: str, say: JsonObject, **more: Any) -> JsonObject:
        return when("act", f"^Route {case}{end}$", say, **more)

    def decide(case: str, say: JsonObject, **more: Any) -> JsonObject:
        return look(case, {"content": say}, delay=delay, **more)

    find = calls("find_order", order="17")
    yield decide("plainly", TO_BILLING)
    yield look("after a look", find, without=["find_order"])
    yield decide("after a look", _BY_ORDER)
    yield look("after two looks", find, without=["find_order"])
    yield look(
        "after two looks", calls("lookup_contacts", query="Jane"), without=["lookup_contacts"]
    )
    yield decide("after two looks", {**TO_BILLING, "task": _BY_BOTH})
    yield look("never", find, turn=1)
    yield look("never", calls("find_order", order="18"), delay=delay)
    yield look("past a failure", calls("find_order", order="99"), without=["find_order"])
    yield decide("past a failure", TO_BILLING)
    yield look("past a missing tool", calls("find_parcel", order="17"), attempt=1)
    yield decide("past a missing tool", TO_BILLING)
    yield look("past a malformed call", calls("find_order", number=17), attempt=1)
    yield decide("past a malformed call", TO_BILLING)
    yield look("without tools", find, attempt=1)
    yield decide("without tools", TO_BILLING)
    yield look("by asking", calls("askHuman", question="Which order?"), without=["askHuman"])
    yield look(
        "by asking",
        calls("find_order", order="{{results.askHuman.data.answer}}"),
        without=["find_order"],
    )
    yield decide("by asking", _BY_ORDER)
    yield look("both at once", find, without=["find_order"])
    beside = {"name": "find_order", "arguments": {"order": "18"}}
    yield look(
        "both at once", {"calls": [{"name": ROUTE, "arguments": _BY_ORDER}, beside]}, delay=delay
    )
    yield decide("unsure", {**TO_BILLING, "confidence": 0.4})


ROUTERS: Final[list[JsonObject]] = [
    when("reason", "^Route", {"content": "{{results.route.data.text}}"}, results=["route"]),
    *_rules("", 0.0),
    *_rules(SLOWLY, 1.5),
    when("reason", "^Route", {"content": "Done: all of it."}),
    when("reason", "^Do (?P<what>.+)", {"content": "Done: {{goal.what}}."}),
]
