"""Names of keys: everything that belongs to a chain bears its partition."""

from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from haltpoint.contracts.base import action_id, request_id, thought_id
from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.streams.topology import Topology


@given(st.text(alphabet="0123456789abcdef", min_size=1), st.sampled_from([1, 2, 4, 16, 256]))
def test_the_partition_is_the_checksum_of_redis_cluster(chain: str, partitions: int) -> None:
    # 16384 is divisible by these, so the slot tells the same.
    assert Topology(partitions).partition(chain) == key_slot(chain.encode()) % partitions


def test_all_that_a_chain_owns_lies_with_its_root() -> None:
    topology, root = Topology(256), "01a20052848577c18490bae40aa7da20"
    child = f"{root}~2"
    ids = [child, action_id(child, "find", 1), request_id(root, 3), thought_id(root, "plan", 1, 2)]
    assert {topology.partition(one) for one in ids} == {topology.partition(root)}


def test_keys_are_named_as_documented() -> None:
    topology = Topology(4)
    assert topology.key(3, "index", "status", "failed") == "hp:{3}:index:status:failed"
    assert topology.stream(0, Stream.EVENTS) == "hp:{0}:events"
    assert topology.stream(1, Stream.TOOLS, "contacts") == "hp:{1}:tools:contacts"
    assert topology.key_of("chain", "abc") == f"hp:{{{topology.partition('abc')}}}:chain:abc"
