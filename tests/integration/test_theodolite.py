"""Theodolite with a real PostgreSQL, and on a real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.validation.session import Session
from streamgauge.workloads.theodolite import Theodolite, store
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters
from streamgauge.workloads.theodolite.spark import attribute_of
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration]

BEGIN = 1_700_000_000_000
MIDNIGHT = 1_700_006_400_000
"""In UTC."""


@pytest.fixture
def endpoint(postgres: RunningService[PostgresEndpoint]) -> PostgresEndpoint:
    store.reset(postgres.endpoint)
    return postgres.endpoint


@pytest.fixture
def writer(endpoint: PostgresEndpoint) -> Iterator[store.Writer]:
    found = store.Writer(endpoint)
    yield found
    found.close()


def rows(*ids: int, watts: float = 12.25) -> pa.Table:
    found = [
        {
            "id": id_,
            "identifier": f"s_{id_}",
            "timestamp": BEGIN + id_,
            "value_in_w": watts,
            "json": f'{{"id":{id_},"identifier":"s_{id_}","valueInW":{watts}}}',
        }
        for id_ in ids
    ]
    return pa.Table.from_pylist(found, schema=store.RECORDS)


def test_what_was_stored_is_read_back_with_the_databases_time(
    endpoint: PostgresEndpoint, writer: store.Writer
) -> None:
    assert len(store.read(endpoint)) == 0
    writer.write(rows(1, 2))
    writer.write(rows(3))
    found = store.read(endpoint).sort_by("id")
    assert found.select(store.RECORDS.names).equals(rows(1, 2, 3))
    assert all(at > BEGIN for at in found["written_ms"].to_pylist())
    assert store.has(endpoint, [1, 3])
    assert not store.has(endpoint, [1, 4])


def test_a_batch_that_comes_again_changes_nothing(
    endpoint: PostgresEndpoint, writer: store.Writer
) -> None:
    writer.write(rows(1, 2))
    before = store.read(endpoint).sort_by("id")
    other = store.Writer(endpoint)
    other.write(rows(2, 3, watts=1.0))
    other.close()
    after = store.read(endpoint).sort_by("id")
    assert after.slice(0, 2).equals(before)
    assert after["value_in_w"].to_pylist() == [12.25, 12.25, 1.0]


def test_a_task_that_lost_its_connection_connects_again(endpoint: PostgresEndpoint) -> None:
    store.write(endpoint, rows(1))
    with psycopg.connect(**endpoint.connection(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND state = 'idle' AND query = 'COMMIT'"
        )
    with pytest.raises(psycopg.Error):
        store.write(endpoint, rows(2))
    store.write(endpoint, rows(2))
    assert store.has(endpoint, [1, 2])


@pytest.mark.spark
@pytest.mark.parametrize("attribute", ["hour-of-day", "day-of-week", "cycle:3:25m"])
@pytest.mark.parametrize(
    "zone", ["Europe/Paris", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
)
def test_spark_tells_the_same_hours_and_days(validator: Session, attribute: str, zone: str) -> None:
    """Also in the nights in which clocks are changed."""
    changing = ((3, 12), (3, 26), (4, 2), (10, 1), (10, 29), (11, 5))
    days = (int(datetime(2023, *day, tzinfo=UTC).timestamp() * 1000) for day in changing)
    quarters = (day + quarter * 900_000 for day in days for quarter in range(96))
    times = [MIDNIGHT - 1, MIDNIGHT, *quarters]
    readings = (
        validator.get()
        .createDataFrame([(time,) for time in times], "timestamp bigint")
        .withColumn("time", F.timestamp_millis("timestamp"))
    )
    value = attribute_of(Parameters(attribute=attribute, zone=zone)).alias("value")
    found = dict(tuple(row) for row in readings.select("timestamp", value).collect())
    expected = Attribute.parse(attribute).at(np.array(times, dtype=np.int64), zone)
    assert [found[time] for time in times] == expected.tolist()


def trial(bench: Bench, folder: Path, query: str, **changes: Any) -> TrialResult:
    spec = make_spec(query, workload_name="theodolite", rate=1000.0, **changes)
    result = run_trial(spec, bench, folder / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is not False, result.valid.reason
    return result


@pytest.mark.parametrize(
    ("fault", "found_as"),
    [
        ("unset", "missing"),
        pytest.param("early", "wrong", marks=pytest.mark.thorough),
        pytest.param("touch", "unexpected", marks=pytest.mark.thorough),
    ],
)
def test_a_table_that_is_wrong_is_found(
    bench: Bench, tmp_path: Path, fault: str, found_as: str
) -> None:
    result = trial(bench, tmp_path, "uc1-postgres", engine_options={"fault": fault}, duration_s=1.0)
    assert result.correct.holds is False, result.correct.reason
    assert getattr(result.counts, found_as) == 1


@pytest.mark.spark
def test_bad_records_other_zones_and_sensors_that_stop_change_no_answer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And slices in state of our own give what whole windows give."""
    monkeypatch.setenv("TZ", "America/St_Johns")
    result = trial(
        bench,
        tmp_path,
        "uc3-final",
        engine="spark",
        engine_options={"method": "pairs"},
        partitions=3,
        parameters={"bad": 0.1, "zone": "Asia/Kolkata", "attribute": "hour-of-day"},
        shape="steps:1k/s@1s,0/s@4s,1k/s@1s",
        duration_s=6.0,
    )
    assert result.correct.holds is True, result.correct.reason
    # Nine of ten records lie in four windows, some of them together with one of the same sensor.
    assert 2 * result.inputs < result.counts.expected < 0.95 * 4 * result.inputs


@pytest.mark.spark
def test_updates_are_right_however_often_they_come(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a workload remarks on the measured time is among the warnings."""

    def remark(self: Theodolite, spec: TrialSpec, measured: Span) -> list[str]:
        return [f"an hour began after {measured.end_ms - measured.start_ms} ms"]

    monkeypatch.setattr(Theodolite, "remarks", remark)
    result = trial(
        bench,
        tmp_path,
        "uc3-update",
        engine="spark",
        parameters={"sensors": 20, "window": 86_400.0, "slide": 86_400.0 / 2},
    )
    assert result.correct.holds is True, result.correct.reason
    assert "right intermediate ones" in result.correct.reason
    counts = result.counts
    assert counts.intermediate > counts.expected > 0
    assert counts.outputs == counts.correct + counts.intermediate
    assert "latency.p50" in result.metrics, "they have latencies as well"
    assert "an hour began after 3000 ms" in result.warnings
