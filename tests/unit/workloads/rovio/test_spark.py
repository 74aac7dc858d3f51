from __future__ import annotations

import pytest

from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.planning import load_engine
from streamgauge.workloads.rovio import Rovio
from streamgauge.workloads.rovio.spark import QUERIES
from streamgauge.workloads.rovio.spark_facts import FACTS


def job(query: str, partitions: int = 1, **options: str) -> JobSpec:
    return JobSpec(
        workload="rovio",
        query=query,
        parameters={},
        partitions=partitions,
        seed=1,
        options=options,
    )


def test_every_query_is_there() -> None:
    assert set(QUERIES) == set(FACTS) == set(Rovio.queries)


@pytest.mark.parametrize("query", ["aggregation", "join"])
@pytest.mark.parametrize("mode", ["realtime", "continuous"])
def test_modes_that_cannot_give_one_final_output_are_refused(query: str, mode: str) -> None:
    with pytest.raises(UsageError, match=f"spark cannot run {query} in mode {mode}"):
        load_engine("spark").resolve(job(query, mode=mode))


def test_the_join_is_tuned_unless_the_defaults_are_asked_for() -> None:
    spark = load_engine("spark")
    tuned = spark.resolve(job("join")).settings
    plain = spark.resolve(job("join", profile="defaults")).settings
    assert tuned["spark.driver.memory"] == "4g" != plain["spark.driver.memory"]


def test_partitions_may_be_out_of_step() -> None:
    resolved = [load_engine("spark").resolve(job("join", count)) for count in (1, 2)]
    assert [spec.watermark_delay_ms for spec in resolved] == [0, 100]
    assert {spec.mode for spec in resolved} == {"microbatch"}
