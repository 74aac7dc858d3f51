"""What the charts show of a trial's latencies: aggregated here, to keep millions out of a page.

Latencies are whole milliseconds, as the clocks report them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.measure.latency import SINCE, is_measured, passed_ms
from streamgauge.measure.matching import LATENCIES
from streamgauge.measure.percentiles import curve
from streamgauge.report.charts.data.time_frame import Frame
from streamgauge.spec.values import Json

Integers = npt.NDArray[np.int64]

SERIES = ("p50", "p95", "p99", "max")
_PER_MILLE = {"p50": 500, "p95": 950, "p99": 990}

# The smallest value with at least p of its bin at or below it, if the bin is large enough for p.
_PERCENTILES = """
    WITH counted AS (
        SELECT floor((intended - {origin}) / {width})::BIGINT AS bin, emitted - {since} AS ms,
               count(*) AS n
        FROM outputs WHERE {since} IS NOT NULL GROUP BY ALL),
    summed AS (
        SELECT bin, ms, sum(n) OVER (PARTITION BY bin ORDER BY ms) AS upto,
               sum(n) OVER (PARTITION BY bin) AS total
        FROM counted)
    SELECT bin, {percentiles}, max(ms) AS max FROM summed GROUP BY bin ORDER BY bin
"""
_PERCENTILE = (
    "CASE WHEN any_value(total) * {rest} >= 1000"
    " THEN min(ms) FILTER (upto * 1000 >= total * {per_mille}) END AS {name}"
)


@dataclass(frozen=True)
class Histogram:
    """How many outputs took how long."""

    ms: Integers
    """Ascending."""
    count: Integers

    @property
    def total(self) -> int:
        """How many outputs there are."""
        return int(self.count.sum())


class Latencies:
    """All latencies of one trial."""

    def __init__(self, file: Path, frame: Frame, window_ms: int | None) -> None:
        columns = ["intended", "appended", "emitted", "window_end", "event", "ingested"]
        # The first markers come before the load, to an engine that is still cold.
        begin_ms = frame.origin_ms + round(frame.start_s * 1000)
        loaded = pc.field("intended") >= begin_ms
        self.table: pa.Table = pq.read_table(
            file, columns=columns, filters=loaded, schema=LATENCIES
        )
        self._frame = frame
        self._window_ms = window_ms or 0
        self._sql = duckdb.connect()
        self._sql.register("outputs", self.table)

    def kinds(self) -> list[str]:
        """Return the kinds of latency that the outputs have."""
        return [
            name
            for name, columns in SINCE.items()
            if any(self.table[each].null_count < len(self.table) for each in columns)
        ]

    def over_time(self, kind: str) -> dict[str, Json]:
        """Return percentiles per bin, by the time at which the latest input was due."""
        percentiles = ", ".join(
            _PERCENTILE.format(name=name, per_mille=p, rest=1000 - p)
            for name, p in _PER_MILLE.items()
        )
        rows = self._query(_PERCENTILES, since=_since(kind), percentiles=percentiles)
        return {"t": self._times(rows["bin"]), **{name: rows[name].to_pylist() for name in SERIES}}

    def singles(self, most: int) -> dict[str, Json]:
        """Return single latencies, evenly thinned, and the slowest of every bin."""
        slowest = self._query(
            "SELECT arg_max(intended, emitted - appended) AS intended,"
            " max(emitted - appended) AS ms FROM outputs"
            " GROUP BY floor((intended - {origin}) / {width})"
        )
        step = max(1, math.ceil(len(self.table) / max(1, most - len(slowest))))
        some = self.table.take(np.arange(0, len(self.table), step))
        due, took = some["intended"].to_numpy(), some["emitted"].to_numpy()
        took = took - some["appended"].to_numpy()
        if step > 1:
            due = np.concatenate([due, slowest["intended"].to_numpy()])
            took = np.concatenate([took, slowest["ms"].to_numpy()])
        at_s = np.round((due - self._frame.origin_ms) / 1000, 2)
        order = np.argsort(at_s, kind="stable")
        return {"t": at_s[order].tolist(), "latency": took[order].tolist()}

    def emitted(self) -> dict[str, Json]:
        """Return the outputs per second, by the time at which they arrived; a pause is 0."""
        rows = self._query(
            "SELECT floor((emitted - {origin}) / {width})::BIGINT AS bin, count(*) AS n"
            " FROM outputs GROUP BY bin ORDER BY bin"
        )
        if not len(rows):
            return {}
        bins = rows["bin"].to_numpy()
        counts = np.zeros(bins[-1] - bins[0] + 1)
        counts[bins - bins[0]] = rows["n"].to_numpy()
        at_s = np.arange(bins[0], bins[-1] + 1) * self._frame.bin_s
        rate = np.round(counts / self._frame.bin_s, 1)
        return {"t": at_s.tolist(), "emitted": rate.tolist()}

    def histogram(self, kind: str = "latency") -> Histogram:
        """Count the latencies that the statistics cover: those of the measured span."""
        counted = self.table.filter(is_measured(self.table, self._frame.measured, self._window_ms))
        took = pc.drop_null(passed_ms(counted, kind)).to_numpy()
        return Histogram(*np.unique(took, return_counts=True))

    def _query(self, sql: str, **names: object) -> pa.Table:
        """Run a query; only numbers and names of this module are put into it."""
        frame = self._frame
        places = {"origin": frame.origin_ms, "width": frame.bin_s * 1000, **names}
        return self._sql.sql(sql.format(**places)).to_arrow_table()

    def _times(self, bins: pa.ChunkedArray) -> Json:
        return [number * self._frame.bin_s for number in bins.to_pylist()]


def _since(kind: str) -> str:
    """Write the time from which a kind of latency counts."""
    return f"coalesce({', '.join(SINCE[kind])}, NULL)"


def pooled(histograms: Sequence[Histogram]) -> Histogram:
    """Add up the latencies of several trials."""
    ms = np.unique(np.concatenate([each.ms for each in histograms]))
    count = np.zeros(len(ms), dtype=np.int64)
    for each in histograms:
        count[np.searchsorted(ms, each.ms)] += each.count
    return Histogram(ms, count)


def nines(histogram: Histogram) -> tuple[list[float], list[int]]:
    """Return the percentiles of a sample and their axis positions: see `measure.percentiles`."""
    at, took = curve(histogram.ms.astype(np.float64), histogram.count)
    return np.round(at, 3).tolist(), took.astype(np.int64).tolist()
