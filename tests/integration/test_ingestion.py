"""Trials of the broker alone, with a broker that tells what it counts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streamgauge.load import arrivals
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.running import Options, RunningService
from streamgauge.spec.trial import LoadSpec, TrialResult
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def telling() -> Iterator[RunningService[KafkaEndpoint]]:
    with EmbeddedKafka(Options(counts=True)).up() as running:
        yield running


def no_spark() -> Any:
    raise AssertionError("the broker's trials need no Spark")


def run(kafka: RunningService[KafkaEndpoint], folder: Path, **changes: Any) -> TrialResult:
    bench = Bench(services={"kafka": kafka}, spark=no_spark, cache=folder, prefix="test")
    spec = make_spec("q1", engine=None, **changes)
    return run_trial(spec, bench, folder / "001", lambda _: None)


def test_the_rate_is_reached_and_the_broker_counts_the_same(
    telling: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    load = LoadSpec(acks="1", idempotence=False, senders=2)
    result = run(telling, tmp_path, rate=5000.0, duration_s=5.0, load=load)
    assert (result.status, result.cause) == ("done", None), result.warnings
    assert result.valid.holds is True
    assert result.kept_up.holds is True
    assert result.inputs == arrivals.records(result.spec)
    metrics = result.metrics
    # How fast is not asserted: a busy machine may be late. How many must agree.
    timeline = pq.read_table(tmp_path / "001" / "timeline.parquet").to_pylist()
    last = [row for row in timeline if row.get("broker.messages") and row.get("log_end")][-1]
    assert last["broker.messages"] == pytest.approx(last["log_end"], rel=0.3)
    assert {"rate.appended", "rate_per_second.p50", "broker.messages"} <= set(metrics)
    assert metrics["bytes.appended"] == pytest.approx(205 * metrics["rate.appended"], rel=0.1)
    value_bytes = metrics["bytes.appended"] / metrics["rate.appended"]
    assert metrics["broker.bytes"] / metrics["broker.messages"] > value_bytes
    assert metrics["request.p50"] > 0
    assert metrics["cpu.broker"] > 0
    assert {"append_run.mean", "append_step.mean", "lateness.p99"} <= set(metrics)
    times = pq.read_table(tmp_path / "001" / "append_times.parquet")
    assert times["offset"].to_pylist() == sorted(times["offset"].to_pylist())


def test_without_acknowledgements_the_log_tells_what_a_given_broker_took(
    telling: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    given = replace(telling, clock_offset=GivenKafka(telling.endpoint).clock_offset)
    load = LoadSpec(acks="0", idempotence=False, senders=2, min_sent=0.5)
    result = run(given, tmp_path, rate=2000.0, load=load)
    assert (result.status, result.warnings) == ("done", []), result.cause
    assert result.kept_up.holds is True
    assert result.inputs == result.sender["acknowledged"]
    assert "the services' clocks are at most" in result.valid.reason
    assert {"broker.messages", "append_run.mean"} <= set(result.metrics)
    assert not any(name.startswith("request.") for name in result.metrics)


def test_a_load_that_is_not_taken_is_a_result_and_names_the_limit(
    telling: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    load = LoadSpec(buffer=4096, batch=1024, linger_s=0.2)
    result = run(telling, tmp_path, rate=100_000.0, load=load)
    assert result.status == "done"
    assert result.valid.holds is True
    assert result.kept_up.holds is False
    assert "buffer was full" in result.kept_up.reason
    assert result.metrics["rate.appended"] < 100_000


def test_a_given_brokers_counters_are_left_out_and_that_is_said(
    kafka: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    result = run(kafka, tmp_path)
    assert result.status == "done"
    assert "broker.messages" not in result.metrics
    assert any("counters are left out" in text for text in result.warnings)
