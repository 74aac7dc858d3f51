"""uc2 and uc3: statistics of each sensor in each window, of uc3 by a time attribute as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.steps import STEPS
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.theodolite.answers.readings import (
    NUMBER,
    Integers,
    lines_like,
    numbers,
    packed,
    readings,
    texts,
    unpacked,
)
from streamgauge.workloads.theodolite.answers.series import Series, Summary
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.data import STEPS as STEPS_OF_WATT
from streamgauge.workloads.theodolite.parameters import Parameters

_STATISTICS = 6
"""Numbers at the end of a line with all of them; the first is the count."""
_VARIANCE = 5
"""The place of the only one that depends on how it is computed."""
_SUM = 2
"""Numbers of a line with the sum."""
_COUNT = r"\d{1,18}"
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class _Sent:
    """Records in the order of their logs."""

    names: pa.Array
    """Of the sensors, by number."""
    sensor: Integers
    attribute: Integers
    rows: Summary
    """Each record for itself."""


@dataclass(frozen=True)
class Statistics:
    """`START,IDENTIFIER,count,sum,mean,min,max,variance`, the attribute after START for uc3.

    A line may have less of a window: its count and sum, or its count and median. All records of a
    sensor are brought together, in the order of the log.
    """

    case: str
    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True
    packs: ClassVar[tuple[str, ...]] = ("steps", "partition", "offset")
    """What a partial answer keeps of a record."""

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return a row for each record, under its sensor."""
        found = readings(records)
        place = [pc.cast(found[name], pa.int64()).to_numpy() for name in self.packs]
        columns = {
            "key": found["identifier"],
            "value": packed(place),
            "intended": found["timestamp"],
            "appended": found["appended"],
            "window_end": pa.nulls(len(found), pa.int64()),
            "optional": np.zeros(len(found), dtype=np.bool_),
        }
        return pa.table(columns, schema=EXPECTED)

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the sensor of each key."""
        return pc.replace_substring_regex(keys, pattern=r"^(?:\d+,)+|,\d+$", replacement="")

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize each window of each sensor."""
        parameters = Parameters.model_validate(context.parameters)
        statistics = _STATISTICS if self.case == "uc2" else told_by(parameters)
        if statistics is None:
            sent, windows = self._grown(partials, context)
            summary = windows.last(sent.rows)
            lines = medians_line(summary, windows.medians(sent.rows.total))
        else:
            sent, windows, summary = self._from_slices(partials, parameters)
            lines = line(summary, statistics)
        ends = pa.array(windows.start_ms + self._sizes(parameters)[0])
        return rows_of(self._keys(sent.names, windows), lines, summary, ends)

    def _from_slices(
        self, partials: pa.Table, parameters: Parameters
    ) -> tuple[_Sent, Series, Summary]:
        """Summarize by slices: sensors that send often have fewer than records in many windows."""
        sent, (window_ms, slide_ms) = self._sent(partials, parameters), self._sizes(parameters)
        piece_ms = math.gcd(window_ms, slide_ms)
        slices = Series(sent.sensor, sent.attribute, sent.rows.intended, piece_ms, piece_ms)
        windows = Series(slices.sensor, slices.attribute, slices.start_ms, window_ms, slide_ms)
        return sent, windows, windows.last(slices.last(sent.rows))

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window, attribute and sensor as key."""
        lines = lines_like(records["value"], rf"^{self._key},{self._told}$")
        columns = {
            "key": pc.replace_substring_regex(lines, rf"^({self._key}),.*$", r"\1"),
            "value": records["value"],
            "emitted": records["timestamp"],
        }
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which numbers are right, the variance within what its computation allows."""
        if not len(expected):
            return np.zeros(0, dtype=np.bool_)
        count = expected["value"][0].as_py().count(b",") + 1
        commas = pc.count_substring(outputs["value"], ",").to_numpy()
        right: npt.NDArray[np.bool_] = commas == self._before + count - 1
        rows = np.flatnonzero(right)
        ours, theirs = (numbers(table["value"].take(rows), count) for table in (expected, outputs))
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            most = _TOLERANCE * (1 + mine) if place == _VARIANCE else 0
            right[rows] &= np.abs(mine - other) <= most
        return right

    @property
    def _key(self) -> str:
        """Return what a key looks like."""
        return self._names

    @property
    def _names(self) -> str:
        """Return what stands before the numbers."""
        fields = r"\d+,\d+," if self.case == "uc3" else r"\d+,"
        return rf"{fields}s_(?:marker_)?\d+"

    @property
    def _before(self) -> int:
        """Return how many fields stand before the numbers."""
        return self._names.count(",") + 1

    @property
    def _told(self) -> str:
        """Return how the value of a key is written: all statistics, or two numbers."""
        return rf"{_COUNT},{NUMBER}(?:(?:,{NUMBER}){{{_STATISTICS - 2}}})?"

    def _sent(self, partials: pa.Table, parameters: Parameters) -> _Sent:
        """Return what sensors sent, in the order of the log."""
        steps, partition, offset = unpacked(partials["value"], 3)
        sensor = pc.dictionary_encode(partials["key"].combine_chunks())
        timestamp, appended = (partials[name].to_numpy() for name in ("intended", "appended"))
        log = np.lexsort((offset, partition))
        return _Sent(
            names=sensor.dictionary,
            sensor=sensor.indices.to_numpy().astype(np.int64)[log],
            attribute=self._attribute(timestamp, parameters)[log],
            rows=Summary.of_each(steps[log], timestamp[log], appended[log]),
        )

    def _grown(self, partials: pa.Table, context: AnswerContext) -> tuple[_Sent, Series]:
        """Return what sensors sent, and every record in its windows."""
        parameters = Parameters.model_validate(context.parameters)
        sent = self._sent(partials, parameters)
        sizes = self._sizes(parameters)
        return sent, Series(sent.sensor, sent.attribute, sent.rows.intended, *sizes)

    def _sizes(self, parameters: Parameters) -> tuple[int, int]:
        window_ms = parameters.window_ms(self.case)
        return window_ms, parameters.slide_ms if self.case == "uc3" else window_ms

    def _attribute(self, timestamp: Integers, parameters: Parameters) -> Integers:
        if self.case != "uc3":
            return np.zeros_like(timestamp)
        return Attribute.parse(parameters.attribute).at(timestamp, parameters.zone)

    def _keys(self, sensors: pa.Array, series: Series) -> pa.Array:
        names = sensors.take(pa.array(series.sensor))
        attribute = [series.attribute] if self.case == "uc3" else []
        return texts(series.start_ms, *attribute, names)


