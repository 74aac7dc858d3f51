"""What is wrong with the trials, below their table in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from streamgauge.results.factors import named
from streamgauge.results.repeats import Repeats, repeats
from streamgauge.results.summary import reasons
from streamgauge.spec.trial import TrialResult


def remarks(results: Sequence[TrialResult], objectives: Sequence[str]) -> Iterator[Text]:
    """Yield what is wrong, each once; a quick run was already marked as one."""
    for group in repeats(results):
        by_reason: dict[str, list[TrialResult]] = {}
        for result in group.trials:
            for reason in reasons(result, objectives):
                if not (result.spec.quick and reason == result.kept_up.reason):
                    by_reason.setdefault(reason, []).append(result)
        yield from (_remark(group, reason, of) for reason, of in by_reason.items())


def _remark(group: Repeats, reason: str, of: Sequence[TrialResult]) -> Text:
    broken = any(each.status != "done" or each.correct.holds is False for each in of)
    which = "" if len(of) == len(group.trials) else _numbered([each.spec.repeat for each in of])
    return Text(f"  {named(group.spec)}{which}: {reason}", style="red" if broken else "")


def _numbered(numbers: Sequence[int]) -> str:
    return f", repeat {' and '.join(str(number) for number in numbers)}"
