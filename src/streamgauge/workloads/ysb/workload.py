"""The Yahoo streaming benchmark as a workload: its parameters, stream, queries and Redis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

from streamgauge.errors import TrialInvalid
from streamgauge.services.redis import RedisEndpoint
from streamgauge.spec.endpoints import Services
from streamgauge.spec.form import JSON
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json
from streamgauge.workloads.ysb import data, store
from streamgauge.workloads.ysb.answers import Views
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_FUNCTIONS = ("deserialization", "filter", "projection", "join with a store", "windowing")


def _since_window_end(emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(value.partition(b",")[0]) - WINDOW_MS) / 1000


def _window_of(marker: bytes, appended_ms: int) -> str:  # noqa: ARG001 - it has its own time
    return data.window_of(marker)


QUERIES = (
    Query(
        name="redis",
        title="views of each campaign in 10 s, counted into Redis",
        streams=("events",),
        output="table",
        answers=Views(),
        functions=(*_FUNCTIONS, "writing to a store"),
        answers_markers=False,
        services=("redis",),
        tables=("ads", "windows"),
        window_ms=WINDOW_MS,
        needs_sentinels=True,
        forms={"events": JSON},
    ),
    Query(
        name="topic",
        title="views of each campaign in 10 s, counted into a topic",
        streams=("events",),
        output="topic",
        answers=Views(),
        functions=_FUNCTIONS,
        answers_markers=False,
        window_of=_window_of,
        services=("redis",),
        tables=("ads",),
        window_ms=WINDOW_MS,
        needs_sentinels=True,
        sample=_since_window_end,
        forms={"events": JSON},
    ),
)


class Ysb:
    """Views of advertisements by campaign (Chintapalli et al., 2016; Rank et al., 2023)."""

    name: ClassVar[str] = "ysb"
    version: ClassVar[str] = "1"
    title: ClassVar[str] = "advertising: views joined with campaigns in Redis and counted"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = {query.name: query for query in QUERIES}
    default_queries: ClassVar[tuple[str, ...]] = ("redis",)
    quick: ClassVar[Mapping[str, Json]] = {"ring": 100_000}

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Refuse nothing more: each parameter checks itself."""

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:  # noqa: ARG002
        """Render the events."""
        parameters = Parameters.model_validate(spec.parameters)
        size = min(count, parameters.ring)
        return Payloads(
            data.payloads(parameters, spec.seed, size),
            marker=data.marker(parameters, spec.seed),
            sentinel=data.sentinel(),
            shifts=data.shifts(parameters, spec.seed, size),
        )

    def load_tables(
        self,
        spec: TrialSpec,
        services: Services,
        cache: Path,  # noqa: ARG002
        spark: Callable[[], SparkSession],  # noqa: ARG002
    ) -> None:
        """Forget the windows of the trial before, and write the ads of this one."""
        with store.opened(_redis(services)) as redis:
            redis.reset(_campaign_of_each(spec))

    def record_tables(
        self,
        spec: TrialSpec,
        services: Services,
        cache: Path,  # noqa: ARG002
    ) -> Mapping[str, pa.Table]:
        """Read the windows that the query wrote.

        Raises:
            TrialInvalid: The ads have changed, so it is unknown what the engine found.
        """
        with store.opened(_redis(services)) as redis:
            if redis.ads() != _campaign_of_each(spec):
                raise TrialInvalid(
                    "the ads in Redis are not those that were written before the trial",
                    "let no other program flush this Redis, or write to it, while a trial runs",
                )
            writes = self.queries[spec.query].output == "table"
            return {"windows": redis.windows()} if writes else {}

    def table_answered(self, services: Services, markers: Sequence[bytes]) -> bool:  # noqa: ARG002
        """Markers have no row of their own."""
        return False


def _redis(services: Services) -> RedisEndpoint:
    return RedisEndpoint.of(services["redis"])


def _campaign_of_each(spec: TrialSpec) -> dict[bytes, bytes]:
    return data.campaign_of_each(Parameters.model_validate(spec.parameters).campaigns, spec.seed)
