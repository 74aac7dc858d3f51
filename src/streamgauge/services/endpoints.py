"""Endpoints of a trial, written to a file and read back; secrets travel in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from streamgauge import registry
from streamgauge.services.choice import service
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.values import Json

_PLAIN = ("transport", "inputs", "configuration", "internal", "output", "partitions", "group")


def write_endpoints(endpoints: Endpoints) -> dict[str, Any]:
    """Return the part of them that a file may contain."""
    services: dict[str, Json] = {
        name: endpoint.written() for name, endpoint in endpoints.services.items()
    }
    plain = {name: getattr(endpoints, name) for name in _PLAIN}
    return {**plain, "via": endpoints.via.written(), "services": services}


def read_endpoints(
    written: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Endpoints:
    """Combine what was written and the secrets from the environment."""
    transport = registry.load("transports", written["transport"])
    return Endpoints(
        **{name: written[name] for name in _PLAIN},
        via=transport.via.restored(written["via"], environ),
        services={
            name: service(name).endpoint.restored(fields, environ)
            for name, fields in written["services"].items()
        },
    )


def secrets_of(endpoints: Endpoints) -> dict[str, str]:
    """Return what a process must know and no file may contain, by the names of variables."""
    found = dict(endpoints.via.secrets())
    for endpoint in endpoints.services.values():
        found |= endpoint.secrets()
    return found
