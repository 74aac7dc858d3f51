"""From what was asked for to a complete run: defaults, quick, preset, options; all checked.

Everything is looked at here before anything is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError, unknown_name
from streamgauge.metrics import parse_objective
from streamgauge.spec.addresses import parse_postgres
from streamgauge.spec.contracts import Engine, Experiment, JobSpec, NeedsTime, Workload
from streamgauge.spec.run import Origin, RunSpec
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.units import format_duration, parse_duration, parse_rate, parse_size

QUICK = {"duration": "20s", "warmup": "15s"}
SURVEY = {"duration": "60s", "warmup": "30s"}


@dataclass(frozen=True)
class Asked:
    """A value that the user gave, and by which way."""

    value: Any
    origin: Origin = "option"


def plan_run(target: str | None, asked: Mapping[str, Asked]) -> RunSpec:
    """Complete and check what was asked for.

    Args:
        target: `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`; None when the preset names it.
        asked: The given options by the names of a preset file's fields.
    """
    layers: list[dict[str, Asked]] = []
    if "quick" in asked and asked["quick"].value:
        layers.append({name: Asked(text, "quick") for name, text in QUICK.items()})
    if "survey" in asked and asked["survey"].value:
        layers.append({name: Asked(text) for name, text in SURVEY.items()})
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
    return _run_spec(merged)


def trial_job(spec: TrialSpec) -> JobSpec:
    """Return the trial's job as its engine resolves it; refused modes end here."""
    job = JobSpec(
        workload=spec.workload,
        query=spec.query,
        parameters=cast(Any, spec.parameters),
        partitions=spec.partitions,
        seed=spec.seed,
        options=spec.engine_options,
        cores=spec.cores,
    )
    return load_engine(spec.engine).resolve(job)


def load_experiment(spec: RunSpec) -> Experiment:
    """Return the run's experiment."""
    build = cast(Callable[[RunSpec], Experiment], registry.load("experiments", spec.experiment))
    return build(spec)


def load_workload(name: str) -> Workload:
    """Return the workload of that name."""
    return cast(Callable[[], Workload], registry.load("workloads", name))()


def load_engine(name: str) -> Engine:
    """Return the engine of that name."""
    return cast(Callable[[], Engine], registry.load("engines", name))()


def preset_names() -> list[str]:
    """Return the names of the presets that come with the package."""
    folder = resources.files("streamgauge").joinpath("presets")
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if "." in entry.name)


def read_preset(name: str) -> dict[str, Any]:
    """Return a preset's fields, from the package or from a YAML file of the user's."""
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise UsageError(f"there is no preset file {path}")
        text = path.read_text("utf-8")
    elif name in preset_names():
        text = resources.files("streamgauge").joinpath(f"presets/{name}.yaml").read_text("utf-8")
    else:
        raise unknown_name("preset", name, preset_names())
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"preset {name} is no YAML: {error}") from None
    if not isinstance(fields, dict):
        raise UsageError(f"preset {name} has no fields")
    return fields


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


def _merge(layers: Iterable[Mapping[str, Asked]]) -> dict[str, Asked]:
    """Let later layers win; fields of key=value pairs are merged pair by pair."""
    merged: dict[str, Asked] = {}
    for layer in layers:
        for name, asked in layer.items():
            value = asked.value
            if name in {"parameters", "engine_options", "load", "tags"} and name in merged:
                value = {**merged[name].value, **value}
            merged[name] = Asked(value, asked.origin)
    return merged


_PARSED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "rates": ("rates", lambda value: tuple(parse_rate(str(rate)) for rate in value)),
    "duration": ("duration_s", lambda value: parse_duration(str(value))),
    "warmup": ("warmup_s", lambda value: parse_duration(str(value))),
    "load": ("load", lambda value: _load_spec(value)),
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
    fields["queries"] = _queries(workload, fields.get("queries"))
    quick = bool(fields.get("quick"))
    fields["parameters"] = _parameters(workload, fields.get("parameters", {}), quick)
    fields["origins"] = {name: asked.origin for name, asked in merged.items()}
    try:
        spec = _long_enough(RunSpec(**fields))
    except ValidationError as error:
        raise UsageError(_explain(error)) from None
    _check(spec)
    return spec


def _long_enough(spec: RunSpec) -> RunSpec:
    """Take the times that the experiment needs, unless others were asked for."""
    experiment = load_experiment(spec)
    if spec.quick or spec.survey or not isinstance(experiment, NeedsTime):
        return spec
    queries = load_workload(spec.workload).queries
    needed = [
        experiment.least_times(trial_job(trial).trigger_s, queries[trial.query].window_ms)
        for trial in experiment.plan()
    ]
    times: dict[str, float] = {}
    for name, least_s in zip(
        ("warmup", "duration"), map(max, zip(*needed, strict=True)), strict=True
    ):
        asked_s = getattr(spec, f"{name}_s") if name in spec.origins else least_s
        if asked_s < least_s:
            raise UsageError(
                f"{name} {format_duration(asked_s)} is too short:"
                f" {spec.experiment} needs {format_duration(least_s)} here",
                "leave it out, or ask for a rough answer by --survey",
            )
        times[f"{name}_s"] = asked_s
    return spec.model_copy(update=times)


def _check(spec: RunSpec) -> None:
    """Refuse what cannot work, by asking those who will have to do it."""
    cores = len(os.sched_getaffinity(0))
    if spec.cores is not None and spec.cores > cores:
        raise UsageError(f"--cores {spec.cores}: this machine has {cores}")
    for objective in spec.objectives:
        parse_objective(objective)
    registry.load("transports", spec.transport)
    load_workload(spec.workload).check(cast(Any, spec.parameters))
    for trial in load_experiment(spec).plan():
        trial_job(trial)


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
        raise UsageError(_explain(error)) from None


def _load_spec(given: Mapping[str, Any]) -> LoadSpec:
    """Read the load's options; sizes and times may carry units."""
    names = {
        "linger": ("linger_s", parse_duration),
        "max_lateness": ("max_lateness_s", parse_duration),
    }
    sizes = {"batch", "buffer"}
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
        raise UsageError(_explain(error)) from None
    usual = LoadSpec()
    if load.min_sent < usual.min_sent or load.max_lateness_s > usual.max_lateness_s:
        raise UsageError(
            "the limits of a valid trial can be made stricter, not looser:"
            f" min_sent at least {usual.min_sent:g},"
            f" max_lateness at most {format_duration(usual.max_lateness_s)}"
        )
    return load


def _explain(error: ValidationError) -> str:
    """Put Pydantic's findings into a sentence each."""
    lines = []
    for finding in error.errors():
        place = ".".join(str(part) for part in finding["loc"])
        message = finding["msg"].removeprefix("Value error, ")
        given = f" (given: {finding['input']!r})" if place else ""
        lines.append(f"{place}: {message}{given}" if place else message)
    return "; ".join(lines)
