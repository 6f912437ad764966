"""The fixed words that the runtime says in answers and receipts, beside a model's (CONTRACT F1).

English; a deployment may have others (HALTPOINT_PHRASES_FILE, read by
`runtime.config.phrases_file`).
"""

from datetime import datetime
from typing import Annotated

from pydantic import StringConstraints

from haltpoint.contracts.doors import Form

Phrase = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Phrases(Form):
    """The table of these words."""

    no_words: Phrase = "There is no answer in words"
    """Begins an answer that no model wrote; one of the next three follows."""
    said_nothing: Phrase = "the model said nothing"
    """The last reply was empty, or no words."""
    out_of_budget: Phrase = "the budget for the model is used up"
    """There are no tokens, turns or money left to ask for words."""
    out_of_time: Phrase = "the deadline has passed"
    """There is no time left to ask for words."""
    results: Phrase = "The results:"
    """Precedes the results that take the place of an answer."""
    cut_off: Phrase = "cut off: the reply reached its limit of tokens"
    """Follows, in brackets, words that the model did not finish."""
    filtered: Phrase = "cut off: the provider's content filter stopped the reply"
    """Follows, in brackets, words that the provider did not let the model finish."""

    may_have_happened: Phrase = (
        "It was running when the chain ended; whether it happened is unknown."
    )
    """Why a call is not known to be done: no worker has reported its end."""
    stopped: Phrase = "It was stopped before it was complete."
    """Why a call without effects is not done; also marks words that the provider stopped."""
    not_approved: Phrase = "A person was asked about it, and the chain ended before an answer came."
    """Why a call is not done: its question was open at the end."""
    not_reached: Phrase = "The chain ended before this call."
    """Why a call of a plan is not done."""
    not_called: Phrase = "It was due, and it was never called."
    """Why a call that was due is not done."""

    not_needed: Phrase = "Not needed"
    """Precedes a person's words for why a step is left out."""
    denied: Phrase = "A person was asked and did not allow it"
    """Precedes a person's words for a no."""
    no: Phrase = "no"
    """Those words, where the person gave none."""
    said_instead: Phrase = "A person was asked and said"
    """Precedes a person's words in place of an option."""
    none_fits: Phrase = "none of the options is the right one"
    """Those words, where the person gave none."""
    happened: Phrase = "a person says that it happened; its result is not known"
    """A warning of a call that was in doubt."""
    did_not_happen: Phrase = "a person says that it did not happen"
    """The error of a call that was in doubt."""


def count(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def goes_on(until: datetime | None, *, reconcile: bool) -> str:
    """When an action that rests is sent again, and for what."""
    what = "its tool is asked whether it happened" if reconcile else "runs again"
    return f"{what} {'when the chain continues' if until is None else f'at {until:%H:%M:%S} UTC'}"
