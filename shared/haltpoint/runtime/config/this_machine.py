"""Which hosts are this machine: no proxy leads there, whatever the proxy variables of the shell
say.
"""

import ipaddress


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is loopback, by its name or its address."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
