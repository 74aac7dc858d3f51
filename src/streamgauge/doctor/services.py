"""Whether the services can be started, and what earlier ones left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from streamgauge.doctor.findings import Finding
from streamgauge.errors import StreamgaugeError
from streamgauge.services.service import Service
from streamgauge.units import format_duration


def startable(service: Service[Any], clock: Callable[[], float] = time.monotonic) -> Finding:
    """Start a service and stop it again."""
    begin = clock()
    try:
        with service.up():
            ready_s = clock() - begin
    except StreamgaugeError as error:
        return Finding(service.name, "missing", error.message, error.remedy)
    return Finding(service.name, "ok", f"ready in {format_duration(ready_s)}, stopped again")


def leftovers(found: Sequence[str]) -> Finding:
    """Tell what owners that are gone left behind."""
    if not found:
        return Finding("leftovers", "ok", "none")
    return Finding("leftovers", "warn", ", ".join(found), "Remove them: streamgauge services down.")


def removed_leftovers(removed: Sequence[str]) -> Finding:
    """Tell what was removed of what owners that are gone left behind."""
    return Finding("leftovers", "ok", f"removed: {', '.join(removed)}" if removed else "none")
