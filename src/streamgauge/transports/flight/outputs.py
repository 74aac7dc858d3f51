"""What an engine sends back to the harness's queues: stamped on arrival and kept in a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.measure.columns import RECORDS

FILE = "records/out.parquet"
_ROW_GROUP = 50_000


class Outputs:
    """The outputs of one trial, in the order of their arrival."""

    def __init__(self, folder: Path, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self.count = 0
        self.newest: tuple[int, str] | None = None
        """Time, epoch milliseconds, and value of the newest."""
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._kept: list[pa.RecordBatch] = []
        self._kept_rows = 0
        (folder / FILE).parent.mkdir(exist_ok=True)
        self._writer = pq.ParquetWriter(folder / FILE, RECORDS, compression="zstd")

    def take(self, batch: pa.RecordBatch) -> None:
        """Take outputs in; they were emitted at this moment."""
        rows, now_ms = len(batch), self._clock_ns() // 1_000_000
        if not rows:
            return
        values = batch.column("value")
        if values.null_count:
            raise ValueError("an output must have a value")
        with self._lock:
            offsets = np.arange(self.count, self.count + rows)
            times = np.full(rows, now_ms)
            partitions = np.zeros(rows, dtype=np.int32)
            self._kept.append(
                pa.record_batch(
                    [pa.array(partitions), pa.array(offsets), pa.array(times), values],
                    schema=RECORDS,
                )
            )
            self.count += rows
            self._kept_rows += rows
            self.newest = (now_ms, values[rows - 1].as_py().decode(errors="replace"))
            if self._kept_rows >= _ROW_GROUP:
                self._write()

    def close(self) -> None:
        """Write what is left; then the file can be read."""
        with self._lock:
            self._write()
            self._writer.close()

    def _write(self) -> None:
        if self._kept:
            self._writer.write_table(pa.Table.from_batches(self._kept), _ROW_GROUP)
            self._kept, self._kept_rows = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
