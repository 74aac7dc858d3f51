"""Everything the page shows of one trial over time, small enough to be part of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from streamgauge.report.charts.data import batches, delays
from streamgauge.report.charts.data.latencies import Histogram, Latencies
from streamgauge.report.charts.data.time_frame import Frame, frame_of
from streamgauge.report.charts.data.timeline import (
    Series,
    Timeline,
    behind_series,
    read_ticks,
    sender_rates,
)
from streamgauge.results.factors import named
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult
from streamgauge.spec.values import Json
from streamgauge.units import format_duration

T = TypeVar("T")


@dataclass
class TrialView:
    """One trial as its charts need it."""

    result: TrialResult
    charts: dict[str, Json] = field(default_factory=dict)
    """Columns by the name of their chart."""
    said: dict[str, Json] = field(default_factory=dict)
    """What to say next to a chart, by the chart's name."""
    unreadable: list[str] = field(default_factory=list)
    histogram: Histogram | None = None

    def data(self, cores: float | None) -> Json:
        """Return the data of this trial for the page's script."""
        frame = frame_of(self.result)
        if frame is None:
            return {"charts": {}, "said": {}}
        outside: list[Json] = [
            {"x": frame.start_s, "x2": 0},
            {"x": frame.measured_s, "x2": frame.end_s},
        ]
        limit: list[Json] = []
        if cores is not None:
            limit = [{"x": frame.start_s, "x2": frame.end_s, "v": cores}]
        return {
            "from": frame.start_s,
            "to": round(frame.end_s, 1),
            "bin": frame.bin_s,
            "outside": outside,
            "limit": limit,
            "charts": self.charts,
            "said": self.said,
        }


def view_trial(
    folder: RunFolder, result: TrialResult, most_singles: int, most_marks: int = 0
) -> TrialView:
    """Read the files of a trial; what is missing or cut off is reported, the rest is shown.

    Args:
        folder: The run.
        result: The trial.
        most_singles: How many single latencies there is room for.
        most_marks: The same for the starts of batches: all of them are marked, or none.
    """
    view = TrialView(result)
    frame = frame_of(result)
    if frame is not None:
        _Reader(view, frame, folder.trial_folder(result.spec.number)).read(most_singles, most_marks)
        acts = _acts(folder.live, result, frame)
        if acts:
            says: list[Json] = [*dict.fromkeys(what for _, what in acts)]
            view.charts["acts"] = {"t": [at_s for at_s, _ in acts], "says": says}
            listed = "; ".join(f"{what} at {at_s:.0f} s" for at_s, what in acts)
            view.said["singles"] = f"{view.said.get('singles', '')} Dashed: {listed}.".strip()
    return view


