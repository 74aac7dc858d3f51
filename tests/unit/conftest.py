"""Results made by hand, for readers of results."""

from collections.abc import Callable

import pytest

from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Counts, TrialResult, TrialSpec, Verdict

TrialMaker = Callable[..., TrialResult]


@pytest.fixture
def run_spec() -> RunSpec:
    return RunSpec(
        workload="espbench",
        queries=("q1", "q3"),
        rates=(1000.0, 10_000.0),
        repeats=2,
        engine="reference",
        tags={"branch": "main"},
    )


@pytest.fixture
def make_trial() -> TrialMaker:
    def make(number: int = 1, **changes: object) -> TrialResult:
        spec = TrialSpec(
            number=number,
            workload="espbench",
            query="q3",
            parameters={},
            engine="reference",
            rate=1000.0,
            duration_s=20.0,
            warmup_s=5.0,
        )
        yes = Verdict(holds=True, reason="so it is")
        fields: dict[str, object] = {
            "spec": spec,
            "status": "done",
            "valid": yes,
            "correct": yes,
            "kept_up": yes,
            "inputs": 27_002,
            "counts": Counts(expected=120, correct=120),
            "metrics": {"latency.p90": 0.012, "latency.mean": 0.005},
            "started": "2026-11-16T17:30:00+00:00",
        }
        return TrialResult.model_validate(fields | changes)

    return make
