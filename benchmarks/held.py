"""Rates that Spark holds on this machine: found by a survey, or tried in one trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import streamgauge
from benchmarks.registry import Measurement, at_least
from streamgauge.experiments.search_answer import Searches
from streamgauge.spec.trial import TrialResult

RUNS = Path(__file__).parents[1] / "runs"
PARTITIONS = 2
"""One for each core: Spark parses a partition in one task."""


def sustained(target: str, parameters: Mapping[str, Any] | None = None) -> float:
    """Return the highest rate that a query holds, by a survey."""
    run = streamgauge.run(
        target,
        runs=RUNS,
        partitions=PARTITIONS,
        parameters=parameters or {},
        experiment="sustainable",
        experiment_options={"survey": True, "after": []},
    )
    assert isinstance(run.answer, Searches)
    (search,) = run.answer.searches
    return float(search.rate or 0)


def holds(target: str, rate: float, parameters: Mapping[str, Any]) -> Iterator[Measurement]:
    """Try a rate, as searches do: for twice as long where that shows no clear trend."""
    for duration in ("90s", "180s"):
        run = streamgauge.run(
            target,
            runs=RUNS,
            partitions=PARTITIONS,
            parameters=parameters,
            rates=[f"{rate:g}/s"],
            warmup="90s",
            duration=duration,
        )
        (result,) = run.results
        if result.kept_up.holds is not None:
            break
    name = f"{target.replace('/', '.')}.at-{rate:g}"
    yield verdicts(name, result)
    for metric in ("latency.p50", "latency.p99", "cpu.engine"):
        unit = "cores" if metric.startswith("cpu") else "s"
        yield Measurement(f"{name}.{metric}", result.metrics.get(metric, 0.0), unit, None, None)


def verdicts(name: str, result: TrialResult) -> Measurement:
    """Count the verdicts that hold: valid, correct, kept up."""
    held = sum(each.holds is True for each in (result.valid, result.correct, result.kept_up))
    return at_least(f"{name}.verdicts", held, "of 3", 3)
