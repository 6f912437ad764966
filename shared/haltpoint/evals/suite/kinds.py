"""All kinds of models in the suite: how each breaks its word. Pure functions of the case and the request.

A kind that returns nothing behaves well this once; so each misbehaves as often as its case's patience says.
"""

from dataclasses import replace

from haltpoint.evals.case import Case
from haltpoint.evals.suite import cases, kinds_calls, kinds_deeds, kinds_routing, kinds_words
from haltpoint.evals.suite.kind import KINDS
from haltpoint.evals.talk import Talk, well
from haltpoint.testing.script import Say

__all__ = ["KINDS", "build", "kinds_calls", "kinds_deeds", "kinds_routing", "kinds_words", "say"]


def build(seed: int, kind: str, number: int) -> Case:
    """The case of a kind with this number."""
    made = cases.build(seed, kind, number, KINDS[kind].makes, KINDS[kind].styles)
    return replace(made, routed=KINDS[kind].routed)


def say(talk: Talk) -> Say:
    """What a model of the case's kind says to this request."""
    return KINDS[talk.case.kind].behaviour(talk) or well(talk)
