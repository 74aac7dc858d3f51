"""Methods of computing windows of which 60 overlap, by backlogs that Spark works off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import streamgauge
from benchmarks.registry import Measurement, at_least, benchmark
from streamgauge.experiments.backlog import Backlogs

RUNS = Path(__file__).parents[1] / "runs"
SPARSE, DENSE = "500ms", "50ms"
"""Time between two records of a sensor: one or ten in each slide of 500 ms."""
METHODS = ["bucket", "slices", "pairs"]
REPEATS = 3
BEST_OVER_BUCKET = 2.5
PAIRS_OVER_SLICES = 0.5
AUTO_OVER_BEST = 0.9


@benchmark("windows", slow=True, makes_runs=True)
def methods() -> Iterator[Measurement]:
    """60 overlaps: slices against buckets, pairs against slices, and what `auto` takes."""
    run = streamgauge.run(
        "theodolite/uc3-final",
        preset="windows",
        runs=RUNS,
        repeats=REPEATS,
        vary={"P.period": [SPARSE, DENSE], "P.window": ["30s"], "E.method": METHODS},
    )
    assert isinstance(run.answer, Backlogs)
    dense = {method: _rate(run.answer, DENSE, method) for method in METHODS}
    best = max(dense["slices"], dense["pairs"]) / dense["bucket"]
    yield at_least("windows.dense.best-over-bucket", best, "1", BEST_OVER_BUCKET)
    pairs = dense["pairs"] / dense["slices"]
    yield at_least("windows.dense.pairs-over-slices", pairs, "1", PAIRS_OVER_SLICES)
    for name, period in {"sparse": SPARSE, "dense": DENSE}.items():
        (chosen,) = (each for each in run.answer.auto if each.factors["P.period"] == period)
        target = AUTO_OVER_BEST if period == SPARSE else 0.0
        yield at_least(f"windows.{name}.auto-over-best", chosen.of_best or 0.0, "1", target)


def _rate(found: Backlogs, period: str, method: str) -> float:
    wanted = {"P.period": period, "E.method": method}
    return mean(each.rate for each in found.worked_off if wanted.items() <= each.factors.items())
