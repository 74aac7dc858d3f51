"""How far the search for a sustainable rate can be trusted: wrong verdicts, and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.simulated import CAPACITY, KINDS, LEAKING, Engine
from tests.simulated import run as simulate

import streamgauge
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.experiments.search_answer import SearchAnswer, Searches, SearchTrial
from streamgauge.measure.sustained import Outcome, decide
from streamgauge.spec.trial import TrialSpec

RUNS = Path(__file__).parents[1] / "runs"
AGGREGATION: Mapping[str, Any] = {"transport": "flight", "partitions": 2}
SURVEYS = 3
MOST_TRIALS = 12
"""Up to the confirmation, where the bracket holds and nothing has to be repeated."""
SKEWED = 0.7
"""Share of the rate with many keys that must be held with a single one."""

TIMES = {"full": (60.0, 180.0), "survey": (30.0, 60.0)}
"""Warm-up and duration in seconds."""
AWAY = (0.5, 0.8, 0.9, 1.1, 1.2, 1.5)
NEAR = {"failed_just_below": (0.95, 0.98), "passed_just_above": (1.02, 1.05)}
"""Rates as shares of the engine's limit."""
LASTS = 0.95
"""Share of the capacity at which a leak is felt after two minutes."""
TRIALS = 40
"""At each rate."""


@benchmark("sustained", slow=True)
def wrong_verdicts() -> Iterator[Measurement]:
    """Share of wrong verdicts on simulated engines whose limit is known."""
    for length in TIMES:
        for kind, engine in KINDS.items():
            name = f"sustained.{length}.{kind}"
            yield at_most(f"{name}.wrong_away", _wrong(engine, AWAY, length), "%", 5)
            for where, shares in NEAR.items():
                near = round(_wrong(engine, shares, length), 1)
                yield Measurement(f"{name}.{where}", near, "%", None, None)
    leaking = replace(LEAKING, noise=0.1)
    missed = [_verdict(leaking, LASTS * CAPACITY, "full", seed) == "pass" for seed in range(TRIALS)]
    yield at_most("sustained.full.leaking.missed", 100 * sum(missed) / TRIALS, "%", 5)


@benchmark("sustainable", slow=True, makes_runs=True)
def agreement() -> Iterator[Measurement]:
    """Three surveys of the aggregation on Spark: how far are their answers apart? And skew."""
    rates = []
    for number in range(1, SURVEYS + 1):
        search = _survey()
        rates.append(float(search.rate or 0))
        yield Measurement(f"sustainable.survey.{number}", rates[-1], "1/s", None, None)
        yield _trials(f"sustainable.survey.{number}.trials", search.trials)
    apart = 100 * (max(rates) / min(rates) - 1) if min(rates) else float("inf")
    yield at_most("sustainable.surveys_apart", apart, "%", 15)
    if min(rates):
        yield from _skewed(min(rates))


def _survey() -> SearchAnswer:
    """Search the highest rate; return what was found."""
    run = streamgauge.run(
        "rovio/aggregation",
        runs=RUNS,
        experiment="sustainable",
        experiment_options={"survey": True, "after": []},
        **AGGREGATION,
    )
    assert isinstance(run.answer, Searches)
    (search,) = run.answer.searches
    return search


def _trials(name: str, trials: Sequence[SearchTrial]) -> Measurement:
    """Count the trials of a search; a limit holds only where it could go straight ahead."""
    straight = not {"widen", "repeat"} & {trial.role for trial in trials}
    if straight:
        return at_most(name, len(trials), "", MOST_TRIALS)
    return Measurement(name, len(trials), "", None, None)


def _skewed(rate: float) -> Iterator[Measurement]:
    """Offer a single key a share of the rate that is sustained with many."""
    offered = SKEWED * rate
    run = streamgauge.run(
        "rovio/aggregation",
        runs=RUNS,
        rates=[f"{offered:.0f}/s"],
        parameters={"keys": "single"},
        warmup="60s",
        duration="180s",
        **AGGREGATION,
    )
    (result,) = run.results
    held = decide(result).outcome == "pass"
    yield at_least("sustainable.single_key", SKEWED if held else 0.0, "of many keys", SKEWED)


def _wrong(engine: Engine, shares: tuple[float, ...], length: str) -> float:
    """Return the percentage of trials that fail below the limit or pass above it."""
    wrong = 0
    for share in shares:
        right: Outcome = "pass" if share < 1 else "fail"
        for seed in range(TRIALS):
            wrong += _verdict(engine, share * engine.limit, length, seed) != right
    return 100 * wrong / (len(shares) * TRIALS)


def _verdict(engine: Engine, rate: float, length: str, seed: int) -> Outcome:
    """Decide as a search does: what cannot be told is tried for twice as long, then it failed."""
    warmup_s, short_s = TIMES[length]
    for duration_s in (short_s, 2 * short_s):
        spec = TrialSpec(
            number=1,
            workload="simulated",
            query="simulated",
            parameters={},
            engine="simulated",
            rate=rate,
            duration_s=duration_s,
            warmup_s=warmup_s,
        )
        found = decide(simulate(spec, engine, seed=seed)).outcome
        if found != "inconclusive":
            return found
    return "fail"
