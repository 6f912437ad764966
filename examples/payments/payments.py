"""Tools that pay people. The bank keeps its payments in a file, BANK_FILE."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from haltpoint import (
    NOT_HAPPENED,
    Ctx,
    FromResult,
    Happened,
    Option,
    Retry,
    ToolResult,
    tool,
)

PAYEES = {"u-1": "Sam Ash", "u-2": "Sam Birch", "u-3": "Kim Cole"}


class Bank:
    """Payments as lines of a file, each with the key under which it was made."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def payments(self) -> list[dict[str, object]]:
        """All that were made, in their order."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [json.loads(line) for line in lines]

    def pay(self, key: str, payee: str, cents: int) -> None:
        """Pay, each time it is called."""
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "payee": payee, "cents": cents}) + "\n")


@asynccontextmanager
async def lifespan() -> AsyncIterator[Bank]:
    yield Bank(Path(os.environ["BANK_FILE"]))


@tool(read_only=True, may_clarify=True)
def find_payee(name: str, ctx: Ctx[Bank]) -> ToolResult[dict[str, str]]:
    """Find a person who may be paid."""
    found = {id: payee for id, payee in PAYEES.items() if name.lower() in payee.lower()}
    if len(found) == 1:
        return ctx.ok({"payee_id": next(iter(found))})
    options = [Option(id=id, title=payee, value={"payee_id": id}) for id, payee in found.items()]
    return ctx.clarify("payee", f"Which {name}?", options)


def was_paid(key: str, ctx: Ctx[Bank]) -> object:
    """Ask the bank whether a payment happened whose worker died."""
    if any(payment["key"] == key for payment in ctx.deps.payments()):
        return Happened({"paid": True})
    return NOT_HAPPENED


@tool(reconcile=was_paid, says="Paid {cents} cents to {payee_id}")
def pay(
    payee_id: Annotated[str, FromResult("find_payee.payee_id")], cents: int, ctx: Ctx[Bank]
) -> dict[str, bool]:
    """Pay a person whom find_payee has found."""
    ctx.deps.pay(ctx.idempotency_key, payee_id, cents)
    return {"paid": True}


@tool(idempotent=True, retry=Retry(attempts=3, first="10m", most="1h"), says="Mailed {words}")
def mail(words: str, ctx: Ctx[Bank]) -> dict[str, str]:
    """Mail words to the bank, whose server is away for the first two attempts."""
    if ctx.attempt < 3:
        raise ConnectionError("the mail server does not answer")
    return {"mailed": words}
