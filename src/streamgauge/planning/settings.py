"""All settings that can be asked for: the form of each value, and its field of a run.

Options, environment variables, presets and the Python API all pass through here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import arrivals
from streamgauge.objectives import parse_objective
from streamgauge.planning.load import as_list, check_loads, load_spec, refuse_list_of_one
from streamgauge.services import choice
from streamgauge.spec.reading import guarded, read, written
from streamgauge.spec.trial import ActSpec, Model
from streamgauge.spec.workload import Workload
from streamgauge.units import parse_duration, parse_rate, parse_size

_WHOLE = re.compile(r"-?[0-9]{1,18}")


def _whole(value: Any) -> int:
    """Read a whole number from a number or from the digits of a text."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if value is None:
        raise UsageError("there is no value", "Give it one, or leave it out.")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{value!r} is not a whole number", "Write it like 4.")
    return operator.index(value)


def _several_whole(value: Any) -> Any:
    for each in re.split("[,;]", value) if isinstance(value, str) else as_list(value):
        _whole(each)
    return refuse_list_of_one(value)


def _as_typed(value: Any) -> Any:
    """Write a number or a truth value as it would be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Real) else value


def _listed(value: Any) -> Any:
    """Refuse a single value: a text is not a list of its letters."""
    if isinstance(value, str | Real):
        raise UsageError(f"{value} is one value, but a list is expected", f"Write [{value}].")
    return value


def _different(values: list[str]) -> list[str]:
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{value} is named twice", "Name it once; --repeats repeats trials.")
    return values


Text = Annotated[str, Field(strict=True, min_length=1)]
Typed = Annotated[Text, BeforeValidator(_as_typed)]
"""A text that YAML may take for a number or a truth value."""
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(ge=0), BeforeValidator(guarded(_whole))]
Count = Annotated[int, Field(ge=1), BeforeValidator(guarded(_whole))]
Duration = Annotated[str, written(parse_duration)]
Rates = Annotated[
    list[Annotated[str, written(parse_rate)]],
    Field(min_length=1),
    BeforeValidator(guarded(_listed)),
    AfterValidator(guarded(_different)),
]
Names = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(guarded(_listed)),
    AfterValidator(guarded(_different)),
]
Objectives = Annotated[
    list[Annotated[str, written(parse_objective)]], BeforeValidator(guarded(_listed))
]
Pairs = dict[Text, JsonValue]
_UNSET: Any = None


class Settings(Model):
    """All that a preset may set. Fields without a value are absent."""

    title: Text = _UNSET
    workload: Text = _UNSET
    queries: Names = Field(_UNSET, examples=["queries: [q1, q3]"])
    parameters: Pairs = Field(_UNSET, examples=["parameters: {warehouses: 3}"])
    engine: Text = _UNSET
    engine_options: dict[Text, Typed] = Field(
        _UNSET, examples=["engine_options: {mode: microbatch, trigger: 4s}"]
    )
    experiment: Text = _UNSET
    experiment_options: Pairs = Field(_UNSET, examples=["experiment_options: {survey: true}"])
    transport: Text = _UNSET
    rates: Rates = Field(_UNSET, examples=["rates: [1k/s, 10k/s]"])
    shape: Text = Field(_UNSET, examples=["shape: poisson:10k/s"])
    duration: Duration = Field(_UNSET, examples=["duration: 5m"])
    warmup: Duration = Field(_UNSET, examples=["warmup: 90s"])
    repeats: Count = _UNSET
    partitions: Annotated[Any, AfterValidator(guarded(_several_whole))] = Field(
        _UNSET, examples=["partitions: 2, or partitions: [1, 2]"]
    )
    cores: Count = _UNSET
    instances: Count = _UNSET
    instance_cores: Count = _UNSET
    instance_memory: Annotated[str, written(parse_size), BeforeValidator(_as_typed)] = Field(
        _UNSET, examples=["instance_memory: 2GiB"]
    )
    seed: Whole = _UNSET
    load: Annotated[Any, AfterValidator(guarded(check_loads))] = Field(
        _UNSET, examples=["load: {acks: all, batch: 64KiB}; a shape is shape: poisson:10k/s"]
    )
    senders: Text = Field(_UNSET, examples=["senders: spark=spark://host:7077"])
    vary: dict[Text, Any] = Field(_UNSET, examples=["vary: {rate: [1k/s, 10k/s]}"])
    acts: list[ActSpec] = Field(
        _UNSET,
        examples=["acts: [{at_s: 25, service: postgres, name: espbench.downtime, arguments: {…}}]"],
    )
    profile: Text = _UNSET
    objectives: Objectives = Field(_UNSET, examples=["objectives: ['latency.p99<2s']"])
    tags: dict[Text, Typed] = Field(_UNSET, examples=["tags: {branch: main}"])
    quick: Flag = _UNSET
    survey: Flag = _UNSET
    keep: Flag = _UNSET
    service_settings: Pairs = Field(_UNSET, examples=["service_settings: {kafka.replication: 3}"])


class Options(Settings):
    """What the command line and the Python API may set."""

    preset: Text = _UNSET


def read_form(
    values: Mapping[str, Any], where: str = "", model: type[Settings] = Settings
) -> dict[str, Any]:
    """Return the settings, after checking the form of their values.

    Args:
        values: What was given, by the settings' names; a service's name stands for its address.
        where: What to put in front of a setting's name in an error.
        model: What may be given.

    Raises:
        UsageError: There is no such setting, or its value has another form.
    """
    services = choice.names()
    known = [*model.model_fields, *services]
    for name in values:
        if name not in known:
            wrong = unknown_name("setting", str(name), known)
            raise UsageError(f"{where}{wrong.message}", wrong.remedy)
    plain = {name: value for name, value in values.items() if name not in services}
    found = read(model, plain, where)
    for name in values.keys() - plain.keys():
        if not isinstance(values[name], str):
            raise UsageError(f"{where}{name} must be an address, as a text")
    return {name: getattr(found, name) if name in plain else values[name] for name in values}


def read_settings(values: Mapping[str, Any], workload: Workload, *, quick: bool) -> dict[str, Any]:
    """Return the fields of a run that these settings stand for."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        field, parse = _PARSED.get(name, (name, lambda value: value))
        try:
            read_value = parse(value)
            both = field == "resources" and field in fields
            fields[field] = {**fields[field], **read_value} if both else read_value
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", error.remedy) from None
    if "parameters" in fields:
        fields["parameters"] = _parameters(workload, fields["parameters"], quick)
    return fields


def _parameters(workload: Workload, given: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    known = list(workload.parameters.model_fields)
    for name in given:
        if name not in known:
            raise unknown_name(f"parameter of {workload.name}", name, known)
    values = {**(workload.quick if quick else {}), **given}
    return read(workload.parameters, values, "-P ").model_dump(mode="json")


_PARSED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "rates": ("rates", lambda value: tuple(parse_rate(str(rate)) for rate in value)),
    "duration": ("duration_s", lambda value: parse_duration(str(value))),
    "warmup": ("warmup_s", lambda value: parse_duration(str(value))),
    "shape": ("shape", lambda value: arrivals.settle(str(value))),
    "partitions": ("partitions", _whole),
    "seed": ("seed", _whole),
    "cores": ("resources", lambda value: {"cores": _whole(value)}),
    "instances": ("resources", lambda value: {"instances": _whole(value)}),
    "instance_cores": ("resources", lambda value: {"instance_cores": _whole(value)}),
    "instance_memory": ("resources", lambda value: {"instance_memory": parse_size(str(value))}),
    "load": ("load", load_spec),
}
