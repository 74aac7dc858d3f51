"""One question to the stream, as a workload describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from streamgauge.spec.answers import Answers
from streamgauge.spec.form import FRONT, Form


@dataclass(frozen=True)
class Query:
    """One question to the stream."""

    name: str
    title: str
    streams: tuple[str, ...]
    output: Literal["topic", "table"]
    answers: Answers
    functions: tuple[str, ...]
    """Core functions of stream processing that it exercises."""
    answers_markers: bool
    """Whether each marker has an output of its own."""
    marker_key: Callable[[bytes], str] | None = None
    """Key of that output, by the marker's value; None where it is the marker's id."""
    window_of: Callable[[bytes, int], str] | None = None
    """Key of the output for a marker's window, by the marker's value and append time; for modes in
    which records close windows."""
    services: tuple[str, ...] = ()
    """Names of the services that it uses, apart from what carries its records."""
    tables: tuple[str, ...] = ()
    """Business tables that it reads or writes; recorded with every trial."""
    configuration: tuple[str, ...] = ()
    """Further streams, which are sent as a whole before the load."""
    internal: tuple[str, ...] = ()
    """Streams that it writes and reads itself."""
    window_ms: int | None = None
    """Size of its time windows, if it has any."""
    whole_seconds: bool = False
    """Whether its load begins on a full second of the clock."""
    needs_sentinels: bool = False
    """Whether its last windows are closed by sentinels: records with a time far ahead, sent to
    every input partition after everything else was consumed; no answer contains them."""
    sample: Callable[[int, bytes], float] | None = None
    """Seconds from intended time to append time of one output, for the live view."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """Form of each stream's records, where it is not `FRONT`."""

    def form(self, stream: str) -> Form:
        """Return the form of a stream's records."""
        return self.forms.get(stream, FRONT)
