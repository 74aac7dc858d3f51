"""What can be done to the business data while a trial runs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from streamgauge.errors import TrialInvalid, UsageError
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.values import Json
from streamgauge.workloads.espbench import tables


class _Downtime(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    workplace: int
    from_s: float
    """Seconds after the load began."""
    to_s: float


def downtime(endpoint: Endpoint, begun_ms: int, arguments: Mapping[str, Json]) -> str:
    """Write a downtime of a workplace: `workplace`, `from_s` and `to_s` after the load began."""
    try:
        asked = _Downtime.model_validate(arguments)
    except ValidationError as error:
        places = ", ".join(str(part) for finding in error.errors() for part in finding["loc"])
        raise TrialInvalid(
            f"espbench.downtime takes workplace, from_s and to_s; these are invalid: {places}"
        ) from None
    start_ms, end_ms = (begun_ms + round(1000 * each) for each in (asked.from_s, asked.to_s))
    try:
        tables.set_downtime(PostgresEndpoint.of(endpoint), asked.workplace, start_ms, end_ms)
    except UsageError as error:
        raise TrialInvalid(error.message, error.remedy) from None
    return f"workplace {asked.workplace} gets a downtime"
