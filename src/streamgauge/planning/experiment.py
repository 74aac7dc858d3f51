"""What was asked of an experiment: its parameters, and whether it chooses the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked
from streamgauge.planning.parts import experiment_type
from streamgauge.spec.experiment import ChoosesEngine, Experiment, SearchesGrid
from streamgauge.spec.reading import read
from streamgauge.spec.run import RunSpec
from streamgauge.spec.workload import Workload

OPTIONS, SURVEY = "experiment_options", "survey"
DEFAULT = str(RunSpec.model_fields["experiment"].default)


def with_survey(asked: Mapping[str, Asked]) -> dict[str, Asked]:
    """Replace `survey` by the parameter that it is short for.

    A parameter that was given as well wins, unless it comes only from the environment.
    """
    rest = {name: each for name, each in asked.items() if name != SURVEY}
    if SURVEY not in asked:
        return rest
    short, given = asked[SURVEY], rest.get(OPTIONS, Asked({}, asked[SURVEY].origin))
    layers = [{SURVEY: short.value}, given.value]
    if (given.origin, short.origin) == ("environment", "option"):
        layers.reverse()
    return {**rest, OPTIONS: Asked({**layers[0], **layers[1]}, short.origin)}


def settle_experiment(fields: Mapping[str, Any], workload: Workload) -> dict[str, Any]:
    """Return the experiment's parameters, complete, and the engine if it chooses that."""
    name = str(fields.get("experiment", DEFAULT))
    experiment = experiment_type(name)
    options = _parameters(name, experiment, fields.get(OPTIONS, {}))
    return {OPTIONS: options, **_engine(name, experiment, fields, workload)}


def axes_of(merged: Mapping[str, Asked]) -> Mapping[str, Sequence[str]]:
    """Return the factors that an experiment searches over, with their values; none for others."""
    name = str(merged["experiment"].value) if "experiment" in merged else DEFAULT
    experiment = experiment_type(name)
    if not isinstance(experiment, SearchesGrid):
        return {}
    given = merged[OPTIONS].value if OPTIONS in merged else {}
    return experiment.axes(_parameters(name, experiment, given))


def _engine(
    name: str, experiment: type[Experiment], fields: Mapping[str, Any], workload: Workload
) -> dict[str, Any]:
    if not isinstance(experiment, ChoosesEngine):
        return {}
    engine, given = experiment.engine, fields.get("engine")
    if given not in (None, engine):
        chosen = "has no engine" if engine is None else f"has its own engine, {engine}"
        raise UsageError(f"experiment {name} {chosen}", "Leave out --engine.")
    return {"engine": engine, "queries": (fields.get("queries") or workload.default_queries)[:1]}


def _parameters(
    name: str, experiment: type[Experiment], given: Mapping[str, Any]
) -> dict[str, Any]:
    model = experiment.parameters
    for key in given:
        if key in model.model_fields:
            continue
        if key == SURVEY:
            raise UsageError(
                f"{name} does not search: it has no parameter survey",
                "leave out --survey or -X survey",
            )
        raise unknown_name(f"parameter of {name}", key, list(model.model_fields))
    values = {
        key: _split(value) if _is_sequence(model.model_fields[key].annotation) else value
        for key, value in given.items()
    }
    return read(model, values, "-X ").model_dump(mode="json")


def _split(value: Any) -> Any:
    """Return the parts of a text with commas; other values stay as they are."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",")] if value else []


def _is_sequence(annotation: Any) -> bool:
    """Return whether a field takes several values."""
    return any(
        isinstance(kind, type) and issubclass(kind, Sequence | set | frozenset) and kind is not str
        for kind in _kinds(annotation)
    )


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation allows, without what is inside them."""
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        yield origin
    elif origin is None:
        yield annotation
    else:
        for each in get_args(annotation):
            yield from _kinds(each)
