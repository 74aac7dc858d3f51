"""Methods of computing windows of which 60 overlap, by backlogs that Spark works off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import streamgauge
from benchmarks.registry import Measurement, at_least, benchmark
from streamgauge.experiments.backlog import Backlogs

RUNS = Path(__file__).parents[1] / "runs"
SPARSE, DENSE = "500ms", "50ms"
"""Time between two records of a sensor: one or ten in each slide of 500 ms."""
METHODS = ["auto", "bucket", "slices", "pairs"]
BEST_OVER_BUCKET = 2.5
PAIRS_OVER_SLICES = 0.5
AUTO_OVER_BEST = 0.9


@benchmark("windows", slow=True, makes_runs=True)
def methods() -> Iterator[Measurement]:
    """60 overlaps: slices beside buckets, pairs beside slices, and what `auto` makes of it."""
    run = streamgauge.run(
        "theodolite/uc3-final",
        preset="windows",
        runs=RUNS,
        vary={"P.period": [SPARSE, DENSE], "P.window": ["30s"], "E.method": METHODS},
    )
    assert isinstance(run.answer, Backlogs)
    rates = {
        (each.factors["P.period"], each.factors["E.method"]): each.rate
        for each in run.answer.worked_off
    }
    dense = {method: rates[DENSE, method] for method in METHODS}
    best = max(dense["slices"], dense["pairs"]) / dense["bucket"]
    yield at_least("windows.dense.best-over-bucket", best, "1", BEST_OVER_BUCKET)
    pairs = dense["pairs"] / dense["slices"]
    yield at_least("windows.dense.pairs-over-slices", pairs, "1", PAIRS_OVER_SLICES)
    for name, period in {"sparse": SPARSE, "dense": DENSE}.items():
        told = _over_best({method: rates[period, method] for method in METHODS})
        target = AUTO_OVER_BEST if period == SPARSE else 0.0
        yield at_least(f"windows.{name}.auto-over-best", told, "1", target)


def _over_best(rates: Mapping[str, float]) -> float:
    return rates["auto"] / max(rate for method, rate in rates.items() if method != "auto")
