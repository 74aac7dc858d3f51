"""What was asked for, setting by setting: from the words of a preset to the fields of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import arrivals
from streamgauge.planning.asked import explain
from streamgauge.planning.load import load_spec
from streamgauge.spec.run import RunSpec
from streamgauge.spec.workload import Workload
from streamgauge.units import parse_duration, parse_rate


def read_settings(values: Mapping[str, Any], workload: Workload, *, quick: bool) -> dict[str, Any]:
    """Return the fields of a run that these settings stand for; refuse unknown ones."""
    known = {*RunSpec.model_fields, *_PARSED} - _DERIVED
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise unknown_name("setting", name, sorted(known))
        field, parse = _PARSED.get(name, (name, lambda value: value))
        fields[field] = parse(value)
    if "parameters" in fields:
        fields["parameters"] = _parameters(workload, fields["parameters"], quick)
    return fields


def _parameters(workload: Workload, given: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    known = list(workload.parameters.model_fields)
    for name in given:
        if name not in known:
            raise unknown_name(f"parameter of {workload.name}", name, known)
    values = {**(workload.quick if quick else {}), **given}
    try:
        return workload.parameters(**values).model_dump(mode="json")
    except ValidationError as error:
        raise UsageError(explain(error)) from None


def _whole(name: str, value: Any) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise UsageError(f"{name}: {value!r} is no whole number") from None


def _resources(cores: Any) -> dict[str, Any]:
    return {"cores": None if cores is None else _whole("cores", cores)}


_PARSED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "rates": ("rates", lambda value: tuple(parse_rate(str(rate)) for rate in value)),
    "duration": ("duration_s", lambda value: parse_duration(str(value))),
    "warmup": ("warmup_s", lambda value: parse_duration(str(value))),
    "schedule": ("schedule", lambda value: arrivals.settle(str(value))),
    "partitions": ("partitions", lambda value: _whole("partitions", value)),
    "cores": ("resources", _resources),
    "load": ("load", load_spec),
}
_DERIVED = {"origins", "duration_s", "warmup_s", "services", "accounts", "resources", "variants"}
"""Fields of a run that nobody sets by that name."""
