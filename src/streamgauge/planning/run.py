"""From what was asked for to a complete run: defaults, quick, preset, options; all checked.

Everything is looked at here before anything is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import arrivals
from streamgauge.load.settings import check_load
from streamgauge.metrics import parse_objective
from streamgauge.planning.asked import Asked, explain
from streamgauge.planning.experiment import DEFAULT, OPTIONS, SURVEY, settle_experiment, with_survey
from streamgauge.planning.load import as_list, on_spark, ways_to_send
from streamgauge.planning.parts import (
    experiment_type,
    load_experiment,
    load_workload,
    trial_job,
    trial_query,
)
from streamgauge.planning.presets import read_preset
from streamgauge.spec.addresses import parse_postgres
from streamgauge.spec.experiment import NeedsTime
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import HasColumns, Workload
from streamgauge.units import format_duration, parse_duration, parse_rate

QUICK = {"duration": "20s", "warmup": "15s"}


def plan_run(target: str | None, asked: Mapping[str, Asked]) -> RunSpec:
    """Complete and check what was asked for.

    Args:
        target: `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`; None when the preset names it.
        asked: The given options by the names of a preset file's fields.
    """
    layers: list[dict[str, Asked]] = []
    if "quick" in asked and asked["quick"].value:
        layers.append({name: Asked(text, "quick") for name, text in QUICK.items()})
    if "preset" in asked:
        layers.append(_preset_layer(str(asked["preset"].value)))
    layers.append(dict(asked))
    merged = _merge(layers)
    if target is not None:
        merged.update(_target(target))
    if "workload" not in merged:
        raise UsageError(
            "no workload was named", f"name one of: {', '.join(registry.names('workloads'))}"
        )
    return _run_spec(on_spark(_rate_or_shape(merged)))


def _preset_layer(name: str) -> dict[str, Asked]:
    fields = read_preset(name)
    fields.pop("title", None)
    return {key: Asked(value, "preset") for key, value in fields.items()}


def _target(target: str) -> dict[str, Asked]:
    workload, _, queries = target.partition("/")
    fields = {"workload": Asked(workload)}
    if queries:
        fields["queries"] = Asked([name for name in queries.split(",") if name])
    return fields


_PAIRS = {"parameters", "engine_options", OPTIONS, "tags"}


def _merge(layers: Iterable[Mapping[str, Asked]]) -> dict[str, Asked]:
    """Let later layers win; fields of key=value pairs are merged pair by pair."""
    merged: dict[str, Asked] = {}
    for layer in map(with_survey, layers):
        if _asks_another(layer, merged):
            merged.pop(OPTIONS, None)
        for name, asked in layer.items():
            value = asked.value
            if name in _PAIRS and name in merged:
                value = {**merged[name].value, **value}
            if name == "load":
                before = as_list(merged[name].value) if name in merged else [{}]
                value = [{**base, **more} for base in before for more in as_list(value)]
            merged[name] = Asked(value, asked.origin)
    return merged


def _asks_another(layer: Mapping[str, Asked], merged: Mapping[str, Asked]) -> bool:
    """Tell whether a layer asks for another experiment, whose parameters are others."""
    before = merged["experiment"].value if "experiment" in merged else DEFAULT
    return "experiment" in layer and layer["experiment"].value != before


def _rate_or_shape(merged: Mapping[str, Asked]) -> dict[str, Asked]:
    """Let a load be told by its rate or by its shape: what was typed wins, then the environment."""
    rates, shape = merged.get("rates"), merged.get("schedule")
    if rates is None or shape is None:
        return dict(merged)
    if rates.origin == shape.origin:
        raise UsageError("--rate and --load both tell how much is sent", "Leave one of them out.")
    ranks = ("preset", "environment", "option")
    shaped = ranks.index(shape.origin) > ranks.index(rates.origin)
    loser = "rates" if shaped else "schedule"
    return {name: asked for name, asked in merged.items() if name != loser}


_PARSED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "rates": ("rates", lambda value: tuple(parse_rate(str(rate)) for rate in value)),
    "duration": ("duration_s", lambda value: parse_duration(str(value))),
    "warmup": ("warmup_s", lambda value: parse_duration(str(value))),
    "schedule": ("schedule", lambda value: arrivals.settle(str(value))),
}


_DERIVED = {"origins", "duration_s", "warmup_s", "postgres_user"}
"""Fields of a run that nobody sets by that name."""


def _run_spec(merged: Mapping[str, Asked]) -> RunSpec:
    workload = load_workload(str(merged["workload"].value))
    known = {*RunSpec.model_fields, *_PARSED} - _DERIVED
    fields: dict[str, Any] = {}
    for name, asked in merged.items():
        if name not in known:
            raise unknown_name("setting", name, sorted(known))
        target, parse = _PARSED.get(name, (name, lambda value: value))
        fields[target] = parse(asked.value)
    if address := fields.get("postgres"):
        from_env = merged["postgres"].origin == "environment"
        endpoint = parse_postgres(str(address), from_env=from_env)
        fields |= {"postgres": endpoint.address, "postgres_user": endpoint.user}
    fields |= settle_experiment(fields, workload)
    fields |= ways_to_send(fields)
    fields["queries"] = _queries(workload, fields.get("queries"))
    quick = bool(fields.get("quick"))
    fields["parameters"] = _parameters(workload, fields.get("parameters", {}), quick)
    fields["origins"] = {name: asked.origin for name, asked in merged.items()}
    if fields.get("schedule") and fields["origins"].get("duration", "quick") == "quick":
        fields |= _shape_length(fields["schedule"])
    try:
        spec = _long_enough(_with_mean_rate(RunSpec(**fields)))
    except ValidationError as error:
        raise UsageError(explain(error)) from None
    _check(spec)
    return spec


def _long_enough(spec: RunSpec) -> RunSpec:
    """Take the times that the experiment needs, unless others were asked for."""
    experiment = load_experiment(spec)
    if spec.quick or not isinstance(experiment, NeedsTime):
        return spec
    needed = [
        experiment.least_times(_trigger_s(trial), trial_query(trial).window_ms)
        for trial in experiment.plan()
    ]
    times: dict[str, float] = {}
    for name, least_s in zip(
        ("warmup", "duration"), map(max, zip(*needed, strict=True)), strict=True
    ):
        asked_s = getattr(spec, f"{name}_s") if name in spec.origins else least_s
        if asked_s < least_s:
            rough = SURVEY in experiment_type(spec.experiment).parameters.model_fields
            raise UsageError(
                f"{name} {format_duration(asked_s)} is too short:"
                f" {spec.experiment} needs {format_duration(least_s)} here",
                "leave it out" + (", or ask for a rough answer by --survey" if rough else ""),
            )
        times[f"{name}_s"] = asked_s
    return spec.model_copy(update=times)


def _trigger_s(trial: TrialSpec) -> float | None:
    return None if trial.engine is None else trial_job(trial).trigger_s


def _shape_length(schedule: str) -> dict[str, float]:
    """Measure for as long as the load's shape lasts, unless a duration was asked for."""
    length_ms = arrivals.parse_shape(schedule).length_ms
    return {} if length_ms is None else {"duration_s": length_ms / 1000}


