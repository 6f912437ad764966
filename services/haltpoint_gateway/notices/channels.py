"""Where notices go: a service that Apprise knows, or a webhook of an operator's own."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import httpx

from haltpoint.contracts.people.notices import NotifyRule
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_gateway.notices.words import Letter

_PATIENCE: Final = 15.0
"""Seconds that a service has to take a notice."""


class UndeliveredError(Exception):
    """A service did not take a notice; the message says why."""


class Channel(Protocol):
    """One place that notices go to."""

    async def send(self, notice_id: str, letter: Letter) -> None:
        """Deliver a notice. Raises UndeliveredError."""


class _Apprise:
    def __init__(self, service: Any) -> None:
        self._service = service

    async def send(self, notice_id: str, letter: Letter) -> None:
        """The words, by the service's own means."""
        del notice_id
        delivered = await self._service.async_notify(body=letter.text, title=letter.title)
        if not delivered:
            raise UndeliveredError("the service did not take it; the gateway's log may say why")


class _Webhook:
    def __init__(self, url: str, secret: Any) -> None:
        self._url = url
        self._secret = secret

    async def send(self, notice_id: str, letter: Letter) -> None:
        """The document, signed."""
        body = json.dumps(letter.document)
        now = datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "webhook-id": notice_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._secret.sign(notice_id, now, body),
        }
        try:
            async with httpx.AsyncClient(timeout=_PATIENCE) as http:
                reply = await http.post(self._url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise UndeliveredError(f"{type(error).__name__}: {error}") from error
        if not reply.is_success:
            raise UndeliveredError(f"it answered {reply.status_code}")


def channels_of(rules: Iterable[NotifyRule]) -> dict[str, Channel]:
    """The channel of each rule, by name. Raises HaltpointError HP-006."""
    return {rule.name: channel_of(rule) for rule in rules}


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
        raise _unusable(rule, "its `url` is no address that Apprise knows", fix)
    return _Apprise(service)


def _signed(rule: NotifyRule) -> Channel:
    from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

    name = str(rule.secret_env)
    secret = os.environ.get(name, "")
    try:
        return _Webhook(str(rule.webhook), Webhook(secret))
    except (EmptyWebhookSecretError, ValueError) as error:
        fix = "Set it to whsec_ and 24 bytes or more in base64"
        raise _unusable(rule, f"{name} holds no secret that can sign", fix) from error


def _unusable(rule: NotifyRule, why: str, fix: str) -> HaltpointError:
    return HaltpointError("HP-006", f"the notices of {rule.name!r} go nowhere", why, fix)
