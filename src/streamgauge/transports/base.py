"""What most transports have in common; each overrides what it does differently."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from streamgauge.errors import NotReady, UsageError
from streamgauge.spec.endpoints import Endpoint, Endpoints, Services
from streamgauge.spec.offering import Backlog, Sending
from streamgauge.spec.query import Query
from streamgauge.spec.records import Recorded
from streamgauge.spec.transport import Channel, Counters, Outlet, Reader, TakesRecords
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.spec.workload import Workload
from streamgauge.transports.files import FileRecords, keep

OUTPUT = "out"
_DEFAULTS = LoadSpec()


_HEEDED = frozenset({"min_sent", "max_lateness_s"})
"""By every trial."""
_BY_OUR_SENDER = frozenset({"senders", "source", "spark"})


class BaseTransport(ABC):
    """Names, keeps and forgets as most do. Define `name`, `title`, `via` and what is abstract.

    Also define what sends: `outgoing` (the ability `TakesRecords`), or a program of its own in
    `sending`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    services: ClassVar[tuple[str, ...]] = ()
    via: ClassVar[type[Endpoint]]
    backlog: ClassVar[Backlog] = Backlog()
    sender_first: ClassVar[bool] = False
    remembers: ClassVar[int] = 0
    heeds: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        own = type(self).sending is not BaseTransport.sending
        if not own and not isinstance(self, TakesRecords):
            raise TypeError(f"{type(self).__name__} has neither `outgoing` nor its own `sending`")

    def check(self, trial: TrialSpec, query: Query, workload: Workload) -> None:  # noqa: ARG002
        """Refuse settings without effect, and trials in which nothing could be measured."""
        heeded = self.heeds | _HEEDED
        if isinstance(self, TakesRecords):
            heeded |= _BY_OUR_SENDER
        for field in trial.load.model_fields_set - heeded:
            if getattr(trial.load, field) != getattr(_DEFAULTS, field):
                raise UsageError(
                    f"-L {field.removesuffix('_s')} has no effect on --transport {self.name}",
                    "Leave it out.",
                )
        if trial.engine is None and not self.remembers:
            raise UsageError(
                f"--transport {self.name} cannot be measured without an engine",
                "Use --transport kafka.",
            )

    def disk_bytes(self, trial: TrialSpec, streams: int, records: int) -> int:  # noqa: ARG002
        """Take no noticeable room."""
        return 0

    def place(self, name: str, query: Query, partitions: int, services: Services) -> Endpoints:
        """Append the stream's name to that of the trial."""

        def places(streams: Sequence[str]) -> dict[str, str]:
            return {stream: f"{name}-{stream}" for stream in streams}

        return Endpoints(
            transport=self.name,
            via=self.endpoint(services),
            inputs=places(query.streams),
            configuration=places(query.configuration),
            internal=places(query.internal),
            output=f"{name}-{OUTPUT}" if query.output == "topic" else None,
            partitions=partitions,
            group=name,
            services={each: services[each] for each in query.services},
        )

    @abstractmethod
    def endpoint(self, services: Services) -> Endpoint:
        """Return what carries the records of a trial: one of `via`, new or a service's."""

    @abstractmethod
    def open(self, endpoints: Endpoints) -> Channel:
        """Return the harness's way to the streams of a trial, before they are created."""

    @abstractmethod
    def reader(self, endpoints: Endpoints) -> Reader:
        """Return the inputs of a job for an engine in Python."""

    @abstractmethod
    def outlet(self, endpoints: Endpoints) -> Outlet:
        """Return the way back for an engine in Python."""

    @abstractmethod
    def read_back(
        self, trial: TrialSpec, endpoints: Endpoints, folder: Path, ends: Sequence[int]
    ) -> Recorded:
        """Return the records of a trial that is over; outputs after these ends came too late."""

    def sending(self, endpoints: Endpoints) -> Sending:  # noqa: ARG002
        """Let our own sender send."""
        return Sending()

    def counters(self, endpoints: Endpoints) -> AbstractContextManager[Counters]:  # noqa: ARG002
        """Count nothing."""
        raise NotReady(f"transport {self.name} counts nothing itself")

    def keep(self, recorded: Recorded, folder: Path) -> None:
        """Write all records to files."""
        output = {OUTPUT: recorded.output} if recorded.output else {}
        for name, records in {**recorded.inputs, **output}.items():
            keep(records, _file(folder, name))

    def kept(self, trial: TrialSpec, query: Query, folder: Path) -> Recorded:  # noqa: ARG002
        """Open the files that `keep` wrote."""
        read = (*query.streams, *query.configuration)
        if not all(_file(folder, name).exists() for name in read):
            raise UsageError(f"the records of {folder} were not kept", "run it again with --keep")
        output = FileRecords(_file(folder, OUTPUT), gaps=True) if query.output == "topic" else None
        return Recorded({name: FileRecords(_file(folder, name)) for name in read}, output)

    def forget(self, folder: Path) -> None:  # noqa: B027 - most have nothing
        """Remove nothing: the folder holds only what `keep` wrote."""

    def clear(self, services: Services, prefix: str) -> None:  # noqa: B027
        """Leave nothing behind in services."""


def _file(folder: Path, name: str) -> Path:
    return folder / "records" / f"{name}.parquet"
