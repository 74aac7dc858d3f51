"""Trials over the driver's own queues: no broker, every answer checked all the same."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from streamgauge.load.senders import Senders
from streamgauge.services import runtime
from streamgauge.spec.endpoints import FlightEndpoint
from streamgauge.spec.transport import Endpoints
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.transports.flight import QueueClient
from streamgauge.trial.again import validate_again
from streamgauge.trial.bench import Bench
from streamgauge.trial.phases import run_trial
from streamgauge.validation.session import Session
from tests.conformance.test_trials import HASTY
from tests.integration.trials import PATIENT, make_bench, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SHORT_WINDOWS = {"window": "1s,500ms", "packs": 50, "selectivity": 0.3}


@pytest.fixture(scope="module")
def bench(validator: Session) -> Bench:
    """No broker and no database."""
    return make_bench({}, validator)


def spec_of(query: str = "aggregation", **changes: Any) -> TrialSpec:
    parameters = {**SHORT_WINDOWS, **changes.pop("parameters", {})}
    fields = {"workload_name": "rovio", "transport": "flight", "partitions": 2, "rate": 2000.0}
    return make_spec(query, parameters=parameters, **{**fields, **changes})


def run(bench: Bench, folder: Path, query: str = "aggregation", **changes: Any) -> TrialResult:
    return run_trial(spec_of(query, **changes), bench, folder / "001", lambda _: None)


@pytest.mark.parametrize("query", ["aggregation", "join"])
@pytest.mark.parametrize("engine", ["reference", "spark"])
def test_every_answer_is_right(bench: Bench, tmp_path: Path, engine: str, query: str) -> None:
    options = HASTY.get(engine, {})
    result = run(bench, tmp_path, query, engine=engine, engine_options=options)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 100
    streams = 1 if query == "aggregation" else 2
    load = int(2000 * (0.5 + 3.0 + 0.5))
    assert result.inputs == streams * (load + 3 * 2), "markers, load and sentinels, each once"
    assert {"event_latency.p50", "lateness.p99", "lag.p50"} <= set(result.metrics)
    assert ("processing_latency.p50" in result.metrics) == (engine == "spark")
    assert not (tmp_path / "001" / "records").exists()


def test_delayed_and_late_records_are_judged_as_over_kafka(bench: Bench, tmp_path: Path) -> None:
    disorder = {"allowed_delay": "400ms", "disorder": 0.3, "late": 0.01}
    result = run(bench, tmp_path, parameters=disorder)
    assert result.correct.holds is True, result.correct.reason
    assert [warning for warning in result.warnings if "came too late" in warning]


@pytest.mark.parametrize(("fault", "count"), [("drop", "missing"), ("repeat", "duplicate")])
def test_a_wrong_answer_is_found(bench: Bench, tmp_path: Path, fault: str, count: str) -> None:
    result = run(bench, tmp_path, engine_options={"fault": f"{fault}:20"})
    assert result.correct.holds is False
    assert getattr(result.counts, count) == 1


SKIPS_A_PARTITION = """
import json, pathlib, sys, time
from streamgauge.engines import job as jobs
from streamgauge.transports.flight import QueueClient
_, endpoints, progress = jobs.read(pathlib.Path(sys.argv[1]))
with jobs.ProgressWriter(progress) as writer, QueueClient(endpoints.queues) as client:
    while True:
        ends = client.state()["ends"]
        writer.report({stream: ends[queue] for stream, queue in endpoints.inputs.items()}, True)
        time.sleep(0.2)
