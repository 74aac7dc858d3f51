"""One tree of exceptions; each knows its exit code.

    StreamgaugeError
    ├── UsageError            2    what was asked for makes no sense
    ├── NotReady              3    something this needs is missing, or another measurement runs
    ├── Unmeasured            4    there is no usable measurement
    │   ├── TrialFailed            the engine died or would not start
    │   └── TrialInvalid           broker, database, sender or clock spoiled the trial
    └── Interrupted         130    the user asked to stop

Anything else that escapes is a bug of ours and ends with exit code 70.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class StreamgaugeError(Exception):
    """Name the thing and the reason; `remedy` is the next step for the user."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(StreamgaugeError):
    """What was asked for makes no sense."""

    exit_code = 2


class NotReady(StreamgaugeError):
    """Something this needs is missing, or another measurement is running."""

    exit_code = 3


class Unmeasured(StreamgaugeError):
    """A trial gave no usable measurement."""

    exit_code = 4


class TrialFailed(Unmeasured):
    """The engine died or would not start."""


class TrialInvalid(Unmeasured):
    """Broker, database, sender or clock spoiled the trial; says nothing about the engine."""


class Interrupted(StreamgaugeError):
    """The user asked to stop."""

    exit_code = 130


BUG_EXIT_CODE = 70


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that was probably meant, if any is close."""
    from difflib import get_close_matches  # slow to import, and only needed when things go wrong

    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def unknown_name(
    kind: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None
) -> UsageError:
    """Make the error for an unknown name: it lists the known ones and the nearest.

    Args:
        kind: The kind of thing that was to be named: "workload", "metric".
        name: The name as given.
        known: All names it could have been.
        listed: What to list instead of `known`, if those are too many.
    """
    known = sorted(known)
    guess = nearest(name, known)
    question = f"Did you mean {guess}? " if guess else ""
    listing = ", ".join(known if listed is None else listed) or "none"
    return UsageError(f"unknown {kind} {name!r}", f"{question}Known: {listing}.")
