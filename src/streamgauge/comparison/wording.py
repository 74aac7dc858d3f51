"""A comparison in words and cells, for every way of showing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.comparison.compare import Compared, Comparison, Pair, Sample, Word
from streamgauge.metrics import metric

HEADER = ("metric", "base", "other", "ratio", "95 % interval", "verdict")
_LATENCY = ("p50", "p90", "p99", "max")
_REST = ("event_latency.p99", "rate.emitted", "cpu.engine", "memory.engine")
MARKS = {True: "▲", False: "▼", None: "●"}
"""Better, worse, neither: shown by shape, for readers who do not see the colour."""
_NO_VERDICT: tuple[Word, ...] = ("too few trials", "not measured", "not comparable")


@dataclass(frozen=True)
class Row:
    """One metric as text."""

    metric: str
    base: str
    other: str
    ratio: str
    interval: str
    word: Word
    improves: bool | None

    @property
    def mark(self) -> str:
        """The verdict's shape."""
        return "○" if self.word in _NO_VERDICT else MARKS[self.improves]

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells under `HEADER`."""
        verdict = f"{self.mark} {self.word}"
        return (self.metric, self.base, self.other, self.ratio, self.interval, verdict)


def place(pair: Pair) -> str:
    """Name what was compared: `espbench/q3 at 10k/s`."""
    return f"{pair.workload}/{pair.name}"


def headline_metrics(pair: Pair, further: Sequence[str] = ()) -> tuple[Compared, ...]:
    """Choose the metrics that people ask for first, and those that they asked for.

    If there are none of them, as without an engine, all are shown. If a side has no trial that
    counts, there is nothing to compare.
    """
    if not all(pair.trials):
        return ()
    by_name = {each.metric: each for each in pair.metrics}
    family = "window_latency" if "window_latency.p50" in by_name else "latency"
    usual = (*(f"{family}.{each}" for each in _LATENCY), *_REST)
    names = dict.fromkeys((*usual, *_costs(pair), *further))
    return tuple(by_name[name] for name in names if name in by_name) or pair.metrics


def _costs(pair: Pair) -> list[str]:
    """Name the costs of tasks that both sides have, the base's most expensive first."""
    known = [each for each in pair.metrics if each.metric.startswith("cost.")]
    both = [(each.base.median, each.metric) for each in known if each.base and each.other]
    return [name for _, name in sorted(both, key=lambda cost: (-cost[0], cost[1]))]


def rows(metrics: Sequence[Compared]) -> list[Row]:
    """Write metrics as text."""
    return [
        Row(
            metric=each.metric,
            base=_sample(each.metric, each.base),
            other=_sample(each.metric, each.other),
            ratio=number(each.ratio.value) if each.ratio else "–",
            interval=_interval(each),
            word=each.word,
            improves=each.improves,
        )
        for each in metrics
    ]


def sentence(comparison: Comparison) -> str:
    """Summarise in one sentence the metrics that people ask for first."""
    if comparison.sustained:
        return "; ".join(each.says for each in comparison.sustained)
    if not comparison.pairs:
        return "nothing to compare: no trial has finished"
    words = [each.word for pair in comparison.pairs for each in headline_metrics(pair)]
    if set(words) <= {"not comparable"}:
        return "not comparable"
    counts = ", ".join(f"{word} in {words.count(word)}" for word in dict.fromkeys(words))
    return f"{counts} of {len(words)} metrics"


def refusal(pair: Pair) -> str | None:
    """Say why the sides cannot be compared; None if they can."""
    return f"not comparable, because {'; '.join(pair.obstacles)}" if pair.obstacles else None


def common_differences(comparison: Comparison) -> list[str]:
    """Return each change once."""
    return list(dict.fromkeys(text for pair in comparison.pairs for text in pair.differences))


def notes(comparison: Comparison) -> list[str]:
    """Return each note about the trials once."""
    found = [text for pair in comparison.pairs for text in pair.notes]
    if comparison.base == comparison.other:
        found.insert(0, "both sides are the same run")
    return list(dict.fromkeys(found))


def number(value: float) -> str:
    """Write a ratio."""
    if math.isinf(value):
        return "∞"
    return f"{value:.2f}" if value < 10 else f"{value:.3g}"


def _sample(name: str, sample: Sample | None) -> str:
    """Write the median, and the range where there is one: `99 ms (98–100)`."""
    if sample is None:
        return "–"
    median, low, high = (
        metric(name).show(each) for each in (sample.median, sample.low, sample.high)
    )
    if low == high:
        return median
    unit = median.partition(" ")[2]
    if unit and all(each.partition(" ")[2] == unit for each in (low, high)):
        low, high = (each.removesuffix(f" {unit}") for each in (low, high))
    return f"{median} ({low}–{high})"


def _interval(each: Compared) -> str:
    if each.ratio is None or each.ratio.low is None or each.ratio.high is None:
        return "–"
    return f"{number(each.ratio.low)}–{number(each.ratio.high)}"
