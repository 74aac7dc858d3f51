"""results.csv: a line per trial, the publication's columns first; repeats.csv: their means."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from streamgauge.files import write_atomically
from streamgauge.results.factors import factors
from streamgauge.results.repeats import Repeats, repeats
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

Cell = str | int | float | None

_OVER_REPEATS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "min": min,
    "max": max,
}


def write_tables(folder: Path, results: Sequence[TrialResult]) -> None:
    """Write the tables of a run into its folder."""
    for name, text in tables(results).items():
        write_atomically(folder / name, text)


def tables(results: Sequence[TrialResult]) -> dict[str, str]:
    """Return the tables of a run by the names of their files.

    results.csv has a line per trial; metrics that no trial has get no column. repeats.csv exists
    if trials were repeated. It has the same columns over all repeats of a trial, with a line each
    for the mean (which the publication reports), the median, the smallest and the largest.
    """
    names = sorted({name for result in results for name in result.metrics})
    varied = factors(result.spec for result in results)
    found = {"results.csv": _text([_line(result, names, varied) for result in results])}
    repeated = [group for group in repeats(results) if group.several]
    if repeated:
        lines = [line for group in repeated for line in _lines(group, names, varied)]
        found["repeats.csv"] = _text(lines)
    return found


def _text(rows: Sequence[Mapping[str, Cell]]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _line(result: TrialResult, names: Sequence[str], varied: Sequence[str]) -> dict[str, Cell]:
    metrics = {name: result.metrics.get(name) for name in names}
    return {**_published(result), **_factors(result.spec, varied), **_details(result), **metrics}


def _factors(spec: TrialSpec, varied: Sequence[str]) -> dict[str, Cell]:
    """Return the varied factors as asked; a number with a column anyway stays a number."""
    return {name: spec.factors.get(name) for name in varied}


def _lines(
    group: Repeats, names: Sequence[str], varied: Sequence[str]
) -> Iterator[dict[str, Cell]]:
    """Yield a line for each statistic over the repeats of a trial."""
    spec = group.spec
    published = [_published(each) for each in group.counted]
    for statistic, compute in _OVER_REPEATS.items():
        figures: dict[str, Cell] = {
            name: _over([row[name] for row in published], compute) for name in published[0]
        }
        yield {
            **figures,
            "rate": spec.rate,
            "query": spec.query,
            "correct": _all_hold(group, lambda trial: trial.correct),
            **_factors(spec, varied),
            "statistic": statistic,
            "repeats": len(group.trials),
            "counted": len(group.counted),
            **_setting(spec),
            "valid": _all_hold(group, lambda trial: trial.valid),
            "kept_up": _all_hold(group, lambda trial: trial.kept_up),
            **{name: _over(group.values(name), compute) for name in names},
        }


def _over(values: Sequence[Cell], compute: Callable[[Sequence[float]], float]) -> float | None:
    known = [value for value in values if isinstance(value, int | float)]
    return compute(known) if known else None


def _all_hold(group: Repeats, choose: Callable[[TrialResult], Verdict]) -> str:
    found = group.verdicts(choose)
    return _word(False if False in found else None if None in found else True)


def _published(result: TrialResult) -> dict[str, Cell]:
    """Return the columns of the ESPBench publication; latencies in seconds, from a window's end."""
    counts, metrics = result.counts, result.metrics
    latency = "window_latency" if "window_latency.mean" in metrics else "latency"
    false_outputs = counts.wrong + counts.missing + counts.duplicate + counts.unexpected
    return {
        "rate": result.spec.rate,
        "query": result.spec.query,
        "correct": _word(result.correct.holds),
        "p90": metrics.get(f"{latency}.p90"),
        "min": metrics.get(f"{latency}.min"),
        "max": metrics.get(f"{latency}.max"),
        "mean": metrics.get(f"{latency}.mean"),
        "input": result.inputs,
        "expected": counts.expected,
        "actual": counts.final,
        "false_outputs": false_outputs,
        "correctness_percent": 100 * counts.correct / counts.expected if counts.expected else None,
        "validator_seconds": metrics.get("validation.seconds"),
    }


def _details(result: TrialResult) -> dict[str, Cell]:
    spec, counts = result.spec, result.counts
    return {
        "trial": spec.number,
        "repeat": spec.repeat,
        **_setting(spec),
        "status": result.status,
        "valid": _word(result.valid.holds),
        "kept_up": _word(result.kept_up.holds),
        "wrong": counts.wrong,
        "missing": counts.missing,
        "duplicate": counts.duplicate,
        "unexpected": counts.unexpected,
        "intermediate": counts.intermediate,
    }


def _setting(spec: TrialSpec) -> dict[str, Cell]:
    return {
        "workload": spec.workload,
        "engine": spec.engine,
        "mode": spec.mode,
        "partitions": spec.partitions,
        "instances": spec.resources.instances,
        "acks": spec.load.acks,
        "batch": spec.load.batch,
        "linger": spec.load.linger_s,
        "senders": spec.load.senders,
        "source": spec.load.source,
        "quick": _word(spec.quick),
    }


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[value]
