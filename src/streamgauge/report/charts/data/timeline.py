"""What the charts show of a trial's timeline: rates, lag, and the resources that were used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.measure import behind, trend
from streamgauge.measure.statistics import Floats
from streamgauge.metrics import in_order, wholes
from streamgauge.report.charts.data.time_frame import Frame, series_name
from streamgauge.spec.values import Json

_MIB = 1024.0**2
_GIB = 1024.0**3


@dataclass(frozen=True)
class Series:
    """A quantity over time with its fitted line."""

    unit: str
    at_s: Floats
    values: Floats
    fitted: trend.Trend
    line: tuple[float, float] | None
    """The fitted values at both ends of the measured span."""


class Timeline:
    """The 1 Hz samples of one trial, and the ticks of its sender."""

    def __init__(self, file: Path, frame: Frame) -> None:
        self.table: pa.Table = pq.read_table(file)
        self._frame = frame
        if len(self.table) and "at" not in self.table.column_names:
            raise KeyError("at")

    def columns(self, family: str) -> list[str]:
        """Return the columns of a family: `cpu` gives cpu.engine, cpu.broker and so on."""
        return [name for name in self.table.column_names if name.startswith(f"{family}.")]

    def ingested(self) -> dict[str, Json]:
        """Return the growth of the log, in records per second."""
        return self._rates({"ingested": "log_end"})

    def throughput(self, *, timely: bool) -> dict[str, Json]:
        """Return the records per second that the engine pulled and that it finished.

        Args:
            timely: Whether the engine reported often enough what it had finished.
        """
        known = {"pulled": "handed", **({"finished": "finished"} if timely else {})}
        there = {key: name for key, name in known.items() if name in self.table.column_names}
        return self._rates(there) if there else {}

    def queue(self) -> dict[str, Json]:
        """Return the records not yet pulled, where a queue of the harness counts them."""
        if not {"log_end", "handed"} <= set(self.table.column_names):
            return {}
        at, end, handed = _known(self.table, "at", "log_end", "handed")
        return self._binned(at, {"queue": np.maximum(end - handed, 0.0)}, 0)

    def by_role(self, family: str, unit: float = 1.0, digits: int = 3) -> dict[str, Json]:
        """Return a resource by role, in the order of the roles."""
        roles = wholes(in_order(name.partition(".")[2] for name in self.columns(family)))
        names = {series_name(role): f"{family}.{role}" for role in roles}
        return self._sampled(names, unit, digits)

    def memory(self) -> dict[str, Json]:
        """Return the resident memory by role, in GiB."""
        return self.by_role("memory", _GIB)

    def disk(self) -> dict[str, Json]:
        """Return what each role wrote to disk, in MiB/s."""
        return self.by_role("disk", _MIB)

    def network(self) -> dict[str, Json]:
        """Return the traffic of each interface that had any, in MiB/s."""
        names = {series_name(name.partition(".")[2]): name for name in self.columns("network")}
        busy = {label: name for label, name in names.items() if _has_any(self.table[name])}
        return self._sampled(busy, _MIB, 3)

    def load(self) -> dict[str, Json]:
        """Return the system's load average, and the cores that others took from this machine."""
        named = {"load": "load.1m", "stolen cores": "steal"}
        there = {key: name for key, name in named.items() if name in self.table.column_names}
        return self._sampled(there, 1.0, 2)

    def lag(self) -> Series | None:
        """Return log end − finished work in records; None if the engine reports it too rarely."""
        if not {"log_end", "finished"} <= set(self.table.column_names):
            return None
        at, end, finished = _known(self.table, "at", "log_end", "finished")
        if behind.lag(at, end, finished, self._frame.measured) is None:
            return None
        return _series("records", at - self._frame.origin_ms / 1000, end - finished, self._frame)

    def _rates(self, totals: dict[str, str]) -> dict[str, Json]:
        """Return the growth of totals, in records per second."""
        # The time at which they were asked for, if it was kept.
        clock = "log_end_at" if "log_end_at" in self.table.column_names else "at"
        at, *known = _known(self.table, clock, *totals.values())
        if not len(at):
            return {}
        edges, at_s = self._frame.edges, at - self._frame.origin_ms / 1000
        made: dict[str, Json] = {"t": edges[:-1].tolist()}
        for key, total in zip(totals, known, strict=True):
            made[key] = _growth(np.interp(edges, at_s, total, left=np.nan, right=np.nan), edges)
        return made

    def _sampled(self, names: dict[str, str], unit: float, digits: int) -> dict[str, Json]:
        at = self.table["at"].to_numpy()
        values = {
            key: self.table[name].to_numpy().astype(np.float64) / unit
            for key, name in names.items()
        }
        return self._binned(at, values, digits)

    def _binned(self, at: Floats, values: dict[str, Floats], digits: int) -> dict[str, Json]:
        """Return the mean of every bin; seconds that were not sampled are left out."""
        frame = self._frame
        at_s = at - frame.origin_ms / 1000
        # Earlier values would set the height of the axis without being visible.
        inside = (at_s >= frame.start_s) & (at_s <= frame.end_s)
        numbers = np.floor(at_s[inside] / frame.bin_s).astype(np.int64)
        bins, place = np.unique(numbers, return_inverse=True)
        made: dict[str, Json] = {"t": (bins * frame.bin_s).tolist()}
        for name, whole in values.items():
            column = whole[inside]
            known = ~np.isnan(column)
            sums = np.bincount(place[known], column[known], len(bins))
            counts = np.bincount(place[known], minlength=len(bins))
            means = np.round(sums / np.maximum(counts, 1), digits)
            made[name] = [float(mean) if n else None for mean, n in zip(means, counts, strict=True)]
        return made


