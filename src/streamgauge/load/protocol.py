"""The messages between the harness and the sender's process: one line of JSON each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from streamgauge.spec.trial import Model, TrialSpec

PULSE_MS = 250
"""Between repeated markers, so that no second is without one."""


class SenderJob(Model):
    """The sender's job file."""

    spec: TrialSpec
    endpoints: dict[str, JsonValue]
    """Where the records go, as `services.endpoints` writes it: without secrets."""
    ticks: Path
    """Where the record of the load is written, as Parquet."""
    number: int = 0
    """Position among the senders, from 0."""
    of: int = 1
    """How many senders there are."""
    pulse: bool = False
    """Whether markers are repeated until the load begins."""
    payloads: Path | None = None
    """Folder of the payloads to be streamed; None to render them into memory."""

    def shared(self, senders: int) -> list[SenderJob]:
        """Return the jobs of this many senders that share this one."""
        if senders == 1:
            return [self]
        return [
            self.model_copy(
                update={
                    "number": number,
                    "of": senders,
                    "ticks": self.ticks.with_stem(f"{self.ticks.stem}-{number + 1}"),
                }
            )
            for number in range(senders)
        ]


class SparkJob(Model):
    """The job file of senders on a Spark cluster."""

    job: SenderJob
    """What they share."""
    senders: int | None
    """How many there are; None for one on each core."""
    master: str
    host: str
    """Where the harness listens for the tasks."""
    port: int


class Hello(Model):
    """The first line of a Spark task to the harness."""

    token: str
    number: int
    of: int
    """How many tasks there are."""


class Command(Model):
    """What the sender is asked to do."""

    do: Literal["configuration", "markers", "sentinels", "begin", "end"]
    start_ms: int | None = None
    """When the load begins, epoch milliseconds."""


class Ready(Model):
    """The payloads are rendered and the broker answers."""

    kind: Literal["ready"] = "ready"
    fifo: bool
    """Whether the sender runs under real-time scheduling."""


class Marker(Model):
    """An ordinary record that shows whether the engine has begun, or has finished."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    stream: str
    partition: int
    offset: int
    appended_ms: int
    id: int
    value: bytes


class Markers(Model):
    """The markers that were asked for are in their topics."""

    kind: Literal["markers"] = "markers"
    markers: list[Marker]


class TickLine(Model):
    """Where the load stands; counts are over all streams since it began."""

    kind: Literal["tick"] = "tick"
    at_ms: int
    due: int
    sent: int
    outstanding: int
    errors: int


class Sent(Model):
    """The result of one sender's part of the load."""

    kind: Literal["sent"] = "sent"
    due: int
    sent: int
    acknowledged: int
    errors: int
    backpressure_s: float
    """Time without room in the producer's buffer."""
    lateness: dict[int, int]
    """Records by sending − intended time, in the steps of `Lateness`."""
    fifo: bool
    cpu_s: float
    """Processor time of the sender during the load."""
    requests_s: list[float]
    """Mean time of each second's produce requests to the broker's answer, where asked for."""


class Overrun(Model):
    """The engine cannot take what is offered: the queue is full, or a transfer was broken off."""

    kind: Literal["overrun"] = "overrun"
    reason: str


class SenderSummary(Model):
    """The result of the load, all senders together."""

    senders: int
    due: int
    sent: int
    acknowledged: int
    errors: int
    backpressure_s: float
    """Time without room in the producer's buffer, of the sender that had most of it."""
    send_lateness: dict[str, float]
    """Statistics of sending − intended time over all records, in seconds."""
    fifo: bool
    """Whether all senders ran under real-time scheduling."""
    cpu_s: float
    """Processor time of the senders during the load."""
    request: dict[str, float]
    """Statistics of the mean time of each second's produce requests, in seconds."""


Line = Annotated[Ready | Markers | TickLine | Sent | Overrun, Field(discriminator="kind")]
LINES: TypeAdapter[Line] = TypeAdapter(Line)
