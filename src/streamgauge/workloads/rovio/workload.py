"""Purchases and ads as a workload: its parameters, streams and queries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pyarrow as pa
from pydantic import BaseModel

from streamgauge.load import arrivals
from streamgauge.spec.payloads import Columns, Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json
from streamgauge.workloads.rovio import answers, data
from streamgauge.workloads.rovio.parameters import Parameters

QUERIES = (
    Query(
        name="aggregation",
        title="revenue of each gem pack per window",
        streams=("purchases",),
        output="topic",
        answers=answers.Sums(),
        functions=("windowing", "aggregation"),
        answers_markers=False,
        needs_sentinels=True,
    ),
    Query(
        name="join",
        title="purchases of what was advertised to the same user in the same window",
        streams=("purchases", "ads"),
        output="topic",
        answers=answers.Pairs(),
        functions=("windowing", "join of two streams"),
        answers_markers=False,
        needs_sentinels=True,
    ),
)


def _since_window_end(size_ms: int, emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(value.partition(b",")[0]) - size_ms) / 1000


_PIECES = 100
"""Of the measured time, to find the highest rate of a load that fluctuates."""


class Rovio:
    """Purchases and ads of an online game (Karimov et al., 2018): aggregation and join."""

    name: ClassVar[str] = "rovio"
    version: ClassVar[str] = "2"
    title: ClassVar[str] = "online game: windowed aggregation and join of purchases and ads"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = {query.name: query for query in QUERIES}
    default_queries: ClassVar[tuple[str, ...]] = ("aggregation", "join")
    quick: ClassVar[Mapping[str, Json]] = {"ring": 100_000}

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Refuse nothing more: the parameters check themselves that they fit together."""

    def shaped(self, query: Query, parameters: Mapping[str, Json]) -> Query:
        """Give the query the size of its windows."""
        size_ms = Parameters.model_validate(parameters).size_ms
        sample = partial(_since_window_end, size_ms) if query.name == "aggregation" else None
        return replace(query, window_ms=size_ms, sample=sample)

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        """Render purchases or ads."""
        drawn = _draw(spec, stream, count)
        return Payloads(map(data.render, drawn), sentinel=data.sentinel(stream))

    def columns(self, spec: TrialSpec, stream: str, count: int) -> Columns:
        """Draw purchases or ads as columns."""
        drawn = pa.concat_tables(map(data.columns, _draw(spec, stream, count)))
        return Columns(drawn.combine_chunks(), data.SENTINELS[stream])


def _ring(spec: TrialSpec, parameters: Parameters) -> int:
    """Count the records that are drawn; those of a join do not meet their own repetition."""
    if len(Rovio.queries[spec.query].streams) == 1:
        return parameters.ring
    highest = max(arrivals.profile(spec, _PIECES))
    return max(parameters.ring, math.ceil(2 * highest * parameters.size_ms / 1000))


def _draw(spec: TrialSpec, stream: str, count: int) -> Iterator[data.Ads]:
    parameters = Parameters.model_validate(spec.parameters)
    size = min(count, _ring(spec, parameters))
    if stream == "ads":
        return data.ads(parameters, spec.seed, size)
    return data.purchases(parameters, spec.seed, size, spec.rate)
