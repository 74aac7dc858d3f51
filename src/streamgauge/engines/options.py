"""The user's `-E key=value` for our own engines."""

from __future__ import annotations

from collections.abc import Collection

from streamgauge.errors import UsageError, unknown_name
from streamgauge.spec.engine import JobSpec


def check_options(engine: str, job: JobSpec, known: Collection[str]) -> None:
    """Refuse options that the engine does not know, and modes and triggers: it has none.

    Raises:
        UsageError: Names the option and the known ones.
    """
    for option in job.options:
        if option not in known:
            raise unknown_name(f"option of engine {engine}", option, known)
    if job.mode not in (None, "plain"):
        raise UsageError(f"engine {engine} has no mode {job.mode!r}", "Leave the mode out.")
    if job.trigger_s is not None:
        raise UsageError(f"engine {engine} has no trigger", "Leave the trigger out.")
