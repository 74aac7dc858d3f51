"""From what became known of a trial to its verdicts and metrics; every time is given."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.jobfile import JobSpec
from streamgauge.load.protocol import SenderSummary
from streamgauge.measure.matching import EXAMPLES, LATENCIES
from streamgauge.measure.verdicts import Drain
from streamgauge.spec.progress import BatchReport, FinishedBatch
from streamgauge.spec.trial import Counts, TrialResult, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.trial.bench import TrialState
from streamgauge.trial.record import result
from streamgauge.validation.tasks import TIMES
from streamgauge.validation.validator import Validation
from streamgauge.workloads.espbench.workload import Espbench

BEGIN = 1_700_000_000_000
SPAN = Span(BEGIN, BEGIN + 60_000)
RATE = 10
Q3 = Espbench.queries["q3"]


def make_spec(**changes: Any) -> TrialSpec:
    fields: dict[str, Any] = {
        "number": 1,
        "workload": "espbench",
        "query": "q3",
        "parameters": {},
        "engine": "reference",
        "rate": float(RATE),
        "duration_s": 60.0,
        "warmup_s": 10.0,
    }
    return TrialSpec(**(fields | changes))


def make_validation(
    late_ms: int = 1, latency_ms: Any = 5, counts: Counts | None = None
) -> Validation:
    """Return what is found of a load from 10 s before the measured span to 2 s after it."""
    intended = BEGIN + np.arange(-10 * RATE, 62 * RATE) * 1000 // RATE
    times = [intended + late_ms, intended, np.ones_like(intended)]
    rows = len(intended)
    columns = {
        "key": [str(n) for n in range(rows)],
        "intended": intended,
        "appended": intended + late_ms,
        "emitted": intended + late_ms + latency_ms,
        "window_end": pa.nulls(rows, pa.int64()),
        "correct": np.ones(rows, dtype=bool),
        "event": pa.nulls(rows, pa.int64()),
        "ingested": pa.nulls(rows, pa.int64()),
    }
    return Validation(
        counts=counts or Counts(expected=rows, correct=rows),
        latencies=pa.table(columns, schema=LATENCIES),
        examples=EXAMPLES.empty_table(),
        ignored=0,
        lenient=0,
        optional=0,
        times=pa.table(times, schema=TIMES),
        inversions=0,
        seconds=1.5,
    )


def make_sender(**changes: Any) -> SenderSummary:
    fields: dict[str, Any] = {
        "senders": 1,
        "due": 72 * RATE,
        "sent": 72 * RATE,
        "acknowledged": 72 * RATE,
        "errors": 0,
        "backpressure_s": 0.0,
        "send_lateness": {"p99": 0.001},
        "fifo": False,
        "cpu_s": 1.0,
        "request": {},
    }
    return SenderSummary(**(fields | changes))


def conclude(spec: TrialSpec | None = None, *, answers: bool = True, **known: Any) -> TrialResult:
    job = JobSpec(workload="espbench", query="q3", parameters={}, partitions=1, seed=1, options={})
    fields: dict[str, Any] = {
        "spec": spec or make_spec(),
        "resolved": job,
        "measured": SPAN,
        "sender": make_sender(),
        "drain": Drain(True, 0),
        "validation": make_validation(),
        "phases": {"drain": 2.5},
    }
    return result(TrialState(**(fields | known)), Q3, answers=answers)


def holds(found: TrialResult) -> tuple[bool | None, bool | None, bool | None]:
    return found.valid.holds, found.correct.holds, found.kept_up.holds


def test_a_trial_in_which_all_went_well() -> None:
    found = conclude()
    assert (found.status, holds(found)) == ("done", (True, True, True))
    assert found.measured_ms == (SPAN.start_ms, SPAN.end_ms)
    assert found.inputs == 72 * RATE
    told = found.metrics
    assert (told["latency.p50"], told["latency.max"]) == (0.005, 0.005)
    assert (told["event_latency.p50"], told["lateness.max"]) == (0.006, 0.001)
    assert told["rate.offered"] == RATE
    assert told["rate.appended"] == told["rate.emitted"] == pytest.approx(RATE, rel=0.01)
    assert told["validation.seconds"] == 1.5


def test_only_the_measured_span_counts() -> None:
    before = np.where(np.arange(72 * RATE) < 9 * RATE, 60_000, 5)
    assert conclude(validation=make_validation(latency_ms=before)).metrics["latency.max"] == 0.005


def test_a_late_load_makes_it_invalid_and_says_nothing_of_the_engine() -> None:
    found = conclude(validation=make_validation(late_ms=101))
    assert (found.status, holds(found)) == ("invalid", (False, True, None))
    assert "101 ms late" in found.valid.reason
    assert found.kept_up.reason == "an invalid trial does not judge the engine"


def test_a_quick_trial_is_judged_by_its_answers_alone() -> None:
    found = conclude(make_spec(quick=True), validation=make_validation(late_ms=101))
    assert (found.status, holds(found)) == ("done", (None, True, None))
    wrong = Counts(expected=720, correct=719, wrong=1)
    found = conclude(make_spec(quick=True), validation=make_validation(counts=wrong))
    assert holds(found) == (True, False, None)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"clock_moved_s": 0.006}, ("invalid", (False, True, None))),
        ({"clock_offset_s": -0.02}, ("invalid", (False, True, None))),
        ({"sender": make_sender(acknowledged=700)}, ("invalid", (False, True, None))),
        ({"status": "invalid", "cause": "broker died"}, ("invalid", (False, True, None))),
        ({"status": "failed", "cause": "engine died"}, ("failed", (None, None, None))),
        ({"drain": Drain(False, 12)}, ("done", (True, True, False))),
    ],
)
def test_what_went_wrong_decides(known: dict[str, Any], expected: Any) -> None:
    found = conclude(**known)
    assert (found.status, holds(found)) == expected


def test_latencies_that_grow_are_not_kept_up() -> None:
    growing = np.arange(72 * RATE) * 1000 // RATE
    found = conclude(validation=make_validation(latency_ms=growing))
    assert holds(found) == (True, True, False)
    assert found.pace is not None
    assert found.pace.drain_s == 0.5, "the time in which its outputs only rested is none"


def test_what_broke_off_before_anything_was_read_back_has_its_cause_and_no_figures() -> None:
    found = conclude(
        status="failed",
        cause="the engine died: exit code 1\nits log",
        validation=None,
        measured=None,
        sender=None,
        drain=Drain(None),
    )
    assert (found.status, holds(found)) == ("failed", (None, None, None))
    assert (found.metrics, found.pace, found.inputs) == ({}, None, 0)
    broken = conclude(status="invalid", cause="broker died: killed\nits log", validation=None)
    assert broken.valid.reason == "broker died: killed"


def test_an_engine_without_answers_is_judged_by_its_lag() -> None:
    def rows(behind: int) -> list[dict[str, float]]:
        sent = [(s + 100) * RATE for s in range(60)]
        return [
            {"at": BEGIN / 1000 + s, "log_end": n, "finished": n - behind}
            for s, n in enumerate(sent)
        ]

    assert holds(conclude(answers=False, timeline=rows(RATE))) == (True, None, True)
    assert holds(conclude(answers=False, timeline=rows(20 * RATE)))[2] is False
    assert holds(conclude(answers=False, timeline=[]))[2] is None


def test_the_trend_of_the_lag_is_told_from_offsets_with_its_points() -> None:
    timeline = [
        {"at": BEGIN / 1000 + s, "log_end": 1000.0 + 10 * s, "finished": 900.0 + 7 * s}
        for s in range(-10, 62)
    ]
    found = conclude(timeline=timeline)
    assert found.lag is not None
    assert (found.lag.by, found.lag.step_s) == ("offsets", 5.0)
    assert found.lag.lags == tuple(100.0 + 15 * step for step in range(12))
    assert found.metrics["lag.trend"] == found.lag.slope == pytest.approx(3.0)
    assert found.metrics["lag.sawtooth"] == pytest.approx(0.0, abs=1e-6)


def test_an_engine_that_tells_its_offsets_at_checkpoints_is_told_by_its_outputs() -> None:
    job = JobSpec(
        workload="espbench",
        query="q3",
        parameters={},
        partitions=1,
        seed=1,
        options={},
        checkpoint_s=300.0,
    )
    growing = np.maximum(0, np.arange(-10 * RATE, 62 * RATE)) * 500 // RATE
    stale = [{"at": BEGIN / 1000, "log_end": 5.0, "finished": 0.0}]
    found = conclude(resolved=job, validation=make_validation(latency_ms=growing), timeline=stale)
    assert found.lag is not None
    assert found.lag.by == "outputs"
    assert found.lag.slope == pytest.approx(RATE / 3, rel=0.1), "a third of a second per second"
    assert conclude(timeline=[]).lag is None


def test_a_trial_that_was_cut_short_did_not_keep_up_and_its_figures_are_of_its_time() -> None:
    timeline = [
        {"at": BEGIN / 1000 + s, "log_end": 10.0 * s + 100, "finished": 0.0} for s in range(-10, 30)
    ]
    counts = Counts(expected=720, correct=300, missing=420)
    found = conclude(
        make_spec(cut_by="lag.trend<0.05*rate"),
        cut_s=30.0,
        measured=Span(BEGIN, BEGIN + 30_000),
        drain=Drain(False),
        timeline=timeline,
        validation=make_validation(counts=counts),
    )
    assert (found.status, holds(found)) == ("done", (True, None, False))
    assert found.cut_s == 30.0
    assert found.kept_up.reason == "cut short after 30 s: the lag clearly grew by 10/s"
    assert found.metrics["lag.trend"] == pytest.approx(10)
    assert found.metrics["rate.appended"] == pytest.approx(RATE, rel=0.01)


def test_what_the_engine_was_given_is_told() -> None:
    three = make_spec(resources={"instances": 3, "instance_cores": 2})
    told = conclude(three).metrics
    assert (told["resources.cores"], told["resources.instances"]) == (6.0, 3.0)
    one = conclude(make_spec(resources={"cores": 1})).metrics
    assert (one["resources.cores"], one["resources.instances"]) == (1.0, 1.0)


def test_a_probe_tells_a_rate_and_no_verdicts_of_pace() -> None:
    begin_s = BEGIN / 1000
    finished = [{"at": begin_s + s, "finished": 200.0 * s} for s in range(4)]
    found = conclude(make_spec(backlog=True), measured=None, timeline=finished)
    assert holds(found) == (None, True, None)
    assert found.metrics["rate.catch_up"] == pytest.approx(200)
    assert "latency.p50" not in found.metrics


def test_a_backlog_is_timed_by_the_ends_of_its_batches() -> None:
    begin_s = BEGIN / 1000
    done = [
        FinishedBatch(
            at=begin_s + at, batch=BatchReport(began_ms=BEGIN, took_ms=1.0, records=records)
        )
        for at, records in ((1.5, 200), (2.75, 250), (4.0, 250), (4.5, 0), (9.0, 2))
    ]
    finished = [{"at": begin_s + s, "finished": 75.0 * s} for s in range(10)]
    found = conclude(
        make_spec(backlog=True),
        measured=None,
        timeline=finished,
        batches=done,
        sender=make_sender(acknowledged=700),
    )
    assert found.metrics["rate.catch_up"] == pytest.approx(200)


def test_usage_is_that_of_the_measured_span() -> None:
    times = {"before": -5.0, "first": 0.0, "second": 30.0, "after": 61.0}
    used = {"before": 9.0, "first": 1.0, "second": 3.0, "after": 9.0}
    timeline = [
        {"at": BEGIN / 1000 + times[when], "cpu.engine": used[when], "memory.engine": used[when]}
        for when in times
    ]
    told = conclude(timeline=timeline).metrics
    assert (told["cpu.engine"], told["memory.engine"]) == (2.0, 3.0)


def test_what_a_reader_must_know_is_warned_of() -> None:
    told = conclude(sender=make_sender(errors=3), warnings=["from before"]).warnings
    assert told == [
        "from before",
        "3 records never reached the broker; the answers leave them out",
    ]


def backlog_of(late_s: int) -> TrialResult:
    """Conclude where all outputs of the backlog, and of so many seconds, came that late."""
    rows = np.arange(-10 * RATE, 62 * RATE)
    latency_ms = np.where(rows < late_s * RATE, late_s * 1000 - rows * 1000 // RATE, 5)
    spec = make_spec(shape=f"backlog:{RATE}/s@10s,{RATE}/s")
    return conclude(spec, validation=make_validation(latency_ms=latency_ms))


def test_an_engine_that_caught_up_with_a_backlog_tells_when_and_no_latency() -> None:
    found = backlog_of(20)
    assert holds(found) == (True, True, True)
    assert "caught up with the backlog 21 s after its start" in found.kept_up.reason
    assert found.metrics["catch_up.seconds"] == 21
    assert found.metrics["rate.peak"] > 5 * RATE
    assert not [name for name in found.metrics if "latency" in name.partition(".")[0]]
    assert any("21 s after its start, at best" in warning for warning in found.warnings)
    assert found.pace is None


def test_an_engine_that_did_not_catch_up_has_not_kept_up() -> None:
    found = backlog_of(61)
    assert found.kept_up.holds is False
    assert "did not catch up" in found.kept_up.reason
    assert "catch_up.seconds" not in found.metrics
    assert not any("caught up" in warning for warning in found.warnings)
