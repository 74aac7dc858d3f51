"""Runs against a base: their trials, and what their experiments concluded."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge import registry
from streamgauge.comparison.comparability import Side
from streamgauge.comparison.compare import Comparison, compare
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.experiment import ComparesAnswers, FoundByBoth


def compare_runs(base: RunFolder, *others: RunFolder) -> list[Comparison]:
    """Compare runs with a base: their trials, and what their experiment says about the answers."""
    first, record = _side(base), base.record()
    return [
        compare(first, _side(other), _compare_answers(record, other.record())) for other in others
    ]


def _compare_answers(base: RunRecord, other: RunRecord) -> Sequence[FoundByBoth]:
    """Let the experiment of two runs compare what both found; empty if it differs."""
    name = base.spec.experiment
    if name != other.spec.experiment:
        return ()
    experiment = registry.load("experiments", name)
    if not isinstance(experiment, ComparesAnswers):
        return ()
    one, two = read_answer(base), read_answer(other)
    return () if one is None or two is None else experiment.compare(one, two)


def _side(folder: RunFolder) -> Side:
    """Read a run for a comparison."""
    record = folder.record()
    return Side(
        name=record.id,
        spec=record.spec,
        machine=record.machine,
        workload_version=record.workload_version,
        status=record.status,
        trials=tuple(folder.trials()),
    )
