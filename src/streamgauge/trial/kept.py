"""What is kept of a trial besides its records: business tables, latencies, examples of errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from streamgauge.validation.validator import Validation

_EXAMPLES = "examples.parquet"


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Keep what the answers need beyond the topics."""
    (folder / "validation").mkdir(exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / "validation" / f"{name}.parquet", compression="zstd")


def read_tables(folder: Path) -> dict[str, pa.Table]:
    """Read back what `write_tables` kept."""
    files = (folder / "validation").glob("*.parquet")
    return {file.stem: pq.read_table(file) for file in files if file.name != _EXAMPLES}


def write_validation(folder: Path, validation: Validation) -> None:
    """Write every latency, and the first examples of each kind of error."""
    (folder / "validation").mkdir(exist_ok=True)
    pq.write_table(validation.latencies, folder / "latency.parquet", compression="zstd")
    pq.write_table(validation.examples, folder / "validation" / _EXAMPLES)
