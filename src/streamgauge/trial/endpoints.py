"""Where the records of a trial go in and come out."""

from __future__ import annotations

import secrets

from streamgauge.errors import UsageError
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.query import Query
from streamgauge.spec.transport import Transport
from streamgauge.spec.trial import TrialSpec
from streamgauge.trial.bench import Bench


def trial_endpoints(spec: TrialSpec, query: Query, transport: Transport, bench: Bench) -> Endpoints:
    """Name the streams of a trial.

    Raises:
        UsageError: A service that the query uses is not up.
    """
    for name in (*transport.services, *query.services):
        if name not in bench.services:
            raise UsageError(f"{query.name} over {transport.name} needs the service {name}")
    # A repeated trial never meets the streams of its first try.
    name = f"{bench.prefix}-{spec.number:03}-{secrets.token_hex(2)}"
    return transport.place(name, query, spec.partitions, bench.endpoints)
