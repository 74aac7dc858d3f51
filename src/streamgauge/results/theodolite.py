"""A search over a grid in the files of Theodolite, so that its notebooks read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability.answer import Scaling, Search
from streamgauge.experiments.scalability.grid import Metric
from streamgauge.experiments.scalability.ladder import size_of
from streamgauge.files import write_atomically
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult

_SLO = "lag-trend"


def export_theodolite(folder: RunFolder, target: Path) -> list[Path]:
    """Write `exp<N>_demand.csv` or `exp<N>_capacity.csv` of each query, and the lag of each trial.

    Loads and resources are whole numbers there; N counts the queries from 1.
    """
    answer = read_answer(folder.record())
    if not isinstance(answer, Scaling):
        raise UsageError(
            f"{folder.name} is not a search for demand or capacity",
            "Only runs of -x scalability can be exported for Theodolite.",
        )
    results = {result.spec.number: result for result in folder.trials()}
    target.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for number, search in enumerate(answer.searches, 1):
        found = target / f"exp{number}_{answer.metric}.csv"
        write_atomically(found, _csv(("load", "resources"), _found(answer.metric, search)))
        made.append(found)
        made += _lags(f"exp{number}", answer, search, results, target)
    return made


def _found(metric: Metric, search: Search) -> Iterator[Sequence[object]]:
    for point in search.points:
        if point.found_size is not None:
            pair = (point.size, point.found_size)
            yield tuple(map(round, pair if metric == "demand" else pair[::-1]))


def _lags(
    name: str, answer: Scaling, search: Search, results: dict[int, TrialResult], target: Path
) -> Iterator[Path]:
    for tried in search.tried:
        sizes = size_of(answer.load, tried.load), size_of(answer.resources, tried.resources)
        load, resources = map(round, sizes)
        for repeat, number in enumerate(tried.trials, 1):
            rows = [*_points(results[number])] if number in results else []
            if rows:
                file = target / f"{name}_{load}_{resources}_{_SLO}_{repeat}.csv"
                write_atomically(file, _csv(("group", "timestamp", "value"), rows))
                yield file


def _points(result: TrialResult) -> Iterator[Sequence[object]]:
    """Yield the observed lag; the first column is the consumer group in the original."""
    if result.lag is None or result.measured_ms is None:
        return
    for place, lag in enumerate(result.lag.lags):
        if lag is not None:
            at_s = result.measured_ms[0] / 1000 + place * result.lag.step_s
            yield result.spec.query, f"{at_s:.3f}", f"{lag:g}"


def _csv(header: Sequence[str], rows: Iterator[Sequence[object]] | list[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