@dataclass(frozen=True)
class _GrowingStatistics(Statistics):
    """All statistics of windows that are not over; outputs show the count."""

    @property
    def _told(self) -> str:
        return rf"{_COUNT}(?:,{NUMBER}){{{_STATISTICS - 1}}}"


@dataclass(frozen=True)
class StepwiseStatistics(_GrowingStatistics):
    """The same while a window is open: any output summarizes the first records."""

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize each window, without waiting for its end."""
        found = super().merge(partials, context)
        place = EXPECTED.get_field_index("window_end")
        return found.set_column(place, "window_end", pa.nulls(len(found), pa.int64()))

    def steps(self, partials: pa.Table, outputs: pa.Table, context: AnswerContext) -> pa.Table:
        """Return how many records each output covers, and the right summary of that many."""
        sent, series = self._grown(partials, context)
        keys = self._keys(sent.names, series)
        place = pc.fill_null(pc.index_in(outputs["key"], value_set=keys), -1).to_numpy()
        rows = np.flatnonzero(place >= 0)
        step = numbers(outputs["value"].take(rows), _STATISTICS)[0].astype(np.int64)
        place, last = place[rows], series.lengths[place[rows]]
        claimed = (step > 0) & (step <= last)
        before = claimed & (step < last)
        then = series.each(sent.rows).take(series.row(place[before], step[before]))
        columns = {
            "step": (rows[claimed], step[claimed]),
            "last": (rows[claimed], last[claimed]),
            "key": (rows[before], texts(keys.take(pa.array(place[before])), step[before])),
            "value": (rows[before], line(then)),
            "intended": (rows[before], then.intended),
            "appended": (rows[before], then.appended),
        }
        return pa.table(
            {
                name: _spread(at, pa.array(cells), len(outputs))
                for name, (at, cells) in columns.items()
            }
        ).cast(STEPS)


@dataclass(frozen=True)
class EachStatistics(_GrowingStatistics):
    """The same with an output for every record and window: the count is a part of the key."""

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize each window after each of its records."""
        sent, series = self._grown(partials, context)
        summary = series.each(sent.rows)
        keys = self._keys(sent.names, series).take(pa.array(series.places))
        no_end = pa.nulls(len(keys), pa.int64())
        return rows_of(texts(keys, summary.count), line(summary), summary, no_end)

    @property
    def _key(self) -> str:
        return rf"{self._names},\d+"

    @property
    def _told(self) -> str:
        return rf"{NUMBER}(?:,{NUMBER}){{{_STATISTICS - 2}}}"


def told_by(parameters: Parameters) -> int | None:
    """Return how many statistics a window of uc3 has; None for its median."""
    return {"sum": _SUM, "stats": _STATISTICS, "median": None}[parameters.aggregate]


def rows_of(keys: pa.Array, told: pa.Array, summary: Summary, ends: pa.Array) -> pa.Table:
    """Return answers under these keys."""
    columns = {
        "key": keys,
        "value": told,
        "intended": summary.intended,
        "appended": summary.appended,
        "window_end": ends,
        "optional": np.zeros(len(keys), dtype=np.bool_),
    }
    return pa.table(columns, schema=EXPECTED)


def line(summary: Summary, told: int = _STATISTICS) -> pa.Array:
    """Write the first statistics of each, that many of them."""
    return pc.cast(texts(*summary.numbers()[:told]), pa.binary())


def medians_line(summary: Summary, steps: npt.NDArray[np.float64]) -> pa.Array:
    """Write count and median of each."""
    return pc.cast(texts(summary.count, steps / STEPS_OF_WATT), pa.binary())


def _spread(rows: Integers, cells: pa.Array, length: int) -> pa.Array:
    """Put cells at these rows of a column, and nothing elsewhere."""
    at = np.full(length, -1, dtype=np.int64)
    at[rows] = np.arange(len(rows))
    return cells.take(pa.array(at, mask=at < 0))
