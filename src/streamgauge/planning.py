"""From what was asked for to a complete run: defaults, quick, preset, options; all checked.

Everything is looked at here before anything is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import arrivals
from streamgauge.load.settings import check_load
from streamgauge.metrics import parse_objective
from streamgauge.spec.addresses import parse_postgres
from streamgauge.spec.contracts import (
    Engine,
    Experiment,
    HasColumns,
    JobSpec,
    NeedsTime,
    Query,
    ShapesQueries,
    Workload,
)
from streamgauge.spec.run import Origin, RunSpec
from streamgauge.spec.trial import NO_ENGINE, LoadSpec, TrialSpec
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
    return _run_spec(_on_spark(_rate_or_shape(merged)))


def trial_job(spec: TrialSpec) -> JobSpec:
    """Return the trial's job as its engine resolves it; refused modes end here."""
    job = JobSpec(
        workload=spec.workload,
        query=spec.query,
        parameters=cast(Any, spec.parameters),
        partitions=spec.partitions,
        seed=spec.seed,
        options=spec.engine_options,
        transport=spec.transport,
        cores=spec.cores,
    )
    return load_engine(spec.engine).resolve(job)


def trial_query(spec: TrialSpec) -> Query:
    """Return the trial's query as its parameters make it."""
    workload = load_workload(spec.workload)
    query = workload.queries[spec.query]
    if isinstance(workload, ShapesQueries):
        return workload.shaped(query, cast(Any, spec.parameters))
    return query


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
            if name in {"parameters", "engine_options", "tags"} and name in merged:
                value = {**merged[name].value, **value}
            if name == "load":
                before = _as_list(merged[name].value) if name in merged else [{}]
                value = [{**base, **more} for base in before for more in _as_list(value)]
            merged[name] = Asked(value, asked.origin)
    return merged


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


def _on_spark(merged: Mapping[str, Asked]) -> dict[str, Asked]:
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


_SENDERS = ("senders", "spark_master")
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
    fields |= _without_engine(fields, workload)
    fields |= _ways_to_send(fields)
    fields["queries"] = _queries(workload, fields.get("queries"))
    quick = bool(fields.get("quick"))
    fields["parameters"] = _parameters(workload, fields.get("parameters", {}), quick)
    fields["origins"] = {name: asked.origin for name, asked in merged.items()}
    if fields.get("schedule") and fields["origins"].get("duration", "quick") == "quick":
        fields |= _shape_length(fields["schedule"])
    try:
        spec = _long_enough(_with_mean_rate(RunSpec(**fields)))
    except ValidationError as error:
        raise UsageError(_explain(error)) from None
    _check(spec)
    return spec


def _long_enough(spec: RunSpec) -> RunSpec:
    """Take the times that the experiment needs, unless others were asked for."""
    experiment = load_experiment(spec)
    if spec.quick or spec.survey or not isinstance(experiment, NeedsTime):
        return spec
    needed = [
        experiment.least_times(trial_job(trial).trigger_s, trial_query(trial).window_ms)
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


def _without_engine(fields: Mapping[str, Any], workload: Workload) -> dict[str, Any]:
    """Settle engine and query of an experiment that looks at the broker alone."""
    name = fields.get("experiment", RunSpec.model_fields["experiment"].default)
    engine = getattr(registry.load("experiments", str(name)), "engine", None)
    given = fields.get("engine")
    if engine is None:
        if given == NO_ENGINE:
            raise UsageError(f"experiment {name} needs an engine", "Choose one with --engine.")
        return {}
    if given not in (None, engine):
        raise UsageError(f"experiment {name} has no engine", "Leave --engine out.")
    return {"engine": engine, "queries": (fields.get("queries") or workload.default_queries)[:1]}


def _ways_to_send(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return every combination of the load's settings and partitions that were given."""
    loads = [load for given in fields.get("load", [{}]) for load in _load_specs(given)]
    partitions = [_whole("partitions", text) for text in _values(fields.get("partitions", 1))]
    variants = tuple({"load": load, "partitions": count} for count in partitions for load in loads)
    first = {"load": loads[0], "partitions": partitions[0]}
    if len(variants) > 1 and fields.get("engine") != NO_ENGINE:
        raise UsageError(
            "several values of a setting of the load make no trial",
            "Give one value, or try all with --experiment broker.",
        )
    return {**first, "variants": variants if len(variants) > 1 else ()}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _values(value: Any) -> list[Any]:
    """Return the values of a setting: a list, or a text with commas."""
    return value.split(",") if isinstance(value, str) else _as_list(value)


def _whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"{name}: {value!r} is no whole number") from None


def _load_specs(given: Mapping[str, Any]) -> list[LoadSpec]:
    """Return every combination of the values given for a load."""
    axes = [_values(value) for value in given.values()]
    return [_load_spec(dict(zip(given, values, strict=True))) for values in product(*axes)]


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
        trial_job(trial)


def _check_queues(spec: RunSpec) -> None:
    """Refuse what the driver's own queues cannot do."""
    if not isinstance(load_workload(spec.workload), HasColumns):
        raise UsageError(
            f"{spec.workload} cannot be sent without a broker: its records are lines of text",
            "Use --transport kafka.",
        )
    if spec.engine == NO_ENGINE or spec.kafka is not None:
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
        raise UsageError(_explain(error)) from None


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
        raise UsageError(_explain(error)) from None
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


def _explain(error: ValidationError) -> str:
    """Put Pydantic's findings into a sentence each."""
    lines = []
    for finding in error.errors():
        place = ".".join(str(part) for part in finding["loc"])
        message = finding["msg"].removeprefix("Value error, ")
        given = f" (given: {finding['input']!r})" if place else ""
        lines.append(f"{place}: {message}{given}" if place else message)
    return "; ".join(lines)
