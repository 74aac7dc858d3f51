"""Turns what was asked for into a complete run: defaults, quick, preset, options; all checked.

Everything is checked here before anything is started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from streamgauge import registry
from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import arrivals
from streamgauge.planning import factors
from streamgauge.planning.asked import Asked
from streamgauge.planning.checks import check
from streamgauge.planning.experiment import (
    DEFAULT,
    OPTIONS,
    SURVEY,
    axes_of,
    settle_experiment,
    with_survey,
)
from streamgauge.planning.load import as_list, on_spark
from streamgauge.planning.parts import (
    experiment_type,
    load_experiment,
    load_workload,
    trial_job,
    trial_query,
)
from streamgauge.planning.presets import read_preset
from streamgauge.planning.services import read_service_settings, take_services, with_services
from streamgauge.planning.settings import Options, read_form, read_settings
from streamgauge.spec.experiment import NeedsTime
from streamgauge.spec.reading import read
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import Workload
from streamgauge.units import format_duration

QUICK = {"duration": "20s", "warmup": "10s"}


def plan_run(
    target: str | None, asked: Mapping[str, Asked], note: Callable[[str], None] = lambda _: None
) -> RunSpec:
    """Complete and check what was asked for.

    Args:
        target: `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`; None when the preset names it.
        asked: The given options by the names of a preset file's fields.
        note: Called with what was asked for but has no use.
    """
    given = {name: each.value for name, each in asked.items() if each.value is not None}
    values = read_form(given, model=Options)
    asked = {name: Asked(value, asked[name].origin) for name, value in values.items()}
    layers: list[dict[str, Asked]] = []
    if "quick" in asked and asked["quick"].value:
        layers.append({name: Asked(text, "quick") for name, text in QUICK.items()})
    if "preset" in asked:
        layers.append(_preset_layer(str(asked["preset"].value), survey=_wants_survey(asked)))
    layers.append({**asked, **(_target(target) if target is not None else {})})
    merged = _merge(layers)
    if "workload" not in merged:
        raise UsageError(
            "no workload was named", f"name one of: {', '.join(registry.names('workloads'))}"
        )
    given = take_services(merged)
    return _run_spec(on_spark(_rate_or_shape(merged)), given, note)


def _wants_survey(asked: Mapping[str, Asked]) -> bool:
    """Return whether a survey is asked for, by --survey or -X survey=true."""
    chosen = with_survey(asked).get(OPTIONS, Asked({})).value.get(SURVEY, False)
    return str(chosen).lower() == "true"


def _preset_layer(name: str, *, survey: bool) -> dict[str, Asked]:
    fields = read_preset(name, survey=survey)
    fields.pop("title", None)
    return {key: Asked(value, "preset") for key, value in fields.items()}


def _target(target: str) -> dict[str, Asked]:
    """Read `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`."""
    workload, slash, queries = target.partition("/")
    if not slash:
        return {"workload": Asked(workload)}
    names = queries.split(",")
    if not all(names):
        raise UsageError(
            f"{target}: the name of a query is empty",
            f"Write {workload}/QUERY,QUERY, or {workload} for all that it runs by default.",
        )
    read_form({"queries": names}, f"{target}: ")
    return {"workload": Asked(workload), "queries": Asked(names)}


_PAIRS = {"parameters", "engine_options", OPTIONS, "service_settings", "tags", "vary"}


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
    """Return whether a layer asks for another experiment, which has other parameters."""
    before = merged["experiment"].value if "experiment" in merged else DEFAULT
    return "experiment" in layer and layer["experiment"].value != before


def _rate_or_shape(merged: Mapping[str, Asked]) -> dict[str, Asked]:
    """Take a load from its rate or from its shape: what was typed wins, then the environment."""
    rates, shape = merged.get("rates"), merged.get("shape")
    if rates is None or shape is None:
        return dict(merged)
    if rates.origin == shape.origin:
        raise UsageError("--rate and --load both set how much is sent", "Leave out one of them.")
    ranks = ("preset", "environment", "option")
    shaped = ranks.index(shape.origin) > ranks.index(rates.origin)
    loser = "rates" if shaped else "shape"
    return {name: asked for name, asked in merged.items() if name != loser}


def _run_spec(
    merged: Mapping[str, Asked], given: Mapping[str, Asked], note: Callable[[str], None]
) -> RunSpec:
    workload = load_workload(str(merged["workload"].value))
    settings = factors.apart(merged, workload)
    origins = {name: asked.origin for name, asked in (*settings.items(), *given.items())}
    vary: factors.Values = settings.pop("vary", Asked({})).value
    if axes := axes_of(merged):
        if vary:
            raise UsageError(
                f"a search over {' and '.join(axes)} cannot vary anything else",
                "Leave out --vary, or start a run for each value.",
            )
        how = settings.get(OPTIONS, Asked({}, "default")).origin
        settings, vary = factors.searched(axes, settings, how, workload), axes
    quick = bool(settings["quick"].value) if "quick" in settings else False

    def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
        return read_settings(values, workload, quick=quick)

    first = factors.overlay(settings, next(factors.combinations(vary)))
    fields = fields_of({"parameters": {}, **_values(settings), **first})
    if "rate" in vary:
        fields |= fields_of({"rates": vary["rate"]})
    fields |= settle_experiment(fields, workload) | {"origins": origins}
    fields["queries"] = _queries(workload, fields.get("queries"))
    fields["service_settings"] = read_service_settings(fields.get("service_settings", {}))
    if fields.get("shape") and origins.get("duration", "quick") == "quick":
        fields |= _shape_length(fields["shape"])
    fields |= _backlog_length(fields.get("shape"), origins.get("warmup", "quick"))
    spec = read(RunSpec, fields)
    factors.refuse_too_many(spec, vary)
    varied = {"vary": vary, "variants": factors.variants(vary, settings, fields_of)}
    spec = _long_enough(_with_mean_rate(read(RunSpec, fields | varied) if vary else spec))
    spec = with_services(spec, given, note)
    check(spec)
    return spec


def _values(settings: Mapping[str, Asked]) -> dict[str, Any]:
    return {name: asked.value for name, asked in settings.items()}


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
                "leave it out" + (", or ask for a rough answer with --survey" if rough else ""),
            )
        times[f"{name}_s"] = asked_s
    return spec.model_copy(update=times)


def _trigger_s(trial: TrialSpec) -> float | None:
    return None if trial.engine is None else trial_job(trial).trigger_s


def _shape_length(shape: str) -> dict[str, float]:
    """Measure for as long as the load's shape lasts, unless a duration was asked for."""
    length_ms = arrivals.parse_shape(shape).length_ms
    return {} if length_ms is None else {"duration_s": length_ms / 1000}