def _with_mean_rate(spec: RunSpec) -> RunSpec:
    """Take the rate from the load's shape, where it has one."""
    if spec.schedule is None:
        return spec
    trial, *_ = load_experiment(spec).plan()
    (mean,) = arrivals.profile(trial)
    if not mean:
        raise UsageError(f"the load {spec.schedule!r} sends nothing in the measured time")
    return spec.model_copy(update={"rates": (mean,)})


def _check(spec: RunSpec) -> None:
    """Refuse what cannot work, by asking those who will have to do it."""
    cores = len(os.sched_getaffinity(0))
    if spec.cores is not None and spec.cores > cores:
        raise UsageError(f"--cores {spec.cores}: this machine has {cores}")
    for objective in spec.objectives:
        parse_objective(objective)
    registry.load("transports", spec.transport)
    if spec.transport == "flight":
        _check_queues(spec)
    load_workload(spec.workload).check(cast(Any, spec.parameters))
    for trial in load_experiment(spec).plan():
        check_load(trial.load)
        arrivals.check(trial)
        if trial.engine is not None:
            trial_job(trial)


def _check_queues(spec: RunSpec) -> None:
    """Refuse what the driver's own queues cannot do."""
    if not isinstance(load_workload(spec.workload), HasColumns):
        raise UsageError(
            f"{spec.workload} cannot be sent without a broker: its records are lines of text",
            "Use --transport kafka.",
        )
    if spec.engine is None or spec.kafka is not None:
        raise UsageError("--transport flight has no broker", "Use --transport kafka.")
    if spec.load.senders != 1 or spec.load.spark is not None:
        raise UsageError("the driver's own queues are one process", "Leave the senders out.")


def _queries(workload: Workload, names: Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(workload.default_queries)
    for name in names:
        if name not in workload.queries:
            raise unknown_name(f"query of {workload.name}", name, list(workload.queries))
    return tuple(names)


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
