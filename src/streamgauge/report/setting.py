"""How a run was set up: what differs from the defaults, the machine, the versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamgauge.results.folder import RunRecord
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import LoadSpec
from streamgauge.units import format_duration, format_rate, format_size

_MACHINE = ("host", "system", "cpu", "cores", "memory_bytes")


def differences(spec: RunSpec) -> list[tuple[str, str, str, str]]:
    """Return what was set: name, value, default and where it came from."""
    found = []
    for name, origin in spec.origins.items():
        field = f"{name}_s" if f"{name}_s" in RunSpec.model_fields else name
        if field not in RunSpec.model_fields or field in {"workload", "queries"}:
            continue
        default = RunSpec.model_fields[field].get_default()
        value = getattr(spec, field)
        if isinstance(value, LoadSpec):
            found += [(f"load {key}", *pair, origin) for key, pair in _load(value).items()]
        else:
            found.append((name, write(field, value), write(field, default), origin))
    return found


def machine(record: RunRecord) -> list[tuple[str, str]]:
    """Return the facts of the machine, then the versions."""
    facts = record.machine
    rows = [(name, facts[name]) for name in _MACHINE if name in facts]
    rows += [(name, value) for name, value in facts.items() if name not in _MACHINE]
    return [
        ("memory", format_size(value))
        if name == "memory_bytes" and isinstance(value, int | float)
        else (name, str(value))
        for name, value in rows
    ]


def services(spec: RunSpec) -> str:
    """Tell where broker and database were."""
    given = {"Kafka": spec.kafka, "PostgreSQL": spec.postgres}
    told = [f"{name} at {address}" for name, address in given.items() if address]
    return ", ".join(told) if told else "embedded, everything on this machine"


def write(field: str, value: Any) -> str:
    """Write a value of the spec as people write it."""
    if value is None or value in ({}, ()):
        return "–"
    if field == "rates":
        return ", ".join(format_rate(rate) for rate in value)
    if field.endswith("_s"):
        return format_duration(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if value in (True, False) else str(value)
    )


def _load(load: LoadSpec) -> dict[str, tuple[str, str]]:
    default = LoadSpec()
    return {
        name.removesuffix("_s"): (write(name, getattr(load, name)), write(name, standard))
        for name, standard in default
        if getattr(load, name) != standard
    }
