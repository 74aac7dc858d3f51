"""Answers of q2: outliers among each 500 records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import EXPECTED
from streamgauge.measure.messages import Integers, headers, output_keys
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.espbench.answers.columns import (
    MF01,
    MF02,
    Booleans,
    column,
    columns_of,
    is_decimal,
    line_rows,
    output_rows,
    sensor_columns,
    values_of,
)
from streamgauge.workloads.espbench.answers.sos import outlier_probabilities


@dataclass(frozen=True)
class Outliers:
    """Answers of q2: the outliers among each 500 records in log order.

    An expected value is the line, a comma and the outlier probability in full; an output has it
    with two decimals.
    """

    size: ClassVar[int] = 500
    aligned: ClassVar[int] = size
    merges: ClassVar[bool] = False
    threshold: ClassVar[float] = 0.5
    slack: ClassVar[float] = 1e-6
    """How far two honest computations of a probability may differ."""

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return one row per outlier; an unfinished window has none.

        Raises:
            TrialInvalid: The records are not consecutive from the beginning of a window.
        """
        records = records.combine_chunks()
        self._check(records)
        records = records.slice(0, len(records) // self.size * self.size)
        values = values_of(records)
        found = headers(values)
        probability = self._probabilities(values)
        kept = probability >= self.threshold - self.slack
        rows = line_rows(records, found, kept)
        shares = probability[kept]
        suffixed = [
            line + b"," + repr(float(share)).encode()
            for line, share in zip(rows["value"].to_pylist(), shares, strict=True)
        ]
        columns = {
            "value": pa.array(suffixed, pa.binary()),
            "intended": self._latest(found.intended)[kept],
            "appended": self._latest(column(records, "timestamp"))[kept],
            "optional": np.abs(shares - self.threshold) <= self.slack,
        }
        return pa.table({**columns_of(rows), **columns}, schema=EXPECTED)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the rows as they are: ranges hold whole windows."""
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with the id they begin with as key."""
        return output_rows(records, output_keys(values_of(records)))

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return where the line is the same and the probability is right to two decimals."""
        pairs = zip(expected["value"].to_pylist(), outputs["value"].to_pylist(), strict=True)
        return np.array([self._same(mine, theirs) for mine, theirs in pairs], dtype=np.bool_)

    def _same(self, expected: bytes, output: bytes) -> bool:
        line, _, probability = expected.rpartition(b",")
        their_line, _, printed = output.rpartition(b",")
        if line != their_line or not is_decimal(printed, 2):
            return False
        return abs(float(printed) - float(probability)) <= 0.005 + self.slack

    def _check(self, records: pa.Table) -> None:
        offsets = column(records, "offset")
        if len(offsets) and (offsets[0] % self.size or np.any(np.diff(offsets) != 1)):
            raise TrialInvalid(
                f"records from offset {offsets[0]} on are not whole windows of {self.size}"
            )

    def _probabilities(self, values: pa.Array) -> npt.NDArray[np.float64]:
        points = np.column_stack(sensor_columns(values, MF01, MF02)).astype(np.float64)
        windows = points.reshape(-1, self.size, 2)
        return np.array([outlier_probabilities(window) for window in windows]).reshape(-1)

    def _latest(self, times: Integers) -> Integers:
        """Give each record the greatest time of its window."""
        return np.repeat(times.reshape(-1, self.size).max(axis=1), self.size)
