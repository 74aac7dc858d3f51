import os
from dataclasses import replace

import pytest

from streamgauge.engines.spark import SparkEngine
from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.workloads.espbench import Espbench
from streamgauge.workloads.espbench.spark import QUERIES
from streamgauge.workloads.espbench.spark_facts import FACTS

DEFAULT_MODES = {
    "q1": "realtime",
    "q2": "microbatch",
    "q3": "realtime",
    "q4": "realtime",
    "q5": "microbatch",
    "identity": "realtime",
}
REFUSED = [(name, mode) for name, facts in FACTS.items() for mode in facts.refused]


def job(query: str, partitions: int = 1, **options: str) -> JobSpec:
    return JobSpec(
        workload="espbench",
        query=query,
        parameters={},
        partitions=partitions,
        seed=1,
        options=options,
        least_rate=1000.0,
    )


def test_spark_answers_every_query() -> None:
    assert set(QUERIES) == set(FACTS) == set(Espbench.queries)


@pytest.mark.parametrize(("query", "mode"), DEFAULT_MODES.items())
def test_every_query_runs_in_its_best_mode(query: str, mode: str) -> None:
    assert SparkEngine().resolve(job(query)).mode == mode


@pytest.mark.parametrize(("query", "mode"), REFUSED)
def test_modes_without_a_final_answer_are_refused(query: str, mode: str) -> None:
    with pytest.raises(UsageError, match=f"cannot run {query} in mode {mode}: it |continuous proc"):
        SparkEngine().resolve(job(query, mode=mode))


def test_an_unknown_query_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="q9") as caught:
        SparkEngine().resolve(job("q9"))
    assert "q1, q2, q3" in str(caught.value.remedy)


def test_windows_of_several_partitions_stay_open_longer() -> None:
    for partitions, delay_ms in ((1, 0), (2, 100)):
        resolved = SparkEngine().resolve(job("q1", partitions, mode="microbatch"))
        assert resolved.watermark_delay_ms == delay_ms
        assert not resolved.closed_by_records


def test_records_close_windows_in_real_time() -> None:
    resolved = SparkEngine().resolve(job("q1", partitions=2))
    assert resolved.closed_by_records
    assert resolved.watermark_delay_ms == 10_000
    assert resolved.settings["spark.master"] == f"local[{2 + len(os.sched_getaffinity(0))}]"


def test_real_time_mode_has_a_slot_for_each_partition_of_both_streams() -> None:
    assert SparkEngine().resolve(job("q4", partitions=8)).settings["spark.master"] == "local[16]"


def test_fewer_cores_than_the_machine_has_are_kept_to() -> None:
    settings = SparkEngine().resolve(replace(job("q2"), cores=1)).settings
    assert settings["spark.master"] == "local[1]"
    assert settings["spark.sql.shuffle.partitions"] == "1"


def test_all_cores_are_used_when_nobody_says() -> None:
    cores = len(os.sched_getaffinity(0))
    assert SparkEngine().resolve(job("q2")).settings["spark.master"] == f"local[{cores}]"


def test_q4_reads_its_table_often_enough_to_see_a_downtime_ten_seconds_ahead() -> None:
    gap_s = 0.9
    assert FACTS["q4"].checkpoint_s >= 5
    assert FACTS["q4"].checkpoint_s + gap_s < 10
