"""Tools that are retried, reconciled and approved, for each class of effects; the provider behind
them writes down what it does, and what it refuses.

`how` says what becomes of each attempt of a call, a word for each:

    busy    refused for now (RATE_LIMIT)
    down    an error that says that nothing has happened: no second attempt
    broken  SERVER after the effect
    lost    an exception after the effect
    never   an exception before the effect
    moody   the effect, and when it is called again under the same key, down

Without a word the effect happens.
"""

from haltpoint import NOT_HAPPENED, Ctx, ErrorType, Happened, Retry, ToolError, tool
from haltpoint.contracts.base import JsonObject
from haltpoint.tools.reconcile import Reconciled
from tests.chaos.fail_points import passing
from tests.chaos.tools import describe, recorder
from tests.proofs.records import DESTRUCTIVE, Effect, Reconciliation, Refused, effects_in, hash_of

RETRY = Retry(attempts=2, first="100ms", most="300ms")
Result = JsonObject


def _act(ctx: Ctx, effects: str, text: str, how: str) -> Result:
    words = how.split()
    word = words[ctx.attempt - 1] if ctx.attempt <= len(words) else ""
    key, provider = ctx.idempotency_key, recorder(ctx.context["history"])
    if word == "moody" and _has_happened(ctx, key):
        word = "down"
    if word in ("busy", "down", "never"):
        provider.write(Refused(key, ctx.tool, said=word != "never"))
        passing("refusal")
        if word == "never":
            raise KeyError(text)
        if word == "busy":
            raise ToolError.rate_limit("too many callers", retry_after=0.3)
        raise ToolError(ErrorType.UNKNOWN, "it is down", no_effect=True)
    provider.write(Effect(key, effects, hash_of(text), ctx.confirmed, tool=ctx.tool))
    passing("effect")
    if word == "lost":
        raise KeyError(text)
    if word == "broken":
        raise ToolError.server("it broke")
    return {"text": text, "key": key}


def was_charged(arguments: Result, key: str, ctx: Ctx) -> Reconciled:
    """Whether the provider has done it, by its own record."""
    passing("reconcile")
    happened = _has_happened(ctx, key)
    recorder(ctx.context["history"]).write(Reconciliation(key, happened))
    return Happened({"text": arguments["text"], "key": key}) if happened else NOT_HAPPENED


def _has_happened(ctx: Ctx, key: str) -> bool:
    return any(one.key == key for one in effects_in(ctx.context["history"]))


@tool(queue="chaos", read_only=True, retry=RETRY)
def peek(text: str, ctx: Ctx, how: str = "") -> Result:
    """Look something up."""
    return _act(ctx, "read_only", text, how)


@tool(queue="chaos", read_only=True)
def halt(text: str) -> Result:
    """Fail, so that the chain does."""
    raise ToolError.permission(text)


@tool(queue="chaos", idempotent=True, retry=RETRY)
def keep(text: str, ctx: Ctx, how: str = "") -> Result:
    """Keep something under the call's key."""
    return _act(ctx, "idempotent", text, how)


@tool(queue="chaos", retry=RETRY)
def mail(text: str, ctx: Ctx, how: str = "") -> Result:
    """Mail something: twice would be twice."""
    return _act(ctx, "other", text, how)


@tool(queue="chaos", retry=RETRY, timeout="1s", reconcile=was_charged)
def charge(text: str, ctx: Ctx, how: str = "") -> Result:
    """Charge something, and be able to look afterwards whether it was."""
    return _act(ctx, "other", text, how)


@tool(queue="chaos", retry=RETRY, effect_key="bill:{text}")
def bill(text: str, ctx: Ctx, how: str = "") -> Result:
    """Send a bill: once, whichever chain asks for it."""
    return _act(ctx, "other", text, how)


@tool(queue="chaos", destructive=True, preview=describe, retry=RETRY)
def erase(text: str, ctx: Ctx, how: str = "") -> Result:
    """Erase something."""
    return _act(ctx, DESTRUCTIVE, text, how)
