"""Run folders as a run under way leaves them, second by second."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streamgauge.experiments.fixed_rate import FixedRate
from streamgauge.results import events
from streamgauge.results.folder import RunFolder, RunStatus
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

BEGAN = 1_794_847_778.0
YES = Verdict(holds=True, reason="so it is")


def make_spec(**changes: Any) -> RunSpec:
    fields: dict[str, Any] = {
        "workload": "espbench",
        "queries": ("q1", "q3"),
        "rates": (10_000.0,),
        "duration_s": 20.0,
        "warmup_s": 5.0,
        "engine": "reference",
    }
    return RunSpec(**fields | changes)


def make_run(runs: Path, **changes: Any) -> RunFolder:
    """Make the folder of a run that this process runs; it has no events yet."""
    folder = RunFolder.create(runs, make_spec(**changes), ["streamgauge", "run"], {"cores": 2})
    folder.live.touch()
    return folder


def write(folder: RunFolder, *lines: Mapping[str, Any]) -> None:
    with folder.live.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def finish(folder: RunFolder, status: RunStatus = "done", report: str | None = None) -> None:
    folder.write(folder.record().model_copy(update={"status": status}))
    if report is not None:
        (folder.path / "report.html").write_text(report)


def trial(spec: RunSpec, number: int = 1, seconds: int = 25) -> Iterator[dict[str, Any]]:
    """Yield the events of one trial."""
    experiment = FixedRate(spec)
    planned = experiment.plan()[number - 1]
    at = BEGAN + 100 * (number - 1)
    yield {"at": at, **events.begins(planned, experiment, [])}
    yield {"at": at, **events.enters(number, "prepare")}
    yield {"at": at + 1, **events.enters(number, "warm-up", spec.warmup_s)}
    for second in range(seconds):
        if second == spec.warmup_s:
            yield {"at": at + 1 + second, **events.enters(number, "measure", spec.duration_s)}
        yield events.sampled(number, sample(at + 1.5 + second, second, spec.rates[0]))
    yield {"at": at + 2 + seconds, **events.enters(number, "validate")}
    yield {"at": at + 3 + seconds, **events.ended(result(planned), ())}


def sample(at: float, second: int, rate: float) -> dict[str, float]:
    sent = rate * second
    return {
        "at": at,
        "memory.engine": 7.2e8,
        "memory.broker": 2.3e8,
        "cpu.engine": 0.5 + second % 3 / 10,
        "cpu.broker": 0.2,
        "cpu.sender": 0.1,
        "load.1m": 1.5,
        "due": sent,
        "sent": sent,
        "log_end": sent + 1,
        "finished": max(0.0, sent - 300),
        "newest_latency": 0.2 + second % 5 / 100,
    }


def result(spec: TrialSpec, **changes: Any) -> TrialResult:
    fields: dict[str, Any] = {
        "spec": spec,
        "status": "done",
        "valid": YES,
        "correct": YES,
        "kept_up": YES,
        "metrics": {"latency.p50": 0.2, "latency.p99": 0.3, "latency.max": 0.4},
        "started": "2026-11-16T17:30:00+00:00",
    }
    return TrialResult.model_validate(fields | changes)
