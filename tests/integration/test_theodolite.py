"""Theodolite with a real PostgreSQL, and on a real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.workloads.theodolite import Theodolite, store
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration]

BEGIN = 1_700_000_000_000


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


def trial(bench: Bench, folder: Path, query: str, **changes: Any) -> TrialResult:
    spec = make_spec(query, workload_name="theodolite", rate=1000.0, **changes)
    result = run_trial(spec, bench, folder / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is not False, result.valid.reason
    return result


@pytest.mark.parametrize(
    ("fault", "found_as"), [("unset", "missing"), ("early", "wrong"), ("touch", "unexpected")]
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
    """And slices give what whole windows give."""
    monkeypatch.setenv("TZ", "America/St_Johns")
    result = trial(
        bench,
        tmp_path,
        "uc3-final",
        engine="spark",
        engine_options={"windows": "sliced"},
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
