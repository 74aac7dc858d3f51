"""Choose some of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import get_args

from streamgauge.errors import UsageError
from streamgauge.results.folder import (
    RunFolder,
    RunRecord,
    RunStatus,
    latest_first,
    read_all,
    tagged,
)
from streamgauge.units import parse_duration

STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)


@dataclass(frozen=True)
class Wanted:
    """Which runs to list; None stands for any."""

    workload: str | None = None
    query: str | None = None
    engine: str | None = None
    status: str | None = None
    tag: str | None = None
    """`key=value`, or only a value."""
    since: datetime | None = None

    def fits(self, record: RunRecord) -> bool:
        """Return whether a run is one of those."""
        spec = record.spec
        return all(
            (
                self.workload in (None, spec.workload),
                self.query is None or self.query in spec.queries,
                self.engine in (None, spec.engine),
                self.status in (None, record.status),
                self.tag is None or tagged(record, self.tag),
                self.since is None or datetime.fromisoformat(record.started) >= self.since,
            )
        )


def select(
    folders: Sequence[RunFolder], wanted: Wanted
) -> tuple[list[tuple[RunFolder, RunRecord]], list[str]]:
    """Return the wanted runs, the latest first, and the problems of those that cannot be read.

    It reads only the run.json of each run.
    """
    found, unreadable = read_all(folders)
    return [each for each in latest_first(found) if wanted.fits(each[1])], unreadable


def parse_since(text: str, now: datetime) -> datetime:
    """Read a date (`2026-11-16`), a date with a time (`2026-11-16T17:30`) or an age (`7d`)."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now - timedelta(seconds=parse_duration(text))
        except (UsageError, OverflowError):
            raise UsageError(
                f"{text!r} is neither a date nor an age", "Write it like 2026-11-16 or 7d."
            ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
