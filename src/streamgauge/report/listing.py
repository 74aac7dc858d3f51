"""Runs as lines: a thousand of them at once, so without the machinery of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamgauge.results.folder import RunFolder, RunRecord

_HEADER = ("run", "started (UTC)", "status", "trials", "what")


def run_lines(runs: Sequence[tuple[RunFolder, RunRecord]]) -> Iterator[str]:
    """List runs, a line each, under a header."""
    rows = [_HEADER, *(_row(folder, record) for folder, record in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    for *cells, what in rows:
        aligned = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield "  ".join((*aligned, what))


def _row(folder: RunFolder, record: RunRecord) -> tuple[str, ...]:
    spec = record.spec
    tags = "".join(f" · {key}={value}" for key, value in spec.tags.items())
    what = f"{spec.workload}/{','.join(spec.queries)} {spec.on_engine}{tags}"
    started = record.started[:16].replace("T", " ")
    number = str(folder.count_finished())
    return (_printable(record.id), started, record.status, number, _printable(what))


def _printable(text: str) -> str:
    """Let no name move the cursor."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "�" for letter in text)
