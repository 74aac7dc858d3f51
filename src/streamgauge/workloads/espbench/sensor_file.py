"""Read sensor lines from the file that was published for the DEBS 2012 Grand Challenge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from streamgauge.errors import UsageError

FILE_COLUMNS = 56
_LONGEST_LINE = 4_096
_LINES_PER_BLOCK = 8_192
_POWER_COLUMNS = ("mf01", "mf02", "mf03")
_INTEGER = re.compile(rb"-?[0-9]{1,9}")
_LINE_HEAD = re.compile(rb"[^\t]+\t[^\t]+(?:\t-?[0-9]{1,9}){3}\t")
_REMEDY = (
    "give the uncompressed text file of the DEBS 2012 Grand Challenge: "
    f"{FILE_COLUMNS} TAB-separated columns, mf01 to mf03 whole numbers; "
    "or leave `sensors` unset for synthetic data"
)


def blocks(path: Path, workplace: int, count: int | None = None) -> Iterator[list[bytes]]:
    """Read at most `count` lines, some at a time, and append the workplace id to each.

    Args:
        path: The recording; line ends may be LF or CRLF, blank lines are skipped.
        workplace: The id to append as column 57.
        count: Read no further than this many lines.

    Raises:
        UsageError: The file is not there or is not such a recording; names the line.
    """
    suffix = b"\t%d" % workplace
    found = False
    try:
        with path.open("rb") as file:
            lines = (line + suffix for line in _checked_lines(path, file, count))
            while block := list(islice(lines, _LINES_PER_BLOCK)):
                found = True
                yield block
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot read sensor file {path}: {reason}", _REMEDY) from error
    if not found:
        raise UsageError(f"sensor file {path} is empty", _REMEDY)


def _checked_lines(path: Path, file: BinaryIO, count: int | None) -> Iterator[bytes]:
    taken = number = 0
    while (count is None or taken < count) and (raw := file.readline(_LONGEST_LINE)):
        number += 1
        line = raw.rstrip(b"\r\n")
        if not line:
            continue
        if line.count(b"\t") != FILE_COLUMNS - 1 or not _LINE_HEAD.match(line) or _binary(line):
            raise UsageError(f"sensor file {path}, line {number}: {_reason(line)}", _REMEDY)
        taken += 1
        yield line


def _binary(line: bytes) -> bool:
    return not line.isascii() or b"\0" in line


def _reason(line: bytes) -> str:
    """Say what is wrong with a line that failed a check."""
    if _binary(line):
        return "binary data, not text"
    fields = line.split(b"\t")
    if len(fields) != FILE_COLUMNS:
        return f"{len(fields)} columns instead of {FILE_COLUMNS}"
    for name, value in zip(_POWER_COLUMNS, fields[2:5], strict=True):
        if not _INTEGER.fullmatch(value):
            return f"{name} is {value.decode()!r}, not a whole number"
    return "ts or index is missing"