def _backlog_length(shape: str | None, warmup: str) -> dict[str, float]:
    """Let a backlog gather in place of a warm-up."""
    length_s = arrivals.backlog_s(shape)
    if length_s is None:
        return {}
    if warmup != "quick":
        raise UsageError(
            f"the load {shape!r} has no warm-up: the backlog gathers before the engine starts",
            "Leave out --warmup.",
        )
    return {"warmup_s": length_s}


def _with_mean_rate(spec: RunSpec) -> RunSpec:
    """Take the rates from the load's shape, if it has one; times and seed give its mean."""
    if spec.shape is None:
        return spec
    if not spec.variants:
        trial, *_ = load_experiment(spec).plan()
        return spec.model_copy(update={"rates": (_mean_rate(trial),)})
    query, rate = spec.queries[0], spec.rates[0]
    means: dict[tuple[float, int], float] = {}
    variants = []
    for variant in spec.variants:
        trial = spec.trial(1, query, rate, **variant.changes())
        key = trial.duration_s, trial.seed
        if key not in means:
            means[key] = _mean_rate(trial)
        variants.append(variant.model_copy(update={"rate": means[key]}))
    rates = tuple(dict.fromkeys(means.values()))
    return spec.model_copy(update={"rates": rates, "variants": tuple(variants)})


def _mean_rate(trial: TrialSpec) -> float:
    (mean,) = arrivals.profile(trial)
    if not mean:
        raise UsageError(f"the load {trial.shape!r} sends nothing in the measured time")
    return mean


def _queries(workload: Workload, names: Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(workload.default_queries)
    for name in names:
        if name not in workload.queries:
            raise unknown_name(f"query of {workload.name}", name, list(workload.queries))
    return tuple(names)
