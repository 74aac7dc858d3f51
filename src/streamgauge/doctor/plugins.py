"""Plug-ins that do not load: none of ours depends on those of other packages."""

from __future__ import annotations

from collections.abc import Iterator

from streamgauge import registry
from streamgauge.doctor.findings import Finding
from streamgauge.errors import StreamgaugeError


def broken_plugins() -> Iterator[Finding]:
    """Load everything that is registered; yield what fails."""
    for group in registry.GROUPS:
        for name in registry.names(group):
            try:
                registry.load(group, name)
            except StreamgaugeError as error:
                what = f"{group.removesuffix('s')} {name}"
                yield Finding(what, "warn", error.message, error.remedy)
