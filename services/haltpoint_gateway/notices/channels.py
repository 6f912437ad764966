"""Where notices go: a service that Apprise knows, or a webhook of an operator's own."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from haltpoint.contracts.people.notices import NotifyRule
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_gateway.notices.words import Letter

_PATIENCE: Final = 15.0
"""Seconds that a service has to take a notice."""
_APART: Final = 1.2
"""Seconds that Apprise waits from one notice to the next, as it does for Slack; for mail it would
be 5.5.
"""

Channel = Callable[[Letter], Coroutine[Any, Any, None]]
"""Delivers a letter. Raises UndeliveredError, or whatever an address or an answer leads to."""


class UndeliveredError(Exception):
    """A service did not take a notice; the message says why."""


def channel_of(rule: NotifyRule) -> Channel:
    """Where a rule's notices go. Raises HaltpointError HP-006."""
    try:
        return _signed(rule) if rule.url is None else _service(rule, rule.url)
    except ImportError as error:
        fix = "Install them: pip install 'haltpoint[notices]'"
        raise _unusable(rule, f"{error.name} is not installed", fix) from error


def _service(rule: NotifyRule, url: str) -> Channel:
    import apprise

    service = apprise.Apprise()
    if not service.add(url):
        fix = "See https://appriseit.com/services/ for the addresses of services"
        raise _unusable(rule, "Apprise does not know the address in its `url`", fix)
    for server in service:
        server.request_rate_per_sec = _APART

    async def send(letter: Letter) -> None:
        if not await service.async_notify(letter.text, letter.title):
            raise UndeliveredError("the service did not accept it; the gateway's log may say why")

    return send


def _signed(rule: NotifyRule) -> Channel:
    from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

    name = str(rule.secret_env)
    try:
        secret = Webhook(os.environ.get(name, ""))
    except (EmptyWebhookSecretError, ValueError) as error:
        fix = "Set it to whsec_ and 24 bytes or more in base64"
        raise _unusable(rule, f"{name} has no secret that can sign", fix) from error
    http = httpx.AsyncClient(headers={"Connection": "close"})

    async def send(letter: Letter) -> None:
        body = json.dumps(letter.document)
        notice_id = letter.document["id"]
        now = datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "webhook-id": notice_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": secret.sign(notice_id, now, body),
        }
        async with asyncio.timeout(_PATIENCE):
            reply = await http.post(str(rule.webhook), content=body, headers=headers)
        if not reply.is_success:
            raise UndeliveredError(f"it answered {reply.status_code}")

    return send


def _unusable(rule: NotifyRule, why: str, fix: str) -> HaltpointError:
    return HaltpointError("HP-006", f"the notices of {rule.name!r} go nowhere", why, fix)
