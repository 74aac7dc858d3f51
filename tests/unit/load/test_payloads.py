from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.load.payloads import Memory, Streamed, write_lines

payload = st.binary(max_size=20).filter(lambda text: b"\n" not in text)
takes = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 30)), min_size=1, max_size=5)


@given(st.lists(payload, min_size=1, max_size=12), st.integers(1, 5), takes)
def test_memory_and_file_give_each_record_its_payload(
    payloads: list[bytes], step: int, takes: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        write_lines(payloads, Path(folder) / "lines")
        memory, streamed = Memory(payloads), Streamed(Path(folder) / "lines")
        first = 0
        for ahead, count in takes:
            first += ahead
            records = range(first, first + count * step, step)
            wanted = [payloads[record % len(payloads)] for record in records]
            assert list(memory.take(first, count, step)) == wanted
            assert list(streamed.take(first, count, step)) == wanted
            first = records[-1] + 1


def test_payloads_of_several_lines_cannot_be_streamed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line breaks"):
        write_lines([b"a", b"b\nc"], tmp_path / "lines")
