"""What each service may do on the server, and whether the user of ours may do as much (R13).

`users.acl` has a user for each service, with the least that it needs; an operator loads it
(deploy/acl), or has users of their own. Either way each service asks about each of these rights
before it starts, and while it runs: a function runs with its user's rights, and one that lacks a
right in its middle would leave half of its writes.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Final
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis

from haltpoint.runtime.streams.refused import RefusedForNow, lacking
from haltpoint.runtime.streams.servers.cluster import ClusterRedis
from haltpoint.runtime.streams.topology import PREFIX, Topology

_FORMS: Final = {
    "fcall": "{} 1 {}",
    "xreadgroup": "{} GROUP g c STREAMS {} >",
    "xread": "{} STREAMS {} 0",
}
"""Commands whose key is not their first argument, as far as it takes to find it there."""

Right = tuple[str, str]
"""A command, as the list of a user names it, and a kind of key, or ''."""


@cache
def needed(who: str) -> tuple[Right, ...]:
    """What `users.acl` allows to this user; to all of them, when it has none of this name. Each
    command and each kind of key once or twice: a key goes with the first two commands of its part,
    which read and write.
    """
    listed = (files("haltpoint.runtime.service") / "users.acl").read_text()
    text = listed.replace("PREFIX_", PREFIX)
    own = re.findall(f"^user {re.escape(who)} .*", text, re.MULTILINE)
    allowed: dict[Right, None] = {}
    for part in re.split(r"[()\n]", own[0] if own else text):
        commands = re.findall(r"\+(\S+)", part)
        keys = re.findall(r"~(\S+)", part) or [""]
        pairs = *product(commands, keys[:1]), *product(commands[:2], keys)
        allowed |= dict.fromkeys(pairs)
    return tuple(allowed)


async def look(redis: Redis, topology: Topology, who: str, url: str) -> str:
    """What was seen: the address' user has all rights of this service, on each server. Without a
    service those of the user's name, or all. Raises RefusedForNow when not, and redis-py's errors.
    """
    user = unquote(urlsplit(url).username or "default")
    rights = needed(who or user)
    is_cluster = isinstance(redis, ClusterRedis)
    for partition in range(topology.partitions if is_cluster else 1):
        prefix = topology.key(partition, "")
        asked = [_in_words(right, prefix) for right in rights]
        lacks = await redis.fcall(f"{PREFIX}rights", 1, f"{prefix}events", *asked)
        lost = [rights[number - 1] for number, _ in lacks]
        if any(code == b"NOCOMMAND" for _, code in lacks):
            raise RefusedForNow("NOCOMMAND", f"it has no {_some(name for name, _ in lost)}")
        if lost:
            commands, keys = zip(*lost, strict=True)
            right = " ".join(f"+{name}" for name in dict.fromkeys(commands))
            why = f"user {user} may not run {_some(commands)} on {_some(keys)}"
            raise lacking(user, why, f"{right} ~hp:*")
    return f"user {user} has all rights that are needed"


def _in_words(right: Right, prefix: str) -> str:
    command, key = right
    form = _FORMS.get(command.partition("|")[0], "{} {}")
    return form.format(command.replace("|", " "), key.replace("hp:{*}:", prefix))


def _some(words: Iterable[str]) -> str:
    """Four of them, and how many more."""
    names = list(dict.fromkeys(words))
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
