"""Which hosts are this machine: no proxy leads there, whatever the proxy variables of the shell
say.
"""

import ipaddress
import socket
from contextlib import suppress

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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