"""


def test_an_engine_that_skips_its_input_lacks_the_answers(bench: Bench, tmp_path: Path) -> None:
    program = tmp_path / "engine.py"
    program.write_text(SKIPS_A_PARTITION)
    options = {"command": shlex.join([sys.executable, str(program)])}
    result = run(bench, tmp_path, engine="command", engine_options=options)
    assert result.correct.holds is False, result.correct.reason
    assert result.counts.missing == result.counts.expected > 100


def test_outputs_that_come_after_the_drain_stay_missing(bench: Bench, tmp_path: Path) -> None:
    result = run(bench, tmp_path, engine_options={"fault": "late:20"}, keep=True)
    assert (result.counts.missing, result.correct.holds) == (1, False)
    again = validate_again(bench.spark(), tmp_path / "001", result)
    assert again.counts == result.counts


def test_a_probe_finds_everything_there_at_once(bench: Bench, tmp_path: Path) -> None:
    times = {"rate": 20_000.0, "duration_s": 3.0, "warmup_s": 0.0, "tail_s": 0.0}
    result = run(bench, tmp_path, preload=True, **times)
    assert result.status == "done", result.cause
    assert result.metrics["rate.catch_up"] > 1000
    assert result.correct.holds is True, result.correct.reason


def test_reading_and_dropping_tells_the_ceiling(bench: Bench, tmp_path: Path) -> None:
    result = run(bench, tmp_path, engine="noop", rate=200_000.0)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.inputs == 800_006


def test_kept_outputs_are_validated_again(bench: Bench, tmp_path: Path) -> None:
    result = run(bench, tmp_path, keep=True)
    again = validate_again(bench.spark(), tmp_path / "001", result)
    assert again.counts == result.counts
    assert again.inputs == result.inputs


def test_a_full_queue_is_unsustainable(bench: Bench, tmp_path: Path) -> None:
    load = PATIENT.model_copy(update={"queue": 100_000})
    result = run(bench, tmp_path, engine_options={"fault": "hang:1"}, load=load)
    assert result.status == "failed"
    assert (result.cause or "").startswith("unsustainable: the queues are full")


def test_a_killed_engine_fails_its_trial(bench: Bench, tmp_path: Path) -> None:
    def kill(event: Any) -> None:
        if event.get("phase") == "measure":
            for process in ours("-m streamgauge.engines.reference"):
                process.send_signal(signal.SIGKILL)

    result = run_trial(spec_of(), bench, tmp_path / "001", kill)
    assert result.status == "failed"
    assert "the engine died" in (result.cause or "")


def test_dead_queues_are_no_verdict_on_the_engine(bench: Bench, tmp_path: Path) -> None:
    def kill(event: Any) -> None:
        if event.get("phase") == "measure":
            for process in ours("-m streamgauge.load.queue_server"):
                process.send_signal(signal.SIGKILL)

    result = run_trial(spec_of(), bench, tmp_path / "001", kill)
    assert result.status == "invalid"
    assert "the sender died" in (result.cause or "")


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[tuple[Senders, FlightEndpoint]]:
    (tmp_path / "logs").mkdir()
    endpoint = FlightEndpoint("127.0.0.1", runtime.free_port(), "right")
    endpoints = Endpoints(
        kafka=None,
        inputs={"purchases": "purchases"},
        output="out",
        partitions=2,
        group="",
        flight=endpoint,
    )
    spec = spec_of(rate=1_000_000.0, preload=True, warmup_s=0.0, tail_s=0.0)
    with Senders.start(spec, endpoints, tmp_path) as senders:
        senders.ready(60)
        senders.begin(time.time_ns() // 1_000_000)
        while not senders.finished:
            time.sleep(0.05)
        yield senders, endpoint


def test_who_does_not_know_the_token_is_kept_out(
    queues: tuple[Senders, FlightEndpoint], tmp_path: Path
) -> None:
    _, endpoint = queues
    for token in ("wrong", ""):
        stranger = FlightEndpoint(endpoint.host, endpoint.port, token)
        with QueueClient(stranger) as client:
            for ask in (client.state, lambda c=client: list(c.read("purchases", 0, 0, 1))):
                with pytest.raises(flight.FlightUnauthenticatedError):
                    ask()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b'"right"' not in file.read_bytes()


def test_what_was_not_committed_can_be_read_again(
    queues: tuple[Senders, FlightEndpoint],
) -> None:
    with QueueClient(queues[1]) as client:
        first = list(client.read("purchases", 1, 0, 10))
        assert list(client.read("purchases", 1, 0, 10)) == first
        with pytest.raises(pa.ArrowInvalid, match="nobody can be done with what was not pulled"):
            client.commit({"purchases": [0, 11]})
        client.commit({"purchases": [0, 10]})
        assert client.state()["committed"] == {"purchases": [0, 10]}
        for start, stop in ((0, 10), (10, 10**9), (20, 10)):
            with pytest.raises(pa.ArrowInvalid, match="has the offsets 10 to"):
                list(client.read("purchases", 1, start, stop))


def test_a_transfer_that_is_broken_off_is_an_overrun(
    queues: tuple[Senders, FlightEndpoint],
) -> None:
    senders, endpoint = queues
    client = QueueClient(endpoint)
    transfer = client.read("purchases", 0, 0, 1_000_000)
    next(transfer)
    transfer.close()
    client.close()
    deadline = time.monotonic() + 20
    while senders.overrun() is None and time.monotonic() < deadline:
        senders.poll()
        time.sleep(0.05)
    assert "broke off the transfer of purchases" in (senders.overrun() or "")
