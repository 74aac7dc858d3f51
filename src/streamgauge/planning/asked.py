"""A value that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.spec.run import Origin


@dataclass(frozen=True)
class Asked:
    """A value that the user gave, and where it was given."""

    value: Any
    origin: Origin = "option"
