"""The form of a stream's records: how a record carries its id and its intended time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Form:
    """A prefix in front of what a workload renders, and how it is read again."""

    name: str
    looks: str
    """The beginning of a record, as an error names it."""
    shape: bytes
    """Format that takes an intended time and gives the format that takes id and payload."""
    opening: bytes
    """What stands before the id."""
    pattern: str
    """Finds `id` and `intended` at the beginning of a record."""
    output_pattern: str
    """Finds `id` at the beginning of an output, which another program may have written."""
    payload_pattern: bytes | None = None
    """What a payload must be; None where any bytes are allowed."""

    def value(self, id_: int, intended_ms: int, payload: bytes) -> bytes:
        """Return a whole record."""
        return self.shape % intended_ms % (id_, payload)

    def fits(self, payload: bytes) -> bool:
        """Return whether the prefix and this payload make a record."""
        return self._payload is None or self._payload.fullmatch(payload) is not None

    def id_of(self, value: bytes) -> str | None:
        """Return the id of one record, None without one."""
        found = self._record.match(value)
        return found["id"].decode() if found else None

    def since_intended(self, emitted_ms: int, value: bytes) -> float:
        """Return the seconds from the intended time in one output; a query's `sample`.

        Raises:
            ValueError: The output does not begin like a record.
        """
        found = self._record.match(value)
        if found is None:
            raise ValueError(f"{value[:80]!r} does not begin with {self.looks}")
        return (emitted_ms - int(found["intended"])) / 1000

    @cached_property
    def _record(self) -> re.Pattern[bytes]:
        return re.compile(self.pattern.encode())

    @cached_property
    def _payload(self) -> re.Pattern[bytes] | None:
        return None if self.payload_pattern is None else re.compile(self.payload_pattern, re.DOTALL)


FRONT = Form(
    name="front",
    looks="id;intended;",
    shape=b"%%d;%d;%%b",
    opening=b"",
    pattern=r"^(?P<id>\d+);(?P<intended>\d+);",
    output_pattern=r"^(?P<id>\d+);",
)
"""`1;1700000000000;payload`"""
JSON = Form(
    name="json",
    looks='{"id":…,"intended":…,"',
    shape=b'{"id":%%d,"intended":%d,%%b',
    opening=b'{"id":',
    pattern=r'^\{"id":(?P<id>\d+),"intended":(?P<intended>\d+),"',
    output_pattern=r'^\s*\{\s*"id"\s*:\s*(?P<id>\d+)\s*[,}]',
    payload_pattern=rb'"(?:[^"\\]|\\.)+"\s*:.+\}',
)
"""`{"id":1,"intended":1700000000000,"name":…}`; the payload is `"name":…}`, one field at least."""
FORMS = (FRONT, JSON)
