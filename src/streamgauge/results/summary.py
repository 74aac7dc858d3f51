"""A run as one object: what `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.objectives import parse_objective
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult, Verdict
from streamgauge.spec.values import Json


def summary(folder: RunFolder) -> dict[str, Json]:
    """Return the run with all finished trials."""
    record = folder.record()
    return {
        "run": record.id,
        "path": str(folder.path.absolute()),
        "status": record.status,
        "answer": _json(record.answer),
        "warnings": list(record.warnings),
        "trials": [
            _trial(result, record.machine, record.spec.objectives) for result in folder.trials()
        ],
    }


def _trial(
    result: TrialResult, machine: Mapping[str, object], objectives: Sequence[str]
) -> dict[str, Json]:
    spec = result.spec
    return {
        "workload": spec.workload,
        "query": spec.query,
        "engine": spec.engine,
        "mode": spec.mode,
        "rate": spec.rate,
        "repeat": spec.repeat,
        "status": result.status,
        "valid": result.valid.holds,
        "correct": result.correct.holds,
        "kept_up": result.kept_up.holds,
        "reasons": [*reasons(result, objectives)],
        "inputs": result.inputs,
        "counts": _json(result.counts.model_dump()),
        "metrics": _json(result.metrics),
        "environment": _json({**machine, "quick": spec.quick, "settings": result.settings}),
    }


def reasons(result: TrialResult, objectives: Sequence[str]) -> list[str]:
    """Return why verdicts do not hold and which objectives were missed, or only the cause."""
    if result.cause:
        return [result.cause]
    verdicts: Sequence[Verdict] = (result.valid, result.correct, result.kept_up)
    if result.spec.engine is None:
        verdicts = (result.valid, result.kept_up)  # no answers are expected
    elif result.spec.backlog:
        verdicts = (result.correct,)  # there is no schedule to keep
    problems = [verdict.reason for verdict in verdicts if verdict.holds is not True]
    for objective in map(parse_objective, objectives):
        found = objective.check(result.metrics)
        if not found.met:
            problems.append(f"missed {objective}: {found.reason}")
    return problems


def _json(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json(item) for item in value]
    assert value is None or isinstance(value, str | int | float)
    return value
