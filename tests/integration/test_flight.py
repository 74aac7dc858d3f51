"""Trials over the harness's own queues: no broker, every answer checked all the same."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import flight

from streamgauge.engines.spark import SparkEngine
from streamgauge.load.senders import Senders
from streamgauge.planning import trial_job
from streamgauge.services import runtime
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Resources
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.transports.flight import FlightTransport
from streamgauge.transports.flight.client import QueueClient
from streamgauge.transports.flight.endpoint import FlightEndpoint
from streamgauge.transports.flight.log import QueueLog
from streamgauge.transports.flight.outputs import FILE as OUTPUTS
from streamgauge.transports.flight.queue import queue_of
from streamgauge.trial.again import validate_again
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.validation.session import Session
from tests.integration.trials import PATIENT, make_bench, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]

AN_OUTPUT = pa.record_batch({"value": [b"1,1,1"]})
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


@pytest.mark.parametrize(
    ("engine", "query"),
    [("reference", "aggregation"), ("spark", "join")],  # its sums: see below
)
def test_every_answer_is_right_and_late_records_are_judged_as_over_kafka(
    bench: Bench, tmp_path: Path, engine: str, query: str
) -> None:
    disorder = {"allowed_delay": "400ms", "disorder": 0.3, "late": 0.01}
    result = run(bench, tmp_path, query, engine=engine, parameters=disorder)
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
    assert [warning for warning in result.warnings if "came too late" in warning]


def test_a_wrong_answer_is_found(bench: Bench, tmp_path: Path) -> None:
    result = run(bench, tmp_path, engine_options={"fault": "repeat:20"})
    assert (result.correct.holds, result.counts.duplicate) == (False, 1)


SKIPS_A_PARTITION = """
import json, pathlib, sys, time
from streamgauge.engines import job as jobs
from streamgauge.jobfile import ProgressWriter
from streamgauge.transports.flight.client import QueueClient
job, endpoints = jobs.read(pathlib.Path(sys.argv[1]))
with ProgressWriter(job.progress) as writer, QueueClient(endpoints.via) as client:
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


def test_outputs_that_come_after_the_drain_stay_missing_whenever_validated(
    bench: Bench, tmp_path: Path
) -> None:
    result = run(bench, tmp_path, engine_options={"fault": "late:20"}, keep=True)
    assert (result.counts.missing, result.correct.holds) == (1, False)
    again = validate_again(bench.spark(), tmp_path / "001", result)
    assert (again.counts, again.inputs) == (result.counts, result.inputs)


@pytest.mark.thorough
def test_a_probe_finds_everything_there_at_once(bench: Bench, tmp_path: Path) -> None:
    times = {"rate": 20_000.0, "duration_s": 3.0, "warmup_s": 0.0, "tail_s": 0.0}
    result = run(bench, tmp_path, backlog=True, **times)
    assert result.status == "done", result.cause
    assert result.metrics["rate.catch_up"] > 1000
    assert result.correct.holds is True, result.correct.reason


def test_reading_and_dropping_tells_the_ceiling(bench: Bench, tmp_path: Path) -> None:
    result = run(bench, tmp_path, engine="noop", rate=200_000.0)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.inputs == 800_006


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
            for process in ours("-m streamgauge.transports.flight.server"):
                process.send_signal(signal.SIGKILL)

    result = run_trial(spec_of(), bench, tmp_path / "001", kill)
    assert result.status == "invalid"
    assert "the sender died" in (result.cause or "")


