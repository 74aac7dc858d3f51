"""uc3-sliding: what each record's sensor sent, at the same attribute, in the time before it."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.theodolite.answers.readings import Integers, texts, unpacked
from streamgauge.workloads.theodolite.answers.series import Summary
from streamgauge.workloads.theodolite.answers.statistics import (
    Statistics,
    line,
    medians_line,
    rows_of,
    told_by,
)
from streamgauge.workloads.theodolite.parameters import Parameters


@dataclass(frozen=True)
class SlidingStatistics(Statistics):
    """`TIMESTAMP,ATTRIBUTE,IDENTIFIER,ID,count,…` for each record; both ends are in its window."""

    packs: ClassVar[tuple[str, ...]] = ("steps", "id")

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize the time before each record."""
        parameters = Parameters.model_validate(context.parameters)
        steps, number = unpacked(partials["value"], len(self.packs))
        sensor = pc.dictionary_encode(partials["key"].combine_chunks())
        times_ms, appended = (partials[name].to_numpy() for name in ("intended", "appended"))
        attribute = self._attribute(times_ms, parameters)
        group = sensor.indices.to_numpy() * (attribute.max(initial=0) + 1) + attribute
        order = np.lexsort((times_ms, group))
        ranges = _Ranges(group[order], times_ms[order], parameters.window_ms("uc3"))
        summary = ranges.summary(Summary.of_each(steps[order], times_ms[order], appended[order]))
        statistics = told_by(parameters)
        if statistics is None:
            lines = medians_line(summary, ranges.medians(steps[order]))
        else:
            lines = line(summary, statistics)
        names = sensor.dictionary.take(sensor.indices.take(pa.array(order)))
        keys = texts(times_ms[order], attribute[order], names, number[order])
        return rows_of(keys, lines, summary, pa.array(times_ms[order] + 1))

    @property
    def _key(self) -> str:
        return rf"{self._names},\d+"

    @property
    def _before(self) -> int:
        return super()._before + 1


class _Ranges:
    """Which rows lie in the time before each row, in the order of groups and times."""

    def __init__(self, group: Integers, times_ms: Integers, length_ms: int) -> None:
        place = group * (np.ptp(times_ms) + length_ms + 1 if len(group) else 1) + times_ms
        self._first = np.searchsorted(place, place - length_ms, side="left")
        self._end = np.searchsorted(place, place, side="right")

    def summary(self, rows: Summary) -> Summary:
        """Summarize the rows of each."""
        return Summary(
            count=self._end - self._first,
            total=self._sums(rows.total),
            squares=self._sums(rows.squares),
            low=self._extremes(np.minimum, rows.low),
            high=self._extremes(np.maximum, rows.high),
            intended=rows.intended,
            appended=self._extremes(np.maximum, rows.appended),
        )

    def medians(self, values: Integers) -> npt.NDArray[np.float64]:
        """Return the median of each; rows enter at one end and leave at the other."""
        found = np.zeros(len(values))
        inside: list[int] = []
        begin = end = 0
        for row, (first, last) in enumerate(zip(self._first, self._end, strict=True)):
            if first >= end:
                inside, begin, end = [], int(first), int(first)
            for value in values[end:last].tolist():
                insort(inside, value)
            for value in values[begin:first].tolist():
                del inside[bisect_left(inside, value)]
            begin, end = int(first), int(last)
            found[row] = (inside[(len(inside) - 1) // 2] + inside[len(inside) // 2]) / 2
        return found

    def _sums(self, values: Integers) -> Integers:
        sums = np.concatenate([[0], np.cumsum(values)])
        found: Integers = sums[self._end] - sums[self._first]
        return found

    def _extremes(self, of: np.ufunc, values: Integers) -> Integers:
        beyond = np.append(values, values[-1:])
        ranges = np.stack([self._first, self._end], axis=1).ravel()
        found: Integers = of.reduceat(beyond, ranges)[::2] if len(values) else values
        return found
