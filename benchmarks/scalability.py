"""How far a verdict on load and resources, and a model of them, can be trusted; all simulated."""

from __future__ import annotations

from collections.abc import Iterator

from tests.scaling import covered
from tests.simulated import KINDS, Engine
from tests.simulated import run as simulate

from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.experiments.scalability.answer import DEFAULT_OBJECTIVE
from streamgauge.experiments.scalability.experiment import FULL_S, SURVEY_S
from streamgauge.measure.sustained import decide
from streamgauge.objectives import parse_objective
from streamgauge.spec.trial import TrialResult, TrialSpec

TIMES = {"published": FULL_S, "survey": SURVEY_S}
AWAY = 0.2
"""How far from the engine's capacity a load is, as a share of it."""
TRIALS = 40
"""At each load."""
MOST_WRONG = 5.0
SYSTEMS = 200
SIZES = {"four": (1, 2, 3, 4), "doubling": (1, 2, 4, 8)}
NOISES = (0.0, 0.05, 0.1)
COVERED = 80.0, 97.0


@benchmark("scalability", slow=True)
def trust() -> Iterator[Measurement]:
    """Share of wrong verdicts by both rules, and how often the model's interval holds the truth."""
    for length, times_s in TIMES.items():
        for kind, engine in KINDS.items():
            wrong = [_wrong(engine, times_s, seed) for seed in range(TRIALS)]
            for place, rule in enumerate(("lag_trend", "sustained")):
                share = 100 * sum(each[place] for each in wrong) / (2 * TRIALS)
                name = f"scalability.{length}.{kind}.{rule}.wrong"
                if length == "published" and rule == "lag_trend":
                    yield at_most(name, share, "%", MOST_WRONG)
                else:
                    yield Measurement(name, share, "%", None, None)
    for name, sizes in SIZES.items():
        for noise in NOISES:
            share = 100 * covered(SYSTEMS, sizes, noise)
            told = f"scalability.model.{name}.noise_{100 * noise:g}.covered"
            yield at_least(told, share, "%", COVERED[0])
            yield at_most(f"{told}.not_too_often", share, "%", COVERED[1])


def _wrong(engine: Engine, times_s: tuple[float, float], seed: int) -> tuple[int, int]:
    """Count the wrong verdicts of both rules, of a load below the capacity and one above it."""
    by_lag = by_ours = 0
    for share in (1 - AWAY, 1 + AWAY):
        result = _trial(engine, share * engine.capacity, times_s, seed)
        by_lag += parse_objective(DEFAULT_OBJECTIVE).check(result.metrics).met != (share < 1)
        by_ours += decide(result).outcome != ("pass" if share < 1 else "fail")
    return by_lag, by_ours


def _trial(engine: Engine, rate: float, times_s: tuple[float, float], seed: int) -> TrialResult:
    spec = TrialSpec(
        number=1,
        workload="simulated",
        query="simulated",
        parameters={},
        engine="simulated",
        rate=rate,
        warmup_s=times_s[0],
        duration_s=times_s[1],
    )
    return simulate(spec, engine, seed=seed)