class _Reader:
    def __init__(self, view: TrialView, frame: Frame, folder: Path) -> None:
        self.view, self.frame, self.folder = view, frame, folder

    def read(self, most_singles: int, most_marks: int) -> None:
        window_ms = self.view.result.window_ms
        latencies = self._open(
            "latency.parquet", lambda file: Latencies(file, self.frame, window_ms)
        )
        timeline = self._open("timeline.parquet", lambda file: Timeline(file, self.frame))
        self._read_senders()
        if timeline is not None and len(timeline.table):
            self._read_timeline(timeline)
        if latencies is not None and len(latencies.table):
            self._read_latencies(latencies, most_singles)
            if "lag" not in self.view.charts:
                self._put_lag("behind", behind_series(latencies.table, self.frame))
        self._read_batches(most_marks)

    def _open(self, name: str, read: Callable[[Path], T]) -> T | None:
        """Read a file; one that is missing gives None, one that is cut off is reported."""
        file = self.folder / name
        if not file.exists():
            return None
        try:
            return read(file)
        except (pa.ArrowException, OSError, KeyError) as error:
            reason = str(error).partition("\n")[0]
            number = self.view.result.spec.number
            self.view.unreadable.append(f"{name} of trial {number} cannot be read: {reason}")
            return None

    def _read_senders(self) -> None:
        files = sorted(self.folder.glob("sender*.parquet"))
        opened = (self._open(file.name, read_ticks) for file in files)
        known = [ticks for ticks in opened if ticks is not None and len(ticks)]
        if known and len(known) == len(files):
            self.view.charts["input"] = sender_rates(known, self.frame)

    def _read_timeline(self, timeline: Timeline) -> None:
        charts = self.view.charts
        if "log_end" in timeline.table.column_names:
            charts["input"] = _beside(charts.get("input"), timeline.ingested())
        charts |= {
            "cpu": timeline.by_role("cpu"),
            "load": timeline.load(),
            "memory": timeline.memory(),
            "disk": timeline.disk(),
            "network": timeline.network(),
        }
        lag = timeline.lag()
        if throughput := timeline.throughput(timely=lag is not None):
            charts["throughput"] = throughput
        if queue := timeline.queue():
            charts["queue"] = queue
        if lag is not None:
            self._put_lag("lag", lag)

    def _read_latencies(self, latencies: Latencies, most_singles: int) -> None:
        charts = self.view.charts
        for kind in latencies.kinds():
            charts[kind] = latencies.over_time(kind)
        charts["singles"] = latencies.singles(most_singles)
        charts["output"] = latencies.emitted()
        self.view.histogram = latencies.histogram()
        shown, there = len(_column(charts["singles"], "t")), len(latencies.table)
        if shown < there:
            each = "second" if self.frame.bin_s == 1 else f"{self.frame.bin_s} s"
            self.view.said["singles"] = (
                f"{shown:,} of {there:,} are shown: some, evenly chosen, and the slowest of each"
                f" {each}."
            )

    def _put_lag(self, name: str, lag: Series) -> None:
        inside = (lag.at_s >= self.frame.start_s) & (lag.at_s <= self.frame.end_s)
        step = self.frame.bin_s
        self.view.charts[name] = {
            "t": np.round(lag.at_s[inside][::step], 1).tolist(),
            name: np.round(lag.values[inside][::step], 3).tolist(),
        }
        if lag.line is not None:
            ends: list[Json] = [round(lag.line[0], 4), round(lag.line[1], 4)]
            self.view.charts["fit"] = {"t": [0, self.frame.measured_s], "v": ends}
        self.view.said[name] = " ".join([_slope(lag), *_waited(name, self.view.result)])

    def _read_batches(self, most_marks: int) -> None:
        file = self.folder / "progress.jsonl"
        if file.exists() and (collections := batches.collections(file, self.frame)):
            self.view.charts["gc"] = collections
        found = batches.read_batches(file, self.frame) if file.exists() else []
        if not found:
            return
        self.view.charts["batches"] = batches.phases(found, self.frame)
        self.view.said["batches"] = f"{batches.describe(found)}."
        if len(found) <= most_marks:
            self.view.charts["boundaries"] = {"t": [batch.at_s for batch in found]}
        else:
            self.view.said["latency"] = f"Batches are not marked: there were {len(found):,}."
        self._read_delays(found)

    def _read_delays(self, found: list[batches.Batch]) -> None:
        """Show how late batches began, if their times were asked for."""
        trigger_s = self.view.result.trigger_s
        if trigger_s is None:
            return
        if late := delays.delays(found, trigger_s):
            self.view.charts["delay"] = delays.over_time(late, self.frame)
            self.view.said["delay"] = delays.describe(late, trigger_s)


def _slope(lag: Series) -> str:
    """Describe the fitted slope, or say that there is none."""
    fitted = lag.fitted
    if fitted.slope is None or fitted.low is None or fitted.high is None:
        return "Too few values for a slope."
    slope, low, high = (f"{v:+.2g}" if v else "0" for v in (fitted.slope, fitted.low, fitted.high))
    return (
        f"Fitted slope in the measured span: {slope} {lag.unit}/s (90 % interval {low} to {high})."
    )


def _waited(name: str, result: TrialResult) -> Iterator[str]:
    """Describe how long queued records have to wait, if the lag is counted in records."""
    pace = result.pace if name == "lag" else None
    if pace is not None and pace.by == "offsets" and pace.behind_p95_s is not None:
        waited = format_duration(pace.behind_p95_s)
        yield f"In 95 % of the last third it was at most {waited} of load."


def _beside(columns: Json, others: dict[str, Json]) -> Json:
    """Merge columns with others, over the times of both."""
    if not isinstance(columns, dict):
        return others
    times = sorted({*_column(columns, "t"), *_column(others, "t")}, key=lambda t: float(str(t)))
    made: dict[str, Json] = {"t": list(times)}
    for part in (columns, others):
        at = dict(zip(_column(part, "t"), range(len(_column(part, "t"))), strict=True))
        for name in part:
            if name != "t":
                values = _column(part, name)
                made[name] = [values[at[time]] if time in at else None for time in times]
    return made


def _column(columns: Json, name: str) -> list[Json]:
    assert isinstance(columns, dict)
    column = columns[name]
    assert isinstance(column, list)
    return column


def _acts(live: Path, result: TrialResult, frame: Frame) -> list[tuple[float, str]]:
    """Read what was done to the trial on purpose, with its time in seconds."""
    if not live.exists():
        return []
    begun_s = datetime.fromisoformat(result.started).timestamp()
    found = []
    with live.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if '"act"' not in line:
                continue
            try:
                event = json.loads(line)
                at_s, what, number = float(event["at"]), str(event["act"]), event["trial"]
            except (ValueError, KeyError, TypeError):
                continue
            # A trial that was repeated has the events of its first try before its start.
            if number == result.spec.number and at_s >= begun_s:
                found.append((round(at_s - frame.origin_ms / 1000, 1), what))
    return found


def label(result: TrialResult) -> str:
    """Name a trial so that people can tell it apart: what was asked, and which repeat it is."""
    repeat = f" ({result.spec.repeat})" if result.spec.repeat > 1 else ""
    return f"{named(result.spec)}{repeat}"
