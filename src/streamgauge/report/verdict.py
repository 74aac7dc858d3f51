"""The conclusion of a run: a sentence, a badge per verdict, and the warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.objectives import parse_objective
from streamgauge.results.folder import RunRecord
from streamgauge.results.summary import reasons
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    from streamgauge.report.view import View

MARKS = {True: "✓", False: "✗", None: "–"}
"""How a text marks a verdict that holds, one that does not, and one that is open."""
MOST_WARNINGS = 50
_NOTHING = "No trial has finished yet."


@dataclass(frozen=True)
class Badge:
    """One verdict over all trials."""

    name: str
    holds: bool | None
    says: str


def sentence(view: View) -> str:
    """Say what came out, or that no trial has finished yet."""
    return view.sentence() if view.results else _NOTHING


def of_trials(record: RunRecord, results: Sequence[TrialResult]) -> str:
    """Say in one sentence how independent trials ended."""
    return _faults(record, results) or _praise(record, len(results))


def badges_of_trials(record: RunRecord, results: Sequence[TrialResult]) -> list[Badge]:
    """Return valid, correct, kept up and objectives, each over all trials."""
    verdicts = valid_and_correct(results)
    verdicts.append(("kept up", [result.kept_up.holds for result in results]))
    met = [fine for result in results for fine in _met(record, result)]
    return [*(badge(*each) for each in verdicts), badge("objectives", met, none="none set")]


def doubts(
    results: Sequence[TrialResult], objectives: Sequence[str], *, overloaded: bool = False
) -> list[str]:
    """Return why verdicts do not hold.

    Args:
        results: The trials that matter.
        objectives: The objectives to meet.
        overloaded: Whether an engine was overloaded on purpose, so that falling behind is no doubt.
    """
    found = []
    for result in results:
        quiet = {result.kept_up.reason} if overloaded or result.spec.quick else set()
        why = reasons(result, objectives)
        found += [f"{_label(result)}: {reason}" for reason in why if reason not in quiet]
    return found


def warnings(view: View, unreadable: Sequence[str]) -> list[str]:
    """Collect what to know before looking at any chart."""
    folder, record = view.folder, view.record
    found = [stamp.warning for stamp in view.stamps()]
    if record.status in {"running", "interrupted"}:
        found.append(f"The run is {record.status}: only finished trials are shown.")
    finished = {folder.trial_folder(result.spec.number) for result in view.results}
    open_still = [place.name for place in folder.trial_folders() if place not in finished]
    if open_still:
        found.append(f"Unfinished and left out: trial {', '.join(open_still)}.")
    found += [*view.doubts(), *record.warnings, *unreadable]
    if len(found) > MOST_WARNINGS:
        rest = len(found) - MOST_WARNINGS
        found = [*found[:MOST_WARNINGS], f"… and {rest:,} more; `streamgauge show` lists them."]
    return found


def _praise(record: RunRecord, total: int) -> str:
    finished = " finished" if record.status in {"running", "interrupted"} else ""
    what = f"The{finished} trial is" if total == 1 else f"All {total}{finished} trials are"
    clauses = ["valid", "gave the right answers"]
    clauses += [] if record.spec.quick else ["kept up"]
    clauses += ["met every objective"] if record.spec.objectives else []
    return f"{what} {', '.join(clauses[:-1])} and {clauses[-1]}."


def _faults(record: RunRecord, results: Sequence[TrialResult]) -> str:
    """Say for which trials something does not hold or is unknown, the most serious first."""
    failed = [r for r in results if r.status == "failed"]
    ended = [r for r in results if r.status != "failed"]
    sound = [r for r in ended if r.valid.holds is not False]
    counted = {
        "failed": failed,
        "invalid": [r for r in ended if r.valid.holds is False],
        "answered wrongly": [r for r in results if r.correct.holds is False],
        "did not keep up": [r for r in results if r.kept_up.holds is False],
        "missed an objective": [r for r in sound if not all(_met(record, r))],
        "not fully judged": [r for r in results if _untold(record, r)],
    }
    found = {words: those for words, those in counted.items() if those}
    if not found:
        return ""
    if len(results) == 1:
        return f"The trial {' and '.join(_verb(words, 1) + words for words in found)}."
    return (
        "; ".join(
            f"{_those(those, len(results))} {_verb(words, len(those))}{words}"
            for words, those in found.items()
        )
        + "."
    )


def _those(found: Sequence[TrialResult], total: int) -> str:
    if len(found) > 2:
        return f"all {total} trials" if len(found) == total else f"{len(found)} of {total} trials"
    return " and ".join(_label(result) for result in found)


def _label(result: TrialResult) -> str:
    from streamgauge.report.charts.data.trial import (
        label,  # slow to load, and not needed in the terminal
    )

    return label(result)


def _verb(words: str, number: int) -> str:
    if words not in {"invalid", "not fully judged"}:
        return ""
    return "is " if number == 1 else "are "


def _untold(record: RunRecord, result: TrialResult) -> bool:
    """Return whether a verdict is open that no other finding explains."""
    if result.status == "failed" or result.valid.holds is False:
        return False
    holds = [result.valid.holds, result.correct.holds]
    return None in (holds if record.spec.quick else [*holds, result.kept_up.holds])


def _met(record: RunRecord, result: TrialResult) -> list[bool]:
    found = map(parse_objective, record.spec.objectives)
    return [objective.check(result.metrics).met for objective in found]


def valid_and_correct(results: Sequence[TrialResult]) -> list[tuple[str, list[bool | None]]]:
    """Return the verdicts of these trials by their names."""
    return [
        ("valid", [result.valid.holds for result in results]),
        ("correct", [result.correct.holds for result in results]),
    ]


def badge(
    name: str, found: Sequence[bool | None], none: str = "no trial", which: str = ""
) -> Badge:
    """Return a verdict over several; `none` is its text without any, `which` says of which."""
    if not found:
        return Badge(name, None, none)
    holds = False if False in found else None if None in found else True
    if set(found) == {None}:
        return Badge(name, None, "not judged")
    yes = sum(each is True for each in found)
    return Badge(name, holds, f"{yes} of {len(found)} {which}".strip())
