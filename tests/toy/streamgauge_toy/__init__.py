"""A workload of somebody else: keyed JSON records, passed on as they came or kept in Redis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import headers, output_keys
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Services
from streamgauge.spec.form import JSON
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json

SENSORS = 40
KEPT = "streamgauge-toy-kept"
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


class Kept(Same):
    """The time at which each id was put into Redis."""

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        lines = super().expected(records, context)
        empty = pa.array([b""] * len(lines), pa.binary())
        return lines.set_column(
            lines.schema.get_field_index("value"), EXPECTED.field("value"), empty
        )

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        found = tables["kept"]
        columns = {"key": found["id"], "value": [b""] * len(found), "emitted": found["at_ms"]}
        return pa.table(columns, schema=OUTPUTS)


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
        ),
        "all": Query(
            name="all",
            title="pass through what comes, and what was there before",
            streams=("readings",),
            configuration=("names",),
            internal=("again",),
            output="topic",
            answers=Same(),
            functions=(),
            answers_markers=True,
            forms={"readings": JSON, "names": JSON},
        ),
        "kept": Query(
            name="kept",
            title="put into Redis",
            streams=("readings",),
            output="table",
            services=("redis",),
            tables=("kept",),
            answers=Kept(),
            functions=(),
            answers_markers=True,
            forms={"readings": JSON},
        ),
    }
    default_queries: ClassVar[tuple[str, ...]] = ("same",)
    quick: ClassVar[Mapping[str, Json]] = {}

    def check(self, parameters: Mapping[str, Json]) -> None:
        pass

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        if stream == "names":
            names = [b'"sensor":"%b","name":"N%d"}' % (_key(n), n) for n in range(SENSORS)]
            return Payloads([names[:30], names[30:]], keys=[[b"k"] * 30, [b"k"] * 10])
        return Payloads(
            (list(map(_payload, numbers)) for numbers in _numbers(count)),
            marker=b'"sensor":null,"value":0}',
            keys=(list(map(_key, numbers)) for numbers in _numbers(count)),
            partition="key",
            marker_key=b"marker",
        )

    def load_tables(
        self, spec: TrialSpec, services: Services, cache: Path, spark: Callable[[], object]
    ) -> None:
        with store(services) as redis:
            redis.delete(KEPT)

    def record_tables(
        self, spec: TrialSpec, services: Services, cache: Path
    ) -> Mapping[str, pa.Table]:
        with store(services) as redis:
            found = redis.hgetall(KEPT)
        times = pa.array([int(at) for at in found.values()], pa.int64())
        return {"kept": pa.table({"id": [key.decode() for key in found], "at_ms": times})}

    def table_answered(self, services: Services, markers: Sequence[bytes]) -> bool:
        with store(services) as redis:
            return all(redis.hmget(KEPT, [str(json.loads(each)["id"]) for each in markers]))


def store(services: Services) -> Any:
    """Return a client of the Redis that the query uses."""
    from streamgauge.services.redis import RedisEndpoint, connect

    return connect(RedisEndpoint.of(services["redis"]))


def _numbers(count: int) -> Iterator[range]:
    """Yield the records' numbers block by block; the ring is no multiple of anything."""
    size = min(count, 7 * _BLOCK + 1)
    return (range(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK))


def _key(number: int) -> bytes:
    return b"sensor-%d" % (number * 17 % SENSORS)


def _payload(number: int) -> bytes:
    return b'"sensor":"%b","value":%d}' % (_key(number), number % 997)
