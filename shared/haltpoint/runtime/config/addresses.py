"""Addresses as people see them, without passwords; and which hosts are this machine: no proxy leads
there, whatever the proxy variables of the shell say.
"""

import ipaddress
import re
import socket
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_plus

from haltpoint.contracts.secret_forms import names_secret
from haltpoint.contracts.secrets import STARS, without_secrets

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


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def url_of(host: str, port: int) -> str:
    """Where a server at this host and port is reached."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is loopback, by its name or its address."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(name: str) -> _Address | None:
    """The address that a name spells, in each way that connecting to it takes, as 127.1 or
    0x7f000001; None when it spells none.
    """
    with suppress(OSError, ValueError):
        return ipaddress.IPv4Address(socket.inet_aton(name))
    with suppress(ValueError):
        address = ipaddress.IPv6Address(name)
        return address.ipv4_mapped or address
    return None
