"""A comparison as one JSON object, with all metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from streamgauge.comparison.compare import Compared, Comparison, Pair, Sample
from streamgauge.comparison.limits import Checked
from streamgauge.comparison.searches import Sustained
from streamgauge.spec.values import Json


def as_json(comparisons: Sequence[Comparison], checked: Sequence[Checked] = ()) -> dict[str, Json]:
    """Return comparisons for scripts; an infinite limit of an interval is null."""
    return {
        "comparisons": [
            {
                "base": each.base,
                "other": each.other,
                "sustained": [_sustained(found) for found in each.sustained],
                "pairs": [_pair(pair) for pair in each.pairs],
            }
            for each in comparisons
        ],
        "limits": [dict(asdict(each)) for each in checked],
    }


def flat_rows(comparison: Comparison) -> list[dict[str, Json]]:
    """Return a row per metric, for a table."""
    return [
        {
            "workload": pair.workload,
            "query": pair.query,
            "rate": pair.rate,
            "variant": pair.variant,
            **_flat(each),
        }
        for pair in comparison.pairs
        for each in pair.metrics
    ]


def _sustained(found: Sustained) -> dict[str, Json]:
    return {
        "query": found.query,
        "base": list(found.base),
        "other": list(found.other),
        "ratio": found.ratio,
        "verdict": found.word,
        "because": list(found.obstacles),
    }


def _pair(pair: Pair) -> dict[str, Json]:
    return {
        "workload": pair.workload,
        "query": pair.query,
        "rate": pair.rate,
        "variant": pair.variant,
        "comparable": not pair.obstacles,
        "because": list(pair.obstacles),
        "changed": list(pair.differences),
        "notes": list(pair.notes),
        "trials": {"base": list(pair.trials[0]), "other": list(pair.trials[1])},
        "metrics": [
            {**_flat(each), "base": _sample(each.base), "other": _sample(each.other)}
            for each in pair.metrics
        ],
    }


def _flat(each: Compared) -> dict[str, Json]:
    ratio = each.ratio
    return {
        "metric": each.metric,
        "base": each.base.median if each.base else None,
        "other": each.other.median if each.other else None,
        "ratio": _finite(ratio.value) if ratio else None,
        "low": _finite(ratio.low) if ratio else None,
        "high": _finite(ratio.high) if ratio else None,
        "verdict": each.word,
        "improves": each.improves,
    }


def _sample(sample: Sample | None) -> dict[str, Json] | None:
    return dict(asdict(sample)) if sample else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
