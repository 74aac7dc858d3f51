from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.load.partitioner import partition_of
from streamgauge.load.payloads import in_memory, streamed, write_files
from streamgauge.spec.form import FRONT, JSON
from streamgauge.spec.payloads import Payloads

PARTITIONS = 3
line = st.binary(max_size=20).filter(lambda text: b"\n" not in text)
takes = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 30)), min_size=1, max_size=5)


@given(st.lists(line, min_size=1, max_size=12), st.integers(1, 5), takes)
def test_memory_and_file_give_each_record_its_payload(
    payloads: list[bytes], step: int, takes: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        given = Payloads([payloads])
        write_files(given, FRONT, PARTITIONS, Path(folder) / "lines")
        memory = in_memory(given, FRONT, PARTITIONS)
        file = streamed(given, Path(folder) / "lines")
        assert memory.keys is memory.partitions is file.keys is file.partitions is None
        first = 0
        for ahead, count in takes:
            first += ahead
            records = range(first, first + count * step, step)
            wanted = [payloads[record % len(payloads)] for record in records]
            assert list(memory.payloads.take(first, count, step)) == wanted
            assert list(file.payloads.take(first, count, step)) == wanted
            first = records[-1] + 1


@given(st.lists(st.tuples(line, line), min_size=1, max_size=12), st.integers(1, 5), takes)
def test_memory_and_file_give_each_record_its_key_and_partition(
    pairs: list[tuple[bytes, bytes]], step: int, takes: list[tuple[int, int]]
) -> None:
    payloads, keys = ([pair[at] for pair in pairs] for at in (0, 1))
    cut = len(pairs) // 2

    def blocks(of: list[bytes]) -> list[list[bytes]]:
        return [of[:cut], of[cut:]]

    given = Payloads(blocks(payloads), keys=blocks(keys), partition="key", marker=b"m")
    with TemporaryDirectory() as folder:
        write_files(given, FRONT, PARTITIONS, Path(folder) / "lines")
        for sources in (
            in_memory(given, FRONT, PARTITIONS),
            streamed(given, Path(folder) / "lines"),
        ):
            assert sources.keys is not None
            assert sources.partitions is not None
            first = 0
            for ahead, count in takes:
                first += ahead
                records = range(first, first + count * step, step)
                own = [pairs[record % len(pairs)] for record in records]
                assert list(sources.payloads.take(first, count, step)) == [v for v, _ in own]
                assert list(sources.keys.take(first, count, step)) == [key for _, key in own]
                assert list(sources.partitions.take(first, count, step)) == [
                    partition_of(key, PARTITIONS) for _, key in own
                ]
                first = records[-1] + 1


@pytest.mark.parametrize(
    "payloads",
    [
        Payloads([[b"a", b"b\nc"]]),
        Payloads([[b"a", b"b"]], keys=[[b"k", b"k\n"]]),
    ],
)
def test_records_of_several_lines_cannot_be_streamed(payloads: Payloads, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line breaks"):
        write_files(payloads, FRONT, 1, tmp_path / "lines")


@pytest.mark.parametrize(
    ("payloads", "message"),
    [
        (Payloads([[b"a", b"b"]], keys=[[b"k"]]), "1 keys for a block of 2 payloads"),
        (Payloads([[b"a"], [b"b"]], keys=[[b"k"]]), "0 keys for a block of 1 payloads"),
        (Payloads([[b"a"]], keys=[[b"k"], [b"k"]]), "1 keys for a block of 0 payloads"),
        (Payloads([[b"a"]], partition="key", marker=b"m"), "has no keys"),
        (Payloads([[b"a"]], keys=[[b"k"]], partition="key"), "no marker of its own"),
    ],
)
def test_keys_that_do_not_fit_are_refused(payloads: Payloads, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        in_memory(payloads, FRONT, PARTITIONS)


@pytest.mark.parametrize("bad", [b"}", b"", b"x}", b'"x":1', b'"x"}', b'{"x":1}', b',"x":1}'])
@pytest.mark.parametrize("place", ["block", "marker", "markers", "sentinel"])
def test_what_makes_no_json_is_refused(bad: bytes, place: str) -> None:
    good = b'"x":1}'
    payloads = {
        "block": Payloads([[good, bad]]),
        "marker": Payloads([[good]], marker=bad),
        "markers": Payloads([[good]], markers=lambda _, __: [good, bad]),
        "sentinel": Payloads([[good]], sentinel=bad),
    }[place]
    with pytest.raises(UsageError, match=r"cannot follow \{\"id\":…") as caught:
        in_memory(payloads, JSON, 1)
    assert repr(bad) in caught.value.message
    in_memory(Payloads([[good]], marker=good), JSON, 1)
