"""What every engine must do: written once, run for each combination there is.

`make test` runs each query once, as a user gets it who names the query alone, of workloads with
many queries some; `make conformance` runs all.
"""

import signal
from pathlib import Path
from typing import Any

import pytest

from streamgauge.planning import load_engine, settle, trial_job
from streamgauge.spec.trial import TrialSpec
from streamgauge.trial import phases
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.conformance.cells import FAILS, REFUSED, USUAL, Cell, cells
from tests.integration.trials import PATIENT, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]


CHOSEN = [
    pytest.param(
        cell,
        partitions,
        id=f"{cell}-{partitions}",
        marks=() if cell.is_usual and partitions == USUAL else pytest.mark.thorough,
    )
    for cell in cells()
    if not cell.gap(REFUSED)
    for partitions in cell.partitions
]


@pytest.mark.parametrize(("cell", "partitions"), CHOSEN)
def test_every_answer_is_right(bench: Bench, tmp_path: Path, cell: Cell, partitions: int) -> None:
    spec = spec_of(cell, partitions)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    if known := cell.gap(FAILS):
        assert result.status == "failed", "this gap is closed: take it out of FAILS"
        assert any(reason in (result.cause or "") for reason in known), result.cause
        return
    assert result.status == "done", result.cause
    assert result.valid.holds is not False, result.valid.reason
    assert result.inputs >= 3000
    if not load_engine(cell.engine).answers:
        assert result.correct.holds is None
        return
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 2
    assert result.measured_ms is not None
    begin, end = result.measured_ms
    assert all(begin <= at < end for at in result.checkpoints_ms)
    assert result.checkpoints_ms or spec.duration_s < 10


def spec_of(cell: Cell, partitions: int = USUAL) -> TrialSpec:
    """Return a trial that is short, but long enough for checkpoints that come often."""
    planned = cell.plan(partitions)
    often = 0 < (trial_job(planned).checkpoint_s or 0) <= 5
    changes = {"load": PATIENT, "tail_s": 0.5, "duration_s": 12.0 if often else planned.duration_s}
    return settle(planned.model_copy(update=changes))


@pytest.mark.thorough
def test_windows_of_a_single_partition_close_as_well(bench: Bench, tmp_path: Path) -> None:
    result = run_trial(
        make_spec("q2", engine="spark", rate=2000.0), bench, tmp_path / "001", lambda _: None
    )
    assert result.correct.holds is True, result.correct.reason


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("aggregation", "1s,1s"),
        pytest.param("join", "2s,250ms", marks=pytest.mark.thorough),
    ],
)
def test_records_that_come_too_late_for_a_window_are_told_and_no_error(
    bench: Bench, tmp_path: Path, query: str, window: str
) -> None:
    disorder = {"allowed_delay": "400ms", "disorder": 0.3, "late": 0.01}
    few = {"packs": 50, "selectivity": 0.3, "window": window}
    spec = make_spec(query, workload_name="rovio", rate=1000.0, parameters={**disorder, **few})
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 100
    assert any("came too late" in warning for warning in result.warnings)
    assert "event_latency.p50" in result.metrics
    assert "processing_latency.min" not in result.metrics, "the engine does not say when it began"


def test_a_killed_engine_fails_its_trial(bench: Bench, tmp_path: Path) -> None:
    def kill(event: Any) -> None:
        if event.get("phase") == "measure":
            for process in ours("-m streamgauge.engines.spark"):
                process.send_signal(signal.SIGKILL)

    result = run_trial(make_spec("q3", engine="spark"), bench, tmp_path / "001", kill)
    assert result.status == "failed"
    assert "the engine died" in (result.cause or "")
    assert (result.correct.holds, result.kept_up.holds) == (None, None)


@pytest.mark.parametrize(
    ("engine", "query", "options"),
    [
        ("reference", "q3", {}),
        pytest.param("spark", "q1", {"mode": "microbatch"}, marks=pytest.mark.thorough),
    ],
)
def test_a_probe_tells_how_fast_a_backlog_is_worked_off(
    bench: Bench, tmp_path: Path, engine: str, query: str, options: dict[str, str]
) -> None:
    times = {"rate": 20_000.0, "duration_s": 3.0, "warmup_s": 0.0, "tail_s": 0.0}
    spec = make_spec(query, engine=engine, engine_options=options, backlog=True, **times)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.metrics["rate.catch_up"] > 500
    assert result.correct.holds is True, result.correct.reason
    assert (result.valid.holds, result.kept_up.holds, result.pace) == (None, None, None)
    assert result.inputs == 60_001


def test_an_engine_without_progress_is_refused_where_markers_have_no_answer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "CONSUME_LIMIT_S", 3.0)
    options = {"command": "sh -c 'sleep 600'"}
    spec = make_spec("q1", engine="command", engine_options=options)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "failed"
    assert "must report its progress" in (result.cause or "")
