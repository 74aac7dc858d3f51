"""What every engine must do: written once, run for each."""

import signal
from pathlib import Path
from typing import Any

import pytest

from streamgauge.spec.trial import TrialResult
from streamgauge.trial import phases
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ENGINES = ("reference", "spark")
QUERIES = ("q1", "q2", "q3", "q4", "q5", "identity")
CASES = [
    *(("reference", query, 1) for query in QUERIES),
    *(("spark", query, 2) for query in QUERIES if query != "q4"),  # q4: with its checkpoints, below
    ("spark", "q2", 1),  # windows close otherwise than with several partitions; q1: see its probe
]
SHORT_WINDOWS = {"window": "1s,500ms", "packs": 50, "selectivity": 0.3}
DISORDER = {"allowed_delay": "400ms", "disorder": 0.3, "late": 0.01}


@pytest.mark.parametrize(("engine", "query", "partitions"), CASES)
def test_every_answer_is_right(
    bench: Bench, tmp_path: Path, engine: str, query: str, partitions: int
) -> None:
    spec = make_spec(query, engine=engine, rate=2000.0, partitions=partitions)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 2


@pytest.mark.parametrize(
    ("engine", "query", "changes"),
    [
        ("reference", "aggregation", {**DISORDER, "window": "1s,1s"}),
        ("reference", "join", {**DISORDER, "window": "2s,250ms"}),
        ("spark", "aggregation", {}),
        ("spark", "join", {}),
    ],
)
def test_every_window_is_right(
    bench: Bench, tmp_path: Path, engine: str, query: str, changes: dict[str, Any]
) -> None:
    spec = make_spec(
        query,
        engine=engine,
        workload_name="rovio",
        rate=1000.0,
        partitions=2 if engine == "spark" else 1,
        parameters={**SHORT_WINDOWS, **changes},
    )
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 100
    stamped = "processing_latency.min" in result.metrics
    assert stamped == (engine == "spark"), "the reference engine does not say when it took them in"
    assert "event_latency.p50" in result.metrics
    late = [warning for warning in result.warnings if "came too late" in warning]
    assert late or not changes


@pytest.mark.parametrize("engine", [*ENGINES, "noop"])
def test_a_killed_engine_fails_its_trial(bench: Bench, tmp_path: Path, engine: str) -> None:
    result = _run_and_kill(bench, tmp_path, engine)
    assert result.status == "failed"
    assert result.cause is not None
    assert "the engine died" in result.cause
    assert (result.correct.holds, result.kept_up.holds) == (None, None)


@pytest.mark.parametrize(("engine", "query"), [("reference", "q3"), ("spark", "q1")])
def test_a_probe_tells_how_fast_a_backlog_is_worked_off(
    bench: Bench, tmp_path: Path, engine: str, query: str
) -> None:
    times = {"rate": 20_000.0, "duration_s": 3.0, "warmup_s": 0.0, "tail_s": 0.0}
    spec = make_spec(query, engine=engine, preload=True, **times)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.metrics["rate.catch_up"] > 500
    assert result.correct.holds is True, result.correct.reason
    assert (result.valid.holds, result.kept_up.holds, result.pace) == (None, None, None)
    assert result.inputs == 60_001


def test_the_gaps_of_checkpoints_are_marked(bench: Bench, tmp_path: Path) -> None:
    spec = make_spec("q4", engine="spark", rate=1000.0, partitions=2, duration_s=12.0)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.correct.holds is True, result.correct.reason
    assert result.measured_ms is not None
    begin, end = result.measured_ms
    assert result.checkpoints_ms
    assert all(begin <= at < end for at in result.checkpoints_ms)


def test_an_engine_without_progress_is_refused_where_markers_have_no_answer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "CONSUME_LIMIT_S", 3.0)
    options = {"command": "sh -c 'sleep 600'"}
    spec = make_spec("q1", engine="command", engine_options=options)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "failed"
    assert "must report its progress" in (result.cause or "")


def _run_and_kill(bench: Bench, tmp_path: Path, engine: str) -> TrialResult:
    def kill(event: Any) -> None:
        if event.get("phase") == "measure":
            for process in ours(f"-m streamgauge.engines.{engine}"):
                process.send_signal(signal.SIGKILL)

    return run_trial(make_spec("q3", engine=engine), bench, tmp_path / "001", kill)


def test_reading_and_dropping_is_no_answer(bench: Bench, tmp_path: Path) -> None:
    result = run_trial(make_spec("q3", engine="noop"), bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.correct.holds is None
    assert result.inputs > 10_000
