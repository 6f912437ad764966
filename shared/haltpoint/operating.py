"""What people who operate a deployment ask of its gateway: keys, the audit, figures, workers,
queues, dead letters, losses.
"""

from urllib.parse import quote

from haltpoint.connection import Connection, path_of
from haltpoint.contracts.people.audit import AuditView
from haltpoint.contracts.people.keys import KeyView, MadeKey, NewKey
from haltpoint.contracts.views.chains import Page
from haltpoint.contracts.views.deployment import (
    LetterView,
    LossView,
    QueueState,
    StatsView,
    WorkerView,
)


class Operating(Connection):
    """The calls for admins, and those about workers and queues."""

    async def make_key(self, key: NewKey) -> MadeKey:
        """Make a key; its text is in the answer, this once. For admins, as all about keys."""
        body = key.model_dump(mode="json", exclude_none=True)
        return await self._post(MadeKey, "/v1/keys", json=body)

    async def keys(self) -> tuple[KeyView, ...]:
        """Every key but the admin key, the newest first."""
        page = await self._get(Page[KeyView], "/v1/keys")
        return page.items

    async def revoke_key(self, key_id: str) -> None:
        """End a key. Raises GatewayError `no_such_key`."""
        await self._send("DELETE", path_of("keys", key_id))

    async def audit(self, **query: object) -> Page[AuditView]:
        """A page of the audit, the oldest first; for admins. `query`: since, until, cursor,
        limit.
        """
        return await self._get(Page[AuditView], "/v1/audit", **query)

    async def stats(self, days: int = 7) -> StatsView:
        """The failure history of the last days; for admins."""
        return await self._get(StatsView, "/v1/stats", days=days)

    async def workers(self) -> tuple[WorkerView, ...]:
        """The live tool workers."""
        page = await self._get(Page[WorkerView], "/v1/workers")
        return page.items

    async def queues(self) -> tuple[QueueState, ...]:
        """The queues of all tools."""
        page = await self._get(Page[QueueState], "/v1/queues")
        return page.items

    async def pause(self, queue: str) -> None:
        """Let the workers of a queue take no new calls. Raises GatewayError `no_such_queue`."""
        await self._send("POST", path_of("queues", queue, "pause"))

    async def resume(self, queue: str) -> None:
        """Let the workers of a queue continue. Raises GatewayError `no_such_queue`."""
        await self._send("POST", path_of("queues", queue, "resume"))

    async def losses(self) -> tuple[LossView, ...]:
        """What the server has lost of each partition, until a person accepts it; for admins."""
        page = await self._get(Page[LossView], "/v1/losses")
        return page.items

    async def accept_losses(self) -> None:
        """Confirm that you have seen what is listed."""
        await self._send("POST", "/v1/losses/accept")

    async def letters(self, **query: object) -> Page[LetterView]:
        """A page of dead letters, the oldest first. `query`: reason, cursor, limit."""
        return await self._get(Page[LetterView], "/v1/dlq", **query)

    async def requeue(self, letter: str) -> None:
        """Put a dead letter back into its stream. Raises GatewayError `no_such_letter`,
        `not_needed`.
        """
        await self._send("POST", f"/v1/dlq/{quote(letter)}/requeue")

    async def drop(self, letter: str) -> None:
        """Forget a dead letter. Raises GatewayError `no_such_letter`."""
        await self._send("POST", f"/v1/dlq/{quote(letter)}/drop")
