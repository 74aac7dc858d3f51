"""What an act promises: it does something to a service while a trial's load lasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.values import Json


class Act(Protocol):
    """A function that is registered under `streamgauge.acts`."""

    def __call__(self, endpoint: Endpoint, begun_ms: int, arguments: Mapping[str, Json], /) -> str:
        """Do it and return what was done, in words; TrialInvalid when it cannot be done.

        It has to be over within a second of its time: the trial waits for it.

        Args:
            endpoint: Where to reach the service; `PostgresEndpoint.of` gives it its type.
            begun_ms: When the load began, epoch milliseconds.
            arguments: What the trial says about the act.
        """
