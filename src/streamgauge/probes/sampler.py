"""A thread that asks every probe once a second and keeps the answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, float]
Probe = Callable[[float], Mapping[str, float]]

_log = logging.getLogger(__name__)


class Sampler:
    """Samples at 1 Hz between entering and leaving the context."""

    def __init__(self, probes: Mapping[str, Probe], period_s: float = 1.0) -> None:
        self.rows: list[Row] = []
        self._probes = dict(probes)
        self._period_s = period_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._broken: set[str] = set()

    @property
    def newest(self) -> Row:
        """The last sample."""
        return self.rows[-1] if self.rows else {}

    def write(self, file: Path) -> None:
        """Write the timeline; a value that was not sampled at some second is null."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        columns = {name: [row.get(name) for row in self.rows] for name in names}
        pq.write_table(pa.table(columns), file)

    def stop(self) -> None:
        """Take no more samples; returns when no probe is running any more.

        Then what the probes use may be closed, which would break a running probe.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        next_s = time.monotonic()
        while not self._stop.wait(max(0.0, next_s - time.monotonic())):
            next_s += self._period_s
            self.rows.append(self._sample())

    def _sample(self) -> Row:
        now_s = time.time()
        row: Row = {"at": now_s}
        for name, probe in self._probes.items():
            if self._stop.is_set():
                break
            try:
                row.update(probe(now_s))
            except Exception as error:
                if name not in self._broken:
                    self._broken.add(name)
                    _log.warning("probe %s failed: %s", name, error)
        return row

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
