"""How a run was set up: what differs from the defaults, the machine, the versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge import registry
from streamgauge.results.folder import RunRecord
from streamgauge.spec.run import RESOURCES, RunSpec
from streamgauge.spec.trial import LoadSpec, ResourceSpec, TrialResult
from streamgauge.units import format_duration, format_rate, format_size

_MACHINE = {
    "host": "host",
    "system": "system",
    "cpu": "CPU",
    "cores": "cores",
    "memory_bytes": "memory",
    "ceiling": "noop ceiling",
}
_FIELDS = dict.fromkeys(RESOURCES, "resources")


def differences(spec: RunSpec) -> list[tuple[str, str, str, str]]:
    """Return the settings that differ from their defaults: name, value, default, origin."""
    found = []
    for name, origin in spec.origins.items():
        field = _FIELDS.get(name, f"{name}_s" if f"{name}_s" in RunSpec.model_fields else name)
        if field not in RunSpec.model_fields or field in {"workload", "queries"}:
            continue
        default = RunSpec.model_fields[field].get_default()
        value = getattr(spec, field)
        if field == "experiment_options":
            found += [(key, *pair, origin) for key, pair in _options(spec).items()]
            continue
        if isinstance(value, ResourceSpec):
            own, usual = getattr(value, name), getattr(default, name)
            found.append((name, _resource(name, own), _resource(name, usual), origin))
        elif isinstance(value, LoadSpec):
            found += [(f"load {key}", *pair, origin) for key, pair in _load(value).items()]
        else:
            found.append((name, _write(field, value), _write(field, default), origin))
    return [each for each in found if each[1] != each[2]]


def machine(record: RunRecord) -> list[tuple[str, str]]:
    """Return the facts of the machine."""
    facts = record.machine
    return [(says, _write(name, facts[name])) for name, says in _MACHINE.items() if name in facts]


def versions(record: RunRecord) -> list[tuple[str, str]]:
    """Return the versions of all that took part."""
    return [(name, str(fact)) for name, fact in record.machine.items() if name not in _MACHINE]


def services(spec: RunSpec) -> str:
    """Say where the services ran."""
    given = [f"{name} at {address}" for name, address in spec.services.items()]
    return ", ".join(given) if given else "embedded, everything on this machine"


def instances(results: Sequence[TrialResult]) -> list[tuple[str, str]]:
    """Say into how many instances the engine was cut, and on which hosts they ran."""
    cuts = dict.fromkeys(
        each.spec.resources.told() for each in results if each.spec.resources.instances is not None
    )
    hosts = dict.fromkeys(seen.host for each in results for seen in each.instances)
    return [("instances", f"{'; '.join(cuts)} on {', '.join(hosts)}")] if cuts else []


def _write(field: str, value: Any) -> str:
    """Write a value as people write it."""
    if value is None or value in ({}, (), []):
        return "–"
    if field == "rates":
        return ", ".join(format_rate(rate) for rate in value)
    if field == "ceiling":
        return ", ".join(f"{query} {format_rate(rate)}" for query, rate in value.items())
    if field.endswith("_s"):
        return format_duration(value)
    if field.endswith("_bytes"):
        return format_size(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_write(key, item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(_write("", each) for each in value)
    return str(value)


def _resource(name: str, value: int | None) -> str:
    if name == "instance_memory" and value is not None:
        return format_size(value)
    return _write(name, value)


def _options(spec: RunSpec) -> dict[str, tuple[str, str]]:
    """Return value and default of each of the experiment's parameters."""
    usual = {}
    if spec.experiment in registry.names("experiments"):  # otherwise its package is gone
        experiment = registry.load("experiments", spec.experiment)
        usual = experiment.parameters.model_construct().model_dump(mode="json")
    return {
        name: (_write(name, value), _write(name, usual.get(name)))
        for name, value in spec.experiment_options.items()
    }


def _load(load: LoadSpec) -> dict[str, tuple[str, str]]:
    return {
        name.removesuffix("_s"): (_write(name, getattr(load, name)), _write(name, default))
        for name, default in LoadSpec()
        if getattr(load, name) != default
    }
