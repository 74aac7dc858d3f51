"""Which services a run uses: by name, by what was given, in the order of their needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from streamgauge import registry
from streamgauge.errors import NotReady, StreamgaugeError, UsageError, unknown_name
from streamgauge.jobfile import variable
from streamgauge.metrics import is_role
from streamgauge.services.addresses import Given
from streamgauge.services.running import Options
from streamgauge.services.service import Service, Startable
from streamgauge.spec.reading import read

_ROLES = ("engine", "sender", "harness")
"""Roles of what is not a service."""


def names() -> list[str]:
    """Return the names of all services, including those that do not load."""
    return registry.names("services")


def loadable() -> list[str]:
    """Return the names of the services that load, and whose needs do."""
    found = []
    for name in names():
        with suppress(StreamgaugeError):  # what does not load is reported elsewhere
            in_order([name])
            found.append(name)
    return found


def service(name: str) -> Service:
    """Return the service of that name."""
    made = registry.load("services", name)()
    if made.role in _ROLES or not is_role(made.role):
        raise NotReady(
            f"service {name!r} cannot be counted under the role {made.role!r}",
            f"Choose another one: letters, digits and dots, but not {', '.join(_ROLES)}.",
        )
    return made


def in_order(wanted: Iterable[str]) -> list[str]:
    """Return services and all that they need, each after what it needs.

    Raises:
        UsageError: Two of them need each other.
    """
    ordered: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise UsageError(
                f"the services {' and '.join((*above[above.index(name) :],))} need each other",
                "Correct `needs` of one of them.",
            )
        if name not in ordered:
            for needed in service(name).needs:
                add(needed, (*above, name))
            ordered.append(name)

    for name in wanted:
        add(name, ())
    return ordered


def check_names(wanted: Iterable[str]) -> list[str]:
    """Return the names, all of them when none is given; refuse unknown ones."""
    known = names()
    chosen = list(dict.fromkeys(wanted)) or known
    for name in chosen:
        if name not in known:
            raise unknown_name("service", name, known)
    return chosen


def embedded(
    name: str, options: Options | None = None, settings: Mapping[str, Any] | None = None
) -> Startable:
    """Return the embedded service of that name, not started yet."""
    kind = service(name)
    made = kind.embedded(read_settings(kind, settings or {}), options or Options())
    made.name, made.role, made.needs = kind.name, kind.role, kind.needs
    return made


def given(name: str, address: Given, options: Options, settings: Mapping[str, Any]) -> Startable:
    """Return a service that somebody else runs, not checked yet."""
    kind = service(name)
    made = kind.given(kind.parse(address), read_settings(kind, settings), options)
    made.name, made.role = kind.name, kind.role
    return made


def read_settings(kind: Service, values: Mapping[str, Any]) -> BaseModel:
    """Read the settings of a service; a dot leads into a field with names of its own.

    Raises:
        UsageError: There is no such setting, or it has no such value.
    """
    fields: dict[str, Any] = {key: value for key, value in values.items() if "." not in key}
    for key, value in values.items():
        field, dot, inner = key.partition(".")
        if field not in kind.settings.model_fields:
            raise unknown_name(f"setting of {kind.name}", key, kind.settings.model_fields)
        if not dot:
            continue
        names = fields.get(field, {})
        if not isinstance(names, Mapping):
            raise UsageError(
                f"-S {kind.name}.{field}: given as a whole (given: {names!r}) and as {key}",
                "Leave out one of them.",
            )
        fields[field] = {**names, inner: value}
    return read(kind.settings, fields, f"-S {kind.name}.")


def from_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the addresses that the environment gives, by service."""
    found = {name: environ.get(variable(name), "") for name in names()}
    return {name: address for name, address in found.items() if address}
