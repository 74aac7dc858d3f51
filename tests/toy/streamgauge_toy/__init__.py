"""A workload of somebody else: keyed JSON records, passed on as they came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import headers, output_keys
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json
from streamgauge.spec.workload import Payloads, Query

SENSORS = 40
_BLOCK = 1000


class Parameters(BaseModel):
    """There are none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Same:
    """Every line as it came, under its id."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = False

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        values = records["value"].combine_chunks()
        found = headers(values, JSON)
        columns = {
            "key": found.keys,
            "value": values,
            "intended": found.intended,
            "appended": records["timestamp"],
            "window_end": pa.nulls(len(values), pa.int64()),
            "optional": np.zeros(len(values), dtype=np.bool_),
        }
        return pa.table(columns, schema=EXPECTED)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        keys = output_keys(records["value"].combine_chunks(), JSON)
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        same = pc.fill_null(pc.equal(expected["value"], outputs["value"]), False)
        return np.asarray(same.to_numpy(), dtype=np.bool_)


class Toy:
    name: ClassVar[str] = "toy"
    version: ClassVar[str] = "1"
    title: ClassVar[str] = "keyed JSON records, passed on"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = {
        "same": Query(
            name="same",
            title="pass through",
            streams=("readings",),
            output="topic",
            answers=Same(),
            functions=(),
            answers_markers=True,
            sample=JSON.since_intended,
            forms={"readings": JSON},
        )
    }
    default_queries: ClassVar[tuple[str, ...]] = ("same",)
    quick: ClassVar[Mapping[str, Json]] = {}

    def check(self, parameters: Mapping[str, Json]) -> None:
        pass

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        return Payloads(
            (list(map(_payload, numbers)) for numbers in _numbers(count)),
            marker=b'"sensor":null,"value":0}',
            keys=(list(map(_key, numbers)) for numbers in _numbers(count)),
            partition="key",
            marker_key=b"marker",
        )


def _numbers(count: int) -> Iterator[range]:
    """Yield the records' numbers block by block; the ring is no multiple of anything."""
    size = min(count, 7 * _BLOCK + 1)
    return (range(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK))


def _key(number: int) -> bytes:
    return b"sensor-%d" % (number * 17 % SENSORS)


def _payload(number: int) -> bytes:
    return b'"sensor":"%b","value":%d}' % (_key(number), number % 997)
