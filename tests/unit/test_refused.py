"""Which replies mean "not now": the real client's exceptions, and no others."""

import pytest
from prometheus_client import REGISTRY
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.connection import unusable
from haltpoint.runtime.streams.refused import CutShort, RefusedForNow, meaning_of


def counted(code: str) -> float:
    """What /metrics says."""
    return REGISTRY.get_sample_value("haltpoint_refusals_total", {"code": code}) or 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "OOM"),
        (ReadOnlyError("You can't write against a read only replica."), "READONLY"),
        (BusyLoadingError("Redis is loading the dataset in memory"), "LOADING"),
        (ClusterDownError("The cluster is down"), "CLUSTERDOWN"),
        (MasterDownError("Link with MASTER is down"), "MASTERDOWN"),
        (TryAgainError("Multiple keys request during rehashing of slot"), "TRYAGAIN"),
        (ResponseError("NOREPLICAS Not enough good replicas to write."), "NOREPLICAS"),
        (
            ResponseError(
                "MISCONF Valkey is configured to save RDB snapshots, but it is unable to persist"
            ),
            "MISCONF",
        ),
        (ResponseError("BUSY Redis is busy running a script."), "BUSY"),
        (
            ResponseError(
                "UNBLOCKED force unblock from blocking operation, instance state changed"
            ),
            "UNBLOCKED",
        ),
    ],
)
def test_a_refusal_is_told_apart_and_says_why_and_what_to_do(error: RedisError, code: str) -> None:
    before = counted(code)
    refused = meaning_of(error)
    assert isinstance(refused, RefusedForNow)
    assert counted(code) == before + 1
    assert refused.code == code
    assert refused.why in str(refused)
    assert refused.fix
    assert isinstance(refused, UNREACHABLE), (
        "what waits for a server that is away waits for one that refuses"
    )


@pytest.mark.parametrize(
    "error",
    [
        ResponseError("BUSYGROUP Consumer Group name already exists"),
        ResponseError("NOGROUP No such key"),
        ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        ResponseError(""),
        AuthenticationError("invalid username-password pair"),
    ],
)
def test_all_else_is_itself(error: RedisError) -> None:
    assert meaning_of(error) is error


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("User worker has no permissions to run the 'fcall' command", "worker +fcall ~hp:*"),
        ("this user has no permissions to run the 'xgroup|create' command", "USER +xgroup|create"),
        ("No permissions to access a key", "USER ~hp:*"),
        ("this user has no permissions to access one of the keys used as arguments", "USER ~hp:*"),
    ],
)
def test_a_missing_right_is_named_in_the_words_of_redis_and_of_valkey(
    words: str, rule: str
) -> None:
    refused = meaning_of(NoPermissionError(words))
    assert isinstance(refused, RefusedForNow)
    assert (refused.code, refused.why, refused.lasts) == ("NOPERM", words, True)
    assert f"A user of deploy/acl: load that file again; another: ACL SETUSER {rule}" in refused.fix
    assert unusable(refused).code == "HP-025"


@pytest.mark.parametrize("prefix", ["", "ERR "])
def test_a_command_under_another_name_is_named(prefix: str) -> None:
    words = f"{prefix}unknown command 'INFO', with args beginning with: 'everything' "
    refused = meaning_of(ResponseError(words))
    assert isinstance(refused, RefusedForNow)
    assert "unknown command 'INFO'" in refused.why
    assert unusable(refused).code == "HP-011"


@pytest.mark.parametrize(
    "words",
    [
        "ACL failure in script: User w has no permissions to run the 'set' command script",
        "ERR The user executing the script can't run this command or subcommand script: hp10_x",
    ],
)
def test_a_function_that_lacked_a_right_in_its_middle_may_have_written(words: str) -> None:
    cut = meaning_of(ResponseError(words))
    assert isinstance(cut, CutShort)
    assert isinstance(cut, UNREACHABLE), "its caller does not know either whether it was done"


def test_it_is_searched_for_by_the_codes_of_the_server() -> None:
    assert RefusedForNow("OOM").args == (
        "the server refuses writes for now: its memory is full (OOM)",
    )
