"""An aggregate as data: what is kept of records (lift, combine), and the result (lower)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Combine = Literal["sum", "min", "max", "list"]


@dataclass(frozen=True)
class Part:
    """A column that is kept for some records, and for slices of them."""

    name: str
    lift: str
    """Its value for a single record, as SQL; a bigint or a double."""
    combine: Combine
    """How the values of records, or of slices, become one; `list` keeps all of them."""


@dataclass(frozen=True)
class Aggregate:
    """Parts, and the columns that are computed from them."""

    parts: tuple[Part, ...]
    lower: Mapping[str, str]
    """Columns by their names, as SQL over the parts."""

    @property
    def holistic(self) -> bool:
        """Return whether a slice has to keep all of its records."""
        return any(part.combine == "list" for part in self.parts)
