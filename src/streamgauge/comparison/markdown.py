"""A comparison as Markdown, to paste into a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from streamgauge.comparison.compare import Comparison, Pair
from streamgauge.comparison.limits import Checked
from streamgauge.comparison.wording import (
    HEADER,
    common_differences,
    headline_metrics,
    notes,
    place,
    refusal,
    rows,
    sentence,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")


def markdown(
    comparisons: Sequence[Comparison], checked: Sequence[Checked] = (), further: Sequence[str] = ()
) -> str:
    """Write comparisons, then the outcomes of the limits."""
    lines: list[str] = []
    for comparison in comparisons:
        lines += _comparison(comparison, further)
    lines += _limits(checked)
    return "\n".join(lines).rstrip() + "\n"


def _comparison(comparison: Comparison, further: Sequence[str]) -> Iterator[str]:
    yield f"### {plain(comparison.other)} against {plain(comparison.base)}"
    yield ""
    yield f"{plain(sentence(comparison))}."
    yield ""
    for text in common_differences(comparison):
        yield f"- changed: {plain(text)}"
    for text in notes(comparison):
        yield f"- note: {plain(text)}"
    yield ""
    for pair in comparison.pairs:
        yield from _pair(pair, further)


def _pair(pair: Pair, further: Sequence[str]) -> Iterator[str]:
    counts = " and ".join(str(len(side)) for side in pair.trials)
    yield f"**{plain(place(pair))}**, {counts} trials"
    yield ""
    why = refusal(pair)
    if why is not None:
        yield f"{plain(why)}."
        yield ""
    found = rows(headline_metrics(pair, further))
    if found:
        yield f"| {' | '.join(HEADER)} |"
        yield "|---|--:|--:|--:|--:|---|"
        for row in found:
            yield f"| {' | '.join(plain(cell) for cell in row.cells)} |"
        yield ""


def _limits(checked: Sequence[Checked]) -> Iterator[str]:
    if checked:
        yield "| limit | where | outcome | |"
        yield "|---|---|---|---|"
    for each in checked:
        cells = (each.limit, each.place, each.outcome, each.reason)
        yield f"| {' | '.join(plain(cell) for cell in cells)} |"


def plain(text: str) -> str:
    """Escape markup, tags and mentions in a text, and put it on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
