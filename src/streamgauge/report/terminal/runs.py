"""Runs as lines: a thousand of them at once, so without the machinery of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamgauge.results.folder import RunFolder, RunRecord, printable
from streamgauge.spec.values import Json

_HEADER = ("run", "started (UTC)", "status", "trials", "what")


def run_lines(runs: Sequence[tuple[RunFolder, RunRecord]]) -> Iterator[str]:
    """List runs, a line each, under a header."""
    rows = [_HEADER, *(_row(folder, record) for folder, record in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    for *cells, what in rows:
        aligned = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield "  ".join((*aligned, what))


def _in_line(text: str) -> str:
    return printable(text).replace("\n", "�").replace("\t", "�")


def entry(folder: RunFolder, record: RunRecord) -> dict[str, Json]:
    """Return what a line says about a run, for scripts."""
    spec = record.spec
    return {
        "run": record.id,
        "path": str(folder.path.absolute()),
        "started": record.started,
        "status": record.status,
        "trials": folder.count_finished(),
        "workload": spec.workload,
        "queries": list(spec.queries),
        "engine": spec.engine,
        "experiment": spec.experiment,
        "tags": dict(spec.tags),
    }


def _row(folder: RunFolder, record: RunRecord) -> tuple[str, ...]:
    spec = record.spec
    tags = "".join(f" · {key}={value}" for key, value in spec.tags.items())
    what = f"{spec.workload}/{','.join(spec.queries)} {spec.on_engine}{tags}"
    started = record.started[:16].replace("T", " ")
    number = str(folder.count_finished())
    return (_in_line(record.id), started, record.status, number, _in_line(what))
