"""How the load is sent, from what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked
from streamgauge.services.spark.endpoint import is_master
from streamgauge.spec.reading import read
from streamgauge.spec.run import LOADS
from streamgauge.spec.trial import LoadSpec
from streamgauge.units import format_duration, parse_duration, parse_size

_SENDERS = "senders"
_ON_SPARK = "spark="
_TIMES = {"linger": "linger_s", "max_lateness": "max_lateness_s"}
_SIZES = {"batch", "buffer", "queue"}
LOAD_OPTIONS = tuple(sorted({*LoadSpec.model_fields, *_TIMES} - {*_TIMES.values()}))


def on_spark(merged: Mapping[str, Asked]) -> dict[str, Asked]:
    """Let the tasks of a Spark cluster send, if that was asked for."""
    rest = {name: asked for name, asked in merged.items() if name != _SENDERS}
    kind = str(merged[_SENDERS].value) if _SENDERS in merged else "processes"
    if kind == "processes":
        return rest
    if not kind.startswith(_ON_SPARK):
        kinds = ("processes", "spark=URL")
        raise unknown_name("kind of senders", kind, kinds)
    master = kind.removeprefix(_ON_SPARK)
    if not is_master(master):
        raise UsageError(
            f"--senders {kind}: {master or 'nothing'} is not a Spark cluster",
            "Write --senders spark=spark://HOST:PORT.",
        )
    given = rest.get("load", Asked([{}])).value
    loads = [{"senders": None, **load, "spark": master} for load in given]
    rest["load"] = Asked(loads, merged[_SENDERS].origin)
    return rest


def load_axes(loads: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the factors of the load with their values, and its fixed options.

    Each option with several values is a factor. With several loads, their differences are one.
    """
    if len(loads) < 2:
        axes = {key: _values(value) for load in loads for key, value in load.items()}
        several = {f"L.{key}": values for key, values in axes.items() if len(values) > 1}
        return several, {key: values[0] for key, values in axes.items() if len(values) == 1}
    points: list[dict[str, Any]] = []
    for point in (point for load in loads for point in _points(load)):
        if point not in points:
            points.append(point)
    same = {key: value for key, value in points[0].items() if _is_in_all(key, value, points)}
    own = [{key: each for key, each in point.items() if key not in same} for point in points]
    return ({LOADS: own} if len(own) > 1 else {}), same


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def _values(value: Any) -> list[Any]:
    """Return the values of a setting: a list, or a text with commas."""
    values = value.split(",") if isinstance(value, str) else as_list(value)
    if not values:
        raise UsageError("a setting of the load has no value", "Give it one, or leave it out.")
    return values


def _points(load: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values given for a load."""
    for values in product(*(_values(value) for value in load.values())):
        yield dict(zip(load, values, strict=True))


def _is_in_all(key: str, value: Any, points: Sequence[Mapping[str, Any]]) -> bool:
    return all(key in point and point[key] == value for point in points)


def check_loads(asked: Any) -> Any:
    """Refuse one load or a list of loads if one of its options is malformed.

    Raises:
        UsageError: It is, or there is no such option.
    """
    for load in as_list(asked):
        if not isinstance(load, Mapping):
            raise UsageError(f"{load!r} must be KEY: VALUE pairs")
        for name, value in load.items():
            refuse_list_of_one(value)
            for each in _values(value):
                if each is None:
                    raise UsageError(f"{name} is empty", "Give it a value, or leave it out.")
                read(LoadSpec, _field(str(name), each))
    return asked


def refuse_list_of_one(value: Any) -> Any:
    """Refuse a list of a single value; return anything else."""
    if isinstance(value, list) and len(value) == 1:
        raise UsageError(f"{value} is a list of one value", "Write that value without brackets.")
    return value


def load_spec(given: Mapping[str, Any]) -> LoadSpec:
    """Read the load's options; sizes and times may carry units."""
    fields: dict[str, Any] = {}
    for name, value in given.items():
        fields |= _field(name, value)
    load = read(LoadSpec, fields)
    _refuse_laxer(load)
    return load


def _field(name: str, value: Any) -> dict[str, Any]:
    """Return the field of a load that an option sets."""
    if name not in LOAD_OPTIONS:
        raise unknown_name("option of the load", name, LOAD_OPTIONS)
    if name in _TIMES:
        return {_TIMES[name]: parse_duration(str(value))}
    return {name: parse_size(str(value)) if name in _SIZES else value}


def _refuse_laxer(load: LoadSpec) -> None:
    """Refuse limits of a valid trial that are laxer than the defaults."""
    default = LoadSpec()
    if load.min_sent < default.min_sent or load.max_lateness_s > default.max_lateness_s:
        raise UsageError(
            "the limits of a valid trial can only be made stricter",
            f"Choose -L min_sent from {default.min_sent:g} to 1 and -L max_lateness up to"
            f" {format_duration(default.max_lateness_s)}.",
        )
