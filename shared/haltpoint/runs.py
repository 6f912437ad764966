"""One chain as its submitter holds it: its events, its questions, its result."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView, EventView, RequestView
from haltpoint.contracts.views.steps import ActionView
from haltpoint.runtime.views.question import asked_in

if TYPE_CHECKING:
    from haltpoint.client import Client


class NotEndedError(TimeoutError):
    """The chain has not ended: the time is over, or it waits for a person. `requests` are its open
    questions.
    """

    def __init__(self, chain_id: str, requests: Sequence[RequestView]) -> None:
        self.requests = tuple(requests)
        state = "waits for a person" if requests else "has not ended yet"
        words = [f"chain {chain_id} {state}"]
        for request in requests:
            name = request.id
            words.append(request.question)
            words.append(f"Answer it: client.answer({name!r}, ...), or haltpoint answer {name}")
        super().__init__("\n".join(words))


@dataclass(frozen=True, slots=True)
class Result:
    """How a chain ended: completed, failed or cancelled; its answer with the deeds, and all of it
    in `chain`.
    """

    status: str
    answer: FinalAnswer
    chain: ChainView

    def calls(self, tool: str) -> list[ActionView]:
        """The actions of one tool, in the order of their steps."""
        return [
            action for step in self.chain.steps for action in step.actions if action.tool == tool
        ]


class Run:
    """One chain as its submitter holds it."""

    def __init__(self, client: "Client", chain_id: str) -> None:
        self._client = client
        self.id = chain_id

    async def events(self, after: str | None = None) -> AsyncIterator[EventView]:
        """Every event of the chain from the start (or behind the id `after`), as it happens, to the
        final one.

        A broken stream is taken up again where it broke off.
        """
        async for event in self._client.events(self.id, after):
            yield event

    async def result(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 - the error names the question
        """Wait for the end, at most `timeout` seconds. A failed chain is a result like any other.

        Raises NotEndedError when the time is over; it names the questions that are open.
        """
        try:
            async with asyncio.timeout(timeout):
                async for _ in self.events():
                    pass
        except TimeoutError:
            raise NotEndedError(self.id, await self.requests()) from None
        chain = await self._client.chain(self.id)
        return Result(chain.status, chain.answer or FinalAnswer(), chain)

    async def result_unless_asked(self, look_every: float = 1.0) -> Result:
        """Wait for the end. Raises NotEndedError as soon as the chain waits for a person."""
        ended = asyncio.ensure_future(self.result())
        try:
            while not (await asyncio.wait({ended}, timeout=look_every))[0]:
                if asked := await self.requests():
                    raise NotEndedError(self.id, asked)
            return await ended
        finally:
            ended.cancel()

    async def requests(self) -> list[RequestView]:
        """The open questions of the chain and of all chains below it."""
        asked = asked_in(await self._client.chain(self.id))
        return [request for request in asked if request.is_open]

    async def expects_request(self, kind: RequestKind | str | None = None) -> RequestView:
        """Wait for an open question (of this kind). Raises LookupError when the chain ends without
        one.
        """
        async for event in self.events():
            if event.type == "request.opened":
                for request in await self.requests():
                    if kind is None or request.kind == kind:
                        return request
        raise LookupError(
            f"chain {self.id} ended without a request{f' of kind {kind}' if kind else ''}"
        )

    async def cancel(self, reason: str = "") -> None:
        """Stop the chain."""
        await self._client.cancel(self.id, reason)