@contextmanager
def serve(folder: Path, spec: TrialSpec) -> Iterator[tuple[Senders, Endpoints]]:
    """Let the queues of a trial hold all of its load."""
    (folder / "logs").mkdir()
    endpoint = FlightEndpoint("127.0.0.1", runtime.free_port(), "right")
    endpoints = Endpoints(
        transport="flight",
        via=endpoint,
        inputs={"purchases": "purchases"},
        output="out",
        partitions=2,
        group="",
    )
    sending = FlightTransport().sending(endpoints)
    with Senders.start(spec, endpoints, sending, folder) as senders:
        senders.ready(60)
        senders.begin(time.time_ns() // 1_000_000)
        wait_until(lambda: senders.finished)
        yield senders, endpoints
        senders.finish()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[tuple[Senders, FlightEndpoint]]:
    spec = spec_of(rate=1_000_000.0, backlog=True, warmup_s=0.0, tail_s=0.0)
    with serve(tmp_path, spec) as (senders, endpoints):
        yield senders, FlightEndpoint.of(endpoints.via)


def test_who_does_not_know_the_token_is_kept_out(
    queues: tuple[Senders, FlightEndpoint], tmp_path: Path
) -> None:
    _, endpoint = queues
    for token in ("wrong", ""):
        stranger = FlightEndpoint(endpoint.host, endpoint.port, token)
        with QueueClient(stranger) as client:
            refused: tuple[tuple[type[Exception], Callable[[QueueClient], object]], ...] = (
                (flight.FlightUnauthenticatedError, QueueClient.state),
                (flight.FlightUnauthenticatedError, lambda c: list(c.read("purchases", 0, 0, 1))),
                (flight.FlightUnauthenticatedError, lambda c: c.commit({"purchases": [0, 0]})),
                (OSError, lambda c: c.schema("purchases")),  # as PyArrow tells it
                (flight.FlightUnauthenticatedError, lambda c: c.write([AN_OUTPUT])),
            )
            for error, ask in refused:
                with pytest.raises(error, match="token"):
                    ask(client)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b'"right"' not in file.read_bytes()


def test_what_was_not_committed_can_be_read_again(
    queues: tuple[Senders, FlightEndpoint],
) -> None:
    with QueueClient(queues[1]) as client:
        first = list(client.read("purchases", 1, 0, 10))
        assert list(client.read("purchases", 1, 0, 10)) == first
        with pytest.raises(pa.ArrowInvalid, match="not pulled cannot be finished"):
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

    def overrun() -> bool:
        senders.poll()
        return senders.overrun() is not None

    wait_until(overrun)
    assert "broke off the transfer of purchases" in (senders.overrun() or "")


ROWS = 4000
"""Of a batch at most."""


def test_spark_takes_as_much_as_it_may_and_reads_again_what_it_had_not_committed(
    tmp_path: Path,
) -> None:
    options = {"conf.source.maxRows": str(ROWS)}
    backlog = {"backlog": True, "rate": 4000.0, "duration_s": 12.0, "warmup_s": 0.0, "tail_s": 0.0}
    spec = spec_of(engine="spark", engine_options=options, **backlog)
    engine, job = SparkEngine(), trial_job(spec)
    resources = Resources(tuple(sorted(os.sched_getaffinity(0))))
    with (
        serve(tmp_path, spec) as (_, endpoints),
        QueueClient(FlightEndpoint.of(endpoints.via)) as client,
    ):

        def left() -> int:
            state = client.state()
            return sum(state["ends"]["purchases"]) - sum(state["committed"]["purchases"])

        with ExitStack() as both:
            killed = both.enter_context(engine.start(job, endpoints, resources, tmp_path))
            wait_until(lambda: left() <= 8 * ROWS)
            for pid in killed.processes():
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: killed.failure() is not None)
            both.enter_context(engine.start(job, endpoints, resources, tmp_path))
            wait_until(lambda: left() <= ROWS)  # the last batch is committed with the one after it
    taken = batch_sizes(tmp_path)
    assert 0 < max(taken) <= ROWS
    outputs = pq.read_table(tmp_path / OUTPUTS)["value"].to_pylist()
    found = {tuple(map(int, value.split(b",")[:3])) for value in outputs}
    expected = sums(spec, tmp_path)
    assert found <= expected
    closed = sorted(expected)[0][0] + 7_000
    assert {each for each in expected if each[0] < closed} <= found


def batch_sizes(folder: Path) -> list[int]:
    lines = map(json.loads, (folder / "progress.jsonl").read_text().splitlines())
    return [line["batch"]["records"] for line in lines if "batch" in line]


def sums(spec: TrialSpec, folder: Path) -> set[tuple[int, int, int]]:
    """Add up all that was offered: window, gem pack and sum."""
    queue, filling = queue_of(spec, "purchases"), QueueLog.read(folder).filling
    found: dict[tuple[int, int], int] = {}
    for partition, end in enumerate(queue.ends(filling)):
        for batch in queue.batches(partition, 0, end, filling):
            event, pack, price = (batch[name].to_numpy() for name in ("intended", "pack", "price"))
            for back_ms in (0, 500):
                starts = event // 500 * 500 - back_ms
                for key in np.unique(starts).tolist():
                    of = starts == key
                    added = np.bincount(pack[of], price[of])
                    for number in np.unique(pack[of]).tolist():
                        at = key, number
                        found[at] = found.get(at, 0) + int(added[number])
    return {(*at, total) for at, total in found.items()}
