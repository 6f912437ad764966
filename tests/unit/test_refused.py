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
from haltpoint.runtime.streams.refused import RefusedForNow, refused_for_now


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
    refused = refused_for_now(error)
    assert refused is not None
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
        ResponseError("unknown command 'X'"),
        ResponseError(""),
        AuthenticationError("invalid username-password pair"),
        NoPermissionError("this user has no permissions"),
    ],
)
def test_all_else_is_none(error: RedisError) -> None:
    assert refused_for_now(error) is None


def test_it_is_searched_for_by_the_codes_of_the_server() -> None:
    assert RefusedForNow("OOM").args == (
        "the server refuses writes for now: its memory is full (OOM)",
    )
