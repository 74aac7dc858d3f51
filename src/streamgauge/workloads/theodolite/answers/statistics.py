"""uc2 and uc3: statistics of each sensor in each window, of uc3 by a time attribute as well."""

from __future__ import annotations

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
    numbers,
    packed,
    readings,
    texts,
    unpacked,
)
from streamgauge.workloads.theodolite.answers.series import Series, Summary
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters

_STATISTICS = 6
"""Numbers at the end of a line."""
_EXACT = 5
"""Of those, so many have one right value."""
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
    """`START,IDENTIFIER,count,sum,mean,min,max,variance`, the attribute behind START for uc3.

    All records of a sensor are brought together, in the order in which they lie in the log.
    """

    case: str
    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return a row for each record, under its sensor."""
        found = readings(records)
        place = [found[name].to_numpy() for name in ("steps", "partition", "offset")]
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
        sent, (window_ms, slide_ms) = self._sent(partials, parameters), self._sizes(parameters)
        # Sensors that send often have fewer slices than records to be in many windows.
        slices = Series(sent.sensor, sent.attribute, sent.rows.intended, slide_ms, slide_ms)
        windows = Series(slices.sensor, slices.attribute, slices.start_ms, window_ms, slide_ms)
        summary = windows.last(slices.last(sent.rows))
        ends = pa.array(windows.start_ms + window_ms)
        return _rows(self._keys(sent.names, windows), summary, ends)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window, attribute and sensor as key."""
        lines = pc.cast(records["value"].combine_chunks(), pa.string())
        readable = pc.match_substring_regex(lines, self._line)
        keys = pc.replace_substring_regex(lines, pattern=self._after_key, replacement="")
        columns = {
            "key": pc.if_else(readable, keys, pa.scalar(None, pa.string())),
            "value": records["value"],
            "emitted": records["timestamp"],
        }
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell which statistics are right, the variance within what its computation allows."""
        ours, theirs = (numbers(table["value"], _STATISTICS) for table in (expected, outputs))
        right = np.abs(ours[-1] - theirs[-1]) <= _TOLERANCE * (1 + ours[-1])
        for mine, other in zip(ours[:_EXACT], theirs[:_EXACT], strict=True):
            right &= mine == other
        return right

    @property
    def _fields(self) -> str:
        return r"\d+,\d+," if self.case == "uc3" else r"\d+,"

    @property
    def _line(self) -> str:
        return rf"^{self._fields}s_(?:marker_)?\d+,\d+(?:,{NUMBER}){{{_STATISTICS - 1}}}$"

    @property
    def _after_key(self) -> str:
        return rf"(?:,[^,]*){{{_STATISTICS}}}$"

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
class StepwiseStatistics(Statistics):
    """The same while a window is open: any output says what the first records amount to."""

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize each window; none of them is waited for."""
        found = super().merge(partials, context)
        place = EXPECTED.get_field_index("window_end")
        return found.set_column(place, "window_end", pa.nulls(len(found), pa.int64()))

    def steps(self, partials: pa.Table, outputs: pa.Table, context: AnswerContext) -> pa.Table:
        """Tell of how many records each output is, and what so many amount to."""
        sent, series = self._grown(partials, context)
        keys = self._keys(sent.names, series)
        place = pc.fill_null(pc.index_in(outputs["key"], value_set=keys), -1).to_numpy()
        rows = np.flatnonzero(place >= 0)
        step = numbers(outputs["value"].take(rows), _STATISTICS)[0].astype(np.int64)
        place, last = place[rows], series.lengths[place[rows]]
        claimed = (step > 0) & (step <= last)
        before = claimed & (step < last)
        then = series.each(sent.rows).take(series.row(place[before], step[before]))
        told = {
            "step": (rows[claimed], step[claimed]),
            "last": (rows[claimed], last[claimed]),
            "key": (rows[before], texts(keys.take(pa.array(place[before])), step[before])),
            "value": (rows[before], _line(then)),
            "intended": (rows[before], then.intended),
            "appended": (rows[before], then.appended),
        }
        return pa.table(
            {name: _spread(at, pa.array(cells), len(outputs)) for name, (at, cells) in told.items()}
        ).cast(STEPS)


@dataclass(frozen=True)
class EachStatistics(Statistics):
    """The same with an output for every record and window: the count is a part of the key."""

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize each window after each of its records."""
        sent, series = self._grown(partials, context)
        summary = series.each(sent.rows)
        keys = self._keys(sent.names, series).take(pa.array(series.places))
        return _rows(texts(keys, summary.count), summary, pa.nulls(len(keys), pa.int64()))

    @property
    def _after_key(self) -> str:
        return rf"(?:,[^,]*){{{_STATISTICS - 1}}}$"


def _rows(keys: pa.Array, summary: Summary, ends: pa.Array) -> pa.Table:
    columns = {
        "key": keys,
        "value": _line(summary),
        "intended": summary.intended,
        "appended": summary.appended,
        "window_end": ends,
        "optional": np.zeros(len(keys), dtype=np.bool_),
    }
    return pa.table(columns, schema=EXPECTED)


def _line(summary: Summary) -> pa.Array:
    return pc.cast(texts(*summary.numbers()), pa.binary())


def _spread(rows: Integers, cells: pa.Array, length: int) -> pa.Array:
    """Put cells at these rows of a column, and nothing elsewhere."""
    at = np.full(length, -1, dtype=np.int64)
    at[rows] = np.arange(len(rows))
    return cells.take(pa.array(at, mask=at < 0))
