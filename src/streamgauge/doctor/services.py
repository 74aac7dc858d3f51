"""Whether the services can be started, and what earlier ones left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from streamgauge.doctor.findings import Finding
from streamgauge.errors import StreamgaugeError
from streamgauge.services.choice import embedded, in_order, loadable
from streamgauge.services.running import Options
from streamgauge.services.service import Startable
from streamgauge.services.starting import all_up
from streamgauge.units import format_duration


def startable_services(options: Options) -> list[Finding]:
    """Start each service, with those that it needs, and stop it again."""
    return [_startable(name, options) for name in loadable()]


def _startable(name: str, options: Options) -> Finding:
    return startable(name, [embedded(each, options) for each in in_order([name])])


def startable(
    name: str, services: Sequence[Startable], clock: Callable[[], float] = time.monotonic
) -> Finding:
    """Start a service, after those that it needs, and stop it again."""
    begin = clock()
    try:
        with all_up(services):
            ready_s = clock() - begin
    except StreamgaugeError as error:
        return Finding(name, "missing", error.message, error.remedy)
    return Finding(name, "ok", f"ready in {format_duration(ready_s)}, stopped again")


def leftovers(found: Sequence[str]) -> Finding:
    """Report what owners that are gone left behind."""
    if not found:
        return Finding("leftovers", "ok", "none")
    return Finding("leftovers", "warn", ", ".join(found), "Remove them: streamgauge services down.")


def removed_leftovers(removed: Sequence[str]) -> Finding:
    """Report which leftovers of owners that are gone were removed."""
    return Finding("leftovers", "ok", f"removed: {', '.join(removed)}" if removed else "none")
