"""Addresses as people see them: without passwords."""

import re
from typing import Final
from urllib.parse import unquote_plus

from haltpoint.contracts.secrets import STARS, names_secret, without_secrets

_PARTS: Final = re.compile(r"((?:[\w+.-]+:/*)?)([^?#]*)(.*)", re.DOTALL)
"""The scheme, the login and the hosts, the options."""

_OPTION: Final = re.compile(r"([^?#&;=]+)=([^&;#]*)")


def masked(url: str) -> str:
    """An address with stars in place of its passwords, wherever they are and however they are
    written. One with an `@` in its options, where a login may end too, shows no more than its
    scheme.
    """
    scheme, place, options = re.match(_PARTS, url).groups()  # type: ignore[union-attr]
    if "@" in options:
        return f"{scheme}{STARS}"
    login, at, hosts = place.rpartition("@")
    user, colon, _ = login.partition(":")
    shown = f"{user if colon else ''}:{STARS}@" if at else ""
    return f"{scheme}{shown}{hosts}{_OPTION.sub(_masked_option, options)}"


def _masked_option(option: re.Match[str]) -> str:
    name, text = map(unquote_plus, option.groups())
    is_secret = names_secret(name) or without_secrets(text) != text
    return f"{option[1]}={STARS}" if is_secret else option[0]
