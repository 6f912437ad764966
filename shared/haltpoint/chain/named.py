"""The names of parameters that say to whom or where: one table, which the policy file changes (CONTRACT C13)."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from haltpoint.chain.plain_text import words_of
from haltpoint.contracts.policy import Targets

TABLE: Final = (
    *("id", "*_id", "*_ids", "to", "recipient", "recipients", "cc", "bcc", "email", "user", "channel", "url", "iban"),
    *("account", "path", "participants"),
)


def is_named(targets: Targets | None = None) -> Callable[[str], bool]:
    """The test of a name: `recipientId` and `recipient-id` are `recipient_id`."""
    return _named((), ()) if targets is None else _named(targets.add, targets.remove)


@lru_cache(maxsize=64)
def _named(add: tuple[str, ...], remove: tuple[str, ...]) -> Callable[[str], bool]:
    added, removed = ([words_of(glob) for glob in globs] for globs in ((*TABLE, *add), remove))

    @lru_cache(maxsize=4096)
    def named(name: str) -> bool:
        words = words_of(name)
        return any(fnmatchcase(words, glob) for glob in added) and not any(fnmatchcase(words, glob) for glob in removed)

    return named
