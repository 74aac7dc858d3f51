"""Where the harness's own queues can be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streamgauge.spec.endpoints import Endpoint, secret


@dataclass(frozen=True)
class FlightEndpoint(Endpoint):
    """The harness's own queues, and the token that every client must have."""

    service: ClassVar[str] = "flight"

    host: str
    port: int
    token: str = secret("token")

    @property
    def address(self) -> str:
        """Return the address as it may be shown."""
        return f"grpc://{self.host}:{self.port}"