def read_ticks(file: Path) -> pa.Table:
    """Read what a sender reported: how many records were due and sent, and when."""
    return pq.read_table(file, columns=["at_ms", "due", "sent"])


def sender_rates(senders: Sequence[pa.Table], frame: Frame) -> dict[str, Json]:
    """Return the records per second that were due and that were sent, by all senders together."""
    edges = frame.edges
    due, sent = np.zeros(len(edges)), np.zeros(len(edges))
    for ticks in senders:
        at_s = (ticks["at_ms"].to_numpy() - frame.origin_ms) / 1000
        due += np.interp(edges, at_s, ticks["due"].to_numpy(), left=0)
        sent += np.interp(edges, at_s, ticks["sent"].to_numpy(), left=0)
    return {
        "t": edges[:-1].tolist(),
        "offered": _growth(due, edges),
        "sent": _growth(sent, edges),
    }


def behind_series(latencies: pa.Table, frame: Frame) -> Series:
    """Return how far the outputs were behind, in seconds."""
    at = behind.grid(frame.whole, frame.bin_s * 1000)
    values = behind.behind(latencies, frame.whole, frame.bin_s * 1000)
    return _series("s", (at - frame.origin_ms) / 1000, values, frame)


def _growth(reached: Floats, edges: Floats) -> list[Json]:
    """Return the growth of a counter per second, from edge to edge."""
    rates = np.round(np.diff(reached) / np.diff(edges), 1)
    return [None if np.isnan(rate) else float(rate) for rate in rates]


def _series(unit: str, at_s: Floats, values: Floats, frame: Frame) -> Series:
    span = frame.measured
    at_ms = np.round(at_s * 1000).astype(np.int64) + frame.origin_ms
    fitted = trend.trend(at_ms, values, span)
    line = None
    if fitted.slope is not None:
        x, y = trend.block_medians(at_ms, values, span)
        level = float(np.median(y - fitted.slope * x))
        line = (level, level + fitted.slope * frame.measured_s)
    return Series(unit, at_s, values, fitted, line)


def _known(table: pa.Table, *names: str) -> Sequence[Floats]:
    """Return columns without the rows in which one of them was not sampled."""
    columns = [table[name].to_numpy().astype(np.float64) for name in names]
    there = ~np.any([np.isnan(column) for column in columns], axis=0)
    return [column[there] for column in columns]


def _has_any(column: pa.ChunkedArray) -> bool:
    values = column.to_numpy().astype(np.float64)
    return bool(np.nansum(values) > 0)
