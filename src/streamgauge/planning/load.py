"""How the load is sent, from what was asked for: every combination of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from pydantic import ValidationError

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked, explain
from streamgauge.spec.trial import LoadSpec
from streamgauge.units import format_duration, parse_duration, parse_size

_SENDERS = ("senders", "spark_master")


def on_spark(merged: Mapping[str, Asked]) -> dict[str, Asked]:
    """Let the tasks of a Spark cluster send, where that was asked for."""
    rest = {name: asked for name, asked in merged.items() if name not in _SENDERS}
    kind, master = (merged[name].value if name in merged else None for name in _SENDERS)
    if kind not in (None, "processes", "spark"):
        raise unknown_name("kind of senders", str(kind), ("processes", "spark"))
    if (kind == "spark") != (master is not None):
        raise UsageError(
            "--senders spark and --spark-master belong together",
            "Write --senders spark --spark-master spark://HOST:PORT.",
        )
    if master is not None:
        given = rest.get("load", Asked([{}])).value
        loads = [{"senders": None, **load, "spark": str(master)} for load in given]
        rest["load"] = Asked(loads, merged["spark_master"].origin)
    return rest


def ways_to_send(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return every combination of the load's settings and partitions that were given."""
    loads = [load for given in fields.get("load", [{}]) for load in _load_specs(given)]
    partitions = [_whole("partitions", text) for text in _values(fields.get("partitions", 1))]
    variants = tuple({"load": load, "partitions": count} for count in partitions for load in loads)
    first = {"load": loads[0], "partitions": partitions[0]}
    if len(variants) > 1 and fields.get("engine", "spark") is not None:
        raise UsageError(
            "several values of a setting of the load make no trial",
            "Give one value, or try all with --experiment broker.",
        )
    return {**first, "variants": variants if len(variants) > 1 else ()}


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, anything else as one of its own."""
    return value if isinstance(value, list) else [value]


def _values(value: Any) -> list[Any]:
    """Return the values of a setting: a list, or a text with commas."""
    return value.split(",") if isinstance(value, str) else as_list(value)


def _whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"{name}: {value!r} is no whole number") from None


def _load_specs(given: Mapping[str, Any]) -> list[LoadSpec]:
    """Return every combination of the values given for a load."""
    axes = [_values(value) for value in given.values()]
    return [_load_spec(dict(zip(given, values, strict=True))) for values in product(*axes)]


def _load_spec(given: Mapping[str, Any]) -> LoadSpec:
    """Read the load's options; sizes and times may carry units."""
    names = {
        "linger": ("linger_s", parse_duration),
        "max_lateness": ("max_lateness_s", parse_duration),
    }
    sizes = {"batch", "buffer", "queue"}
    fields: dict[str, Any] = {}
    known = {*LoadSpec.model_fields, *names} - {"linger_s", "max_lateness_s"}
    for name, value in given.items():
        if name not in known:
            raise unknown_name("option of the load", name, sorted(known))
        if name in names:
            target, parse = names[name]
            fields[target] = parse(str(value))
        else:
            fields[name] = parse_size(str(value)) if name in sizes else value
    try:
        load = LoadSpec(**fields)
    except ValidationError as error:
        raise UsageError(explain(error)) from None
    _refuse_laxer(load)
    return load


def _refuse_laxer(load: LoadSpec) -> None:
    """Let nobody call a trial valid that the defaults call invalid."""
    default = LoadSpec()
    if load.min_sent < default.min_sent or load.max_lateness_s > default.max_lateness_s:
        raise UsageError(
            "the limits of a valid trial can only be made stricter",
            f"Choose -L min_sent from {default.min_sent:g} to 1 and -L max_lateness up to"
            f" {format_duration(default.max_lateness_s)}.",
        )
