from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.errors import UsageError
from streamgauge.planning import load_engine
from streamgauge.spec.engine import JobSpec
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import HasTables
from streamgauge.workloads.ysb import Ysb, data
from streamgauge.workloads.ysb.parameters import Parameters
from streamgauge.workloads.ysb.spark import QUERIES
from streamgauge.workloads.ysb.spark_facts import FACTS


def spec(**parameters: Any) -> TrialSpec:
    return TrialSpec(
        number=1,
        workload="ysb",
        query="redis",
        parameters=Parameters(**parameters).model_dump(mode="json"),
        engine="reference",
        rate=100.0,
        duration_s=1.0,
        warmup_s=0.0,
    )


def resolve(query: str, partitions: int = 1, **options: str) -> JobSpec:
    job = JobSpec(
        workload="ysb", query=query, parameters={}, partitions=partitions, seed=1, options=options
    )
    return load_engine("spark").resolve(job)


def test_every_query_is_there() -> None:
    assert set(QUERIES) == set(FACTS) == set(Ysb.queries)
    assert isinstance(Ysb(), HasTables)


def test_events_repeat_with_times_of_their_own() -> None:
    payloads = Ysb().payloads(spec(ring=50), "events", 200)
    assert sum(len(block) for block in payloads.blocks) == 50
    assert payloads.shifts == [0]
    assert payloads.sentinel == data.sentinel()


@pytest.mark.parametrize(
    "given", [{"campaigns": 0}, {"campaigns": 200_000}, {"events": "clicks"}, {"bad": 1.5}]
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Parameters(**given)


@pytest.mark.parametrize(
    ("query", "mode", "reason"),
    [
        ("topic", "continuous", "use ysb/redis"),
        ("redis", "realtime", "foreachBatch"),
    ],
)
def test_modes_that_cannot_give_one_final_count_are_refused(
    query: str, mode: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        resolve(query, mode=mode)


def test_partitions_may_be_out_of_step() -> None:
    assert [resolve("redis", count).watermark_delay_ms for count in (1, 2)] == [0, 1000]
