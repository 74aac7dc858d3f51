"""A run's tables for other tools, as CSV, Parquet or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from streamgauge.errors import NotReady
from streamgauge.results import tables
from streamgauge.results.folder import RunFolder

Format = Literal["csv", "parquet", "json"]
_OPTIONS: Mapping[Format, str] = {
    "csv": "FORMAT csv, HEADER",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "json": "FORMAT json, ARRAY true",
}
_TABLES: Mapping[str, Callable[[RunFolder], pa.Table]] = {
    "trials": tables.trials,
    "latencies": tables.latencies,
    "timeline": tables.timeline,
}


def export(folder: RunFolder, format: Format, target: Path) -> list[Path]:
    """Write trials, latencies and timeline of a run as files into a folder; return them."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        return [
            _copy(read(folder), target / f"{name}.{format}", format)
            for name, read in _TABLES.items()
        ]
    except (OSError, duckdb.IOException) as error:
        raise NotReady(f"cannot write to {target}: {error}", "choose another --output") from None


def _copy(table: pa.Table, file: Path, format: Format) -> Path:
    """Write a draft first, so that the file is complete or absent."""
    draft = file.with_name(f".{file.name}")
    with duckdb.connect() as sql:
        sql.register("exported", table)
        place = str(draft).replace("'", "''")
        sql.execute(f"COPY exported TO '{place}' ({_OPTIONS[format]})")
    draft.replace(file)
    return file
