from itertools import chain
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import sensor_file
from streamgauge.workloads.espbench.sensors import lines


def from_file(path: Path, workplace: int, count: int | None = None) -> list[bytes]:
    return list(chain.from_iterable(sensor_file.blocks(path, workplace, count)))


@pytest.fixture
def recorded() -> list[bytes]:
    """Give lines as in the published file: without the workplace id."""
    return [line.rpartition(b"\t")[0] for line in lines(10, 1, seed=3)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sensors.txt"


def test_workplace_id_is_appended(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(b"\n".join(recorded) + b"\n")
    assert from_file(file, 3) == [line + b"\t3" for line in recorded]


def test_windows_line_ends_and_blank_lines_are_tolerated(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(b"\r\n".join([*recorded, b"", b""]))
    assert from_file(file, 1) == [line + b"\t1" for line in recorded]


def test_last_line_needs_no_line_end(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(b"\n".join(recorded))
    assert len(from_file(file, 1)) == len(recorded)


def test_reads_no_further_than_asked(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(b"\n".join([*recorded, b"not a sensor line"]))
    assert len(from_file(file, 1, count=10)) == 10


def test_a_long_file_is_read_piece_by_piece(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(b"\n".join([*recorded * 2_000, b"not a sensor line"]))
    blocks = sensor_file.blocks(file, 1)
    first, second = next(blocks), next(blocks)
    assert [*first, *second] == [line + b"\t1" for line in recorded * 2_000][: 2 * len(first)]
    assert len(first) == len(second) < 10_000
    with pytest.raises(UsageError, match="line 20001"):
        list(blocks)


def test_negative_power_is_a_number(file: Path, recorded: list[bytes]) -> None:
    line = _with(recorded[0], 2, b"-12")
    file.write_bytes(line)
    assert from_file(file, 1) == [line + b"\t1"]


@pytest.mark.parametrize("column", [2, 3, 4])
@pytest.mark.parametrize("value", [b"", b"12.5", b"1e4", b"abc", b" 12", b"1_000", b"0x10"])
def test_power_that_is_no_whole_number_is_refused(
    file: Path, recorded: list[bytes], column: int, value: bytes
) -> None:
    file.write_bytes(b"\n".join([*recorded, _with(recorded[0], column, value)]))
    with pytest.raises(UsageError) as caught:
        from_file(file, 1)
    assert f"{file}, line 11: mf0{column - 1} is {value.decode()!r}" in caught.value.message


@pytest.mark.parametrize("columns", [1, 55, 57])
def test_another_number_of_columns_is_refused(
    file: Path, recorded: list[bytes], columns: int
) -> None:
    fields = [*recorded[0].split(b"\t"), b"1"]
    file.write_bytes(b"\n".join([*recorded[:2], b"\t".join(fields[:columns])]))
    with pytest.raises(UsageError) as caught:
        from_file(file, 1)
    assert f"{file}, line 3: {columns} columns instead of 56" in caught.value.message
    assert "DEBS 2012" in (caught.value.remedy or "")


def test_line_without_time_is_refused(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(_with(recorded[0], 0, b""))
    with pytest.raises(UsageError, match="line 1: ts or index is missing"):
        from_file(file, 1)


def test_binary_file_is_refused(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 1_000)
    with pytest.raises(UsageError, match="line 1: binary data"):
        from_file(file, 1)


def test_binary_bytes_in_the_right_columns_are_refused(file: Path, recorded: list[bytes]) -> None:
    file.write_bytes(_with(recorded[0], 40, b"\0"))
    with pytest.raises(UsageError, match="line 1: binary data"):
        from_file(file, 1)


@pytest.mark.parametrize("content", [b"", b"\n\r\n"])
def test_empty_file_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"sensors\.txt is empty"):
        from_file(file, 1)


def test_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r"sensors\.txt: No such file"):
        from_file(file, 1)


def test_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        from_file(tmp_path, 1)


def _with(line: bytes, column: int, value: bytes) -> bytes:
    fields = line.split(b"\t")
    fields[column] = value
    return b"\t".join(fields)
