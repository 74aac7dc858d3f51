"""The transport `flight`: the harness's own queues over Arrow Flight, without a broker."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from streamgauge.errors import UsageError
from streamgauge.services import runtime
from streamgauge.spec.endpoints import Endpoint, Endpoints, Services
from streamgauge.spec.offering import Backlog, Sending
from streamgauge.spec.query import Query
from streamgauge.spec.records import Recorded
from streamgauge.spec.transport import Channel, Outlet, Reader
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import HasColumns, Workload
from streamgauge.transports.base import BaseTransport
from streamgauge.transports.flight.endpoint import FlightEndpoint

if TYPE_CHECKING:
    from streamgauge.spec.transport import Records


class FlightTransport(BaseTransport):
    """Queues of the harness; their records are generated when the engine pulls them."""

    name: ClassVar[str] = "flight"
    title: ClassVar[str] = "queues of the harness, without a broker; for workloads with columns"
    via: ClassVar[type[Endpoint]] = FlightEndpoint
    # An engine finishes a million before anything can be measured; a backlog costs nothing.
    backlog: ClassVar[Backlog] = Backlog(rate=200_000.0, greater={35.0: 16, 90.0: 4})
    sender_first: ClassVar[bool] = True
    heeds: ClassVar[frozenset[str]] = frozenset({"queue"})

    def check(self, trial: TrialSpec, query: Query, workload: Workload) -> None:
        """Refuse what queues without a broker cannot carry."""
        super().check(trial, query, workload)
        if not isinstance(workload, HasColumns):
            raise UsageError(
                f"{workload.name} cannot be sent without a broker: its records are lines of text",
                "Use --transport kafka.",
            )
        more = query.answers_markers or query.internal or query.configuration
        if query.output != "topic" or more:
            raise UsageError(
                f"{query.name} needs a broker: over flight only outputs come back to the harness",
                "Use --transport kafka.",
            )
        if query.forms:
            raise UsageError(
                f"{workload.name}/{query.name} cannot be sent without a broker: columns have no"
                " form",
                "Use --transport kafka.",
            )
        if trial.load.senders != 1 or trial.load.spark is not None:
            raise UsageError("the harness's own queues are one process", "Leave out the senders.")

    def endpoint(self, services: Services) -> Endpoint:  # noqa: ARG002 - it needs none
        """Choose a port and a token for the trial."""
        return FlightEndpoint("127.0.0.1", runtime.free_port(), secrets.token_urlsafe())

    def open(self, endpoints: Endpoints) -> Channel:
        """Return the harness's way to the queues."""
        from streamgauge.transports.flight.client import FlightChannel

        return FlightChannel(endpoints)

    def sending(self, endpoints: Endpoints) -> Sending:
        """Let the process that holds the queues fill them."""
        return Sending("streamgauge.transports.flight.server", endpoints.via.secrets())

    def reader(self, endpoints: Endpoints) -> Reader:
        """Return what pulls from the queues."""
        from streamgauge.transports.flight.engine_side import QueueReader

        return QueueReader(endpoints)

    def outlet(self, endpoints: Endpoints) -> Outlet:
        """Return the way back to the harness."""
        from streamgauge.transports.flight.engine_side import QueueOutlet

        return QueueOutlet(endpoints)

    def read_back(
        self,
        trial: TrialSpec,
        endpoints: Endpoints,  # noqa: ARG002 - the queues are gone
        folder: Path,
        ends: Sequence[int],
    ) -> Recorded:
        """Return the records to be generated once more, and what came back until the drain."""
        from streamgauge.transports.flight.records import close_queues

        close_queues(folder, *ends)
        return _recorded(trial, folder)

    def keep(self, recorded: Recorded, folder: Path) -> None:
        """Leave what came back where it is; the rest is generated."""

    def kept(self, trial: TrialSpec, query: Query, folder: Path) -> Recorded:
        """Open what came back, if it was kept."""
        from streamgauge.transports.flight.outputs import FILE

        if not (folder / FILE).exists():
            return super().kept(trial, query, folder)
        return _recorded(trial, folder)

    def forget(self, folder: Path) -> None:
        """Remove what came back: it has been validated."""
        shutil.rmtree(folder / "records", ignore_errors=True)


def _recorded(trial: TrialSpec, folder: Path) -> Recorded:
    from streamgauge.transports.files import FileRecords
    from streamgauge.transports.flight.outputs import FILE
    from streamgauge.transports.flight.records import QueueRecords, read_log

    folder = folder.absolute()
    log = read_log(folder)
    inputs: dict[str, Records] = {name: QueueRecords(trial, name, folder) for name in log.handed}
    return Recorded(inputs, FileRecords(folder / FILE, (log.outputs or 0,)))
