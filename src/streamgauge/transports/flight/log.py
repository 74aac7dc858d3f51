"""What a trial's queues have held: enough to generate every record again."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from streamgauge.spec.trial import Model
from streamgauge.transports.flight.queue import Filling, Ticks

FILE = "queues.json"


class QueueLog(Model):
    """The content of queues.json; with the trial's spec it is complete."""

    filling: Filling
    handed: dict[str, list[int]]
    """How far each partition of each stream was handed out."""
    outputs: int | None = None
    """How many had come back when the trial was drained; None when it was not recorded."""
    at_ms: list[int]
    load: list[int]
    """Records of the load that were there at each of these times, of each stream."""

    @cached_property
    def ticks(self) -> Ticks:
        """When which part of the load became available."""
        return Ticks(np.array(self.at_ms, dtype=np.int64), np.array(self.load, dtype=np.int64))

    def write(self, folder: Path) -> None:
        """Write it next to the other files of the trial."""
        (folder / FILE).write_text(self.model_dump_json() + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> QueueLog:
        """Read it back."""
        return cls.model_validate_json((folder / FILE).read_bytes())
