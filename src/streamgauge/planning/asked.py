"""A value that was asked for, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from streamgauge.spec.run import Origin


@dataclass(frozen=True)
class Asked:
    """A value that the user gave, and by which way."""

    value: Any
    origin: Origin = "option"


def explain(error: ValidationError) -> str:
    """Put Pydantic's findings into a sentence each."""
    lines = []
    for finding in error.errors():
        place = ".".join(str(part) for part in finding["loc"])
        message = finding["msg"].removeprefix("Value error, ")
        given = f" (given: {finding['input']!r})" if place else ""
        lines.append(f"{place}: {message}{given}" if place else message)
    return "; ".join(lines)
