import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "signed"),
    [  # from the tests of Kafka itself
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_kafka_does(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % 2**32


@given(st.binary(max_size=30), st.integers(1, 50))
def test_a_key_always_has_the_same_partition(key: bytes, partitions: int) -> None:
    partition = partition_of(key, partitions)
    assert 0 <= partition < partitions
    assert partition == partition_of(bytes(bytearray(key)), partitions)


def test_keys_are_spread_over_all_partitions() -> None:
    found = [partition_of(b"sensor-%d" % number, 8) for number in range(8000)]
    assert all(800 < found.count(partition) < 1200 for partition in range(8))
