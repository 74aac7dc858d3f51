from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.planning import load_engine
from streamgauge.spec.form import JSON
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


def resolve(
    query: str,
    partitions: int = 1,
    rate: float = 20_000.0,
    parameters: Mapping[str, Any] | None = None,
    **options: str,
) -> JobSpec:
    job = JobSpec(
        workload="ysb",
        query=query,
        parameters=dict(parameters or {}),
        partitions=partitions,
        seed=1,
        least_rate=rate / partitions,
        options=options,
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


def test_in_real_time_views_close_windows() -> None:
    job = resolve("topic", mode="realtime")
    assert (job.mode, job.closed_by_records) == ("realtime", True)
    assert resolve("topic").mode == "microbatch"


@pytest.mark.parametrize(
    ("rate", "parameters", "reason"),
    [
        (20_000.0, {"cache": False}, "ask Redis for each event"),
        (20_000.0, {"skew": True}, "none may be late"),
        (20_000.0, {"campaigns": 16_000}, r"about 4\.2 views"),
        (200.0, {}, r"about 6\.7 views"),
        (200.0, {"events": "views"}, None),
        (5.0, {"campaigns": 1}, "fewer than 10 records"),
    ],
)
def test_where_views_cannot_close_windows_real_time_is_refused(
    rate: float, parameters: dict[str, Any], reason: str | None
) -> None:
    if reason is None:
        assert resolve("topic", rate=rate, parameters=parameters, mode="realtime").mode
        return
    with pytest.raises(UsageError, match=reason):
        resolve("topic", rate=rate, parameters=parameters, mode="realtime")


def test_a_marker_tells_which_count_answers_it() -> None:
    payloads = Ysb().payloads(spec(), "events", 1)
    assert payloads.marker is not None
    marker = JSON.value(7, 1_700_000_012_345, payloads.marker % 1_700_000_012_345)
    window_of = Ysb.queries["topic"].window_of
    assert window_of is not None
    campaign = data.campaigns(100, 1)[0].decode()
    assert window_of(marker, 0) == f"1700000010000,{campaign}"
