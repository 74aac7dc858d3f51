"""A Spark cluster that somebody else runs: its executors are checked before each trial."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack

from streamgauge.errors import NotReady
from streamgauge.services.running import RunningService
from streamgauge.services.spark.endpoint import SparkEndpoint, places
from streamgauge.spec.endpoints import Services

_ANSWERS_WITHIN_S = 5.0


class GivenSpark:
    """A cluster given by its master; only our own applications run there."""

    name = "spark"
    role = "cluster"
    needs: tuple[str, ...] = ()

    def __init__(self, endpoint: SparkEndpoint) -> None:
        self.endpoint = endpoint

    def begin(
        self,
        stack: ExitStack,  # noqa: ARG002 - nothing is to be stopped
        needed: Services,  # noqa: ARG002
    ) -> Callable[[], RunningService[SparkEndpoint]]:
        """Check that one of its masters listens, if they are named."""
        place = self._answering()
        return lambda: RunningService(self.name, self.role, self.endpoint, place=place)

    def _answering(self) -> tuple[str, int] | None:
        problem = None
        for place in places(self.endpoint.master):
            try:
                socket.create_connection(place, _ANSWERS_WITHIN_S).close()
            except OSError as error:
                problem = error
            else:
                return place
        if problem is None:  # Kubernetes and YARN are asked by Spark's own clients
            return None
        raise NotReady(
            f"cannot use the Spark cluster {self.endpoint.master}: {problem.strerror or problem}",
            "Check the address, and that its master runs.",
        )
