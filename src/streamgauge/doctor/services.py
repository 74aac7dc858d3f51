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


def leftovers(remove: Callable[[], Sequence[str]]) -> Finding:
    """Remove what owners that are gone left behind; nothing else is touched."""
    removed = remove()
    if not removed:
        return Finding("leftovers", "ok", "none")
    return Finding("leftovers", "ok", f"removed: {', '.join(removed)}")
