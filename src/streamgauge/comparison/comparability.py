"""What must be the same for a comparison, and what may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.units import format_duration, format_rate, format_size

_MACHINE = ("host", "cpu", "cores")
_SOFTWARE = ("system", "python", "streamgauge", "pyspark", "confluent-kafka")
_GIB = 1 << 30
_QUICK = "{} was a quick run, not a measurement"


@dataclass(frozen=True)
class Side:
    """The parts of a run that a comparison needs."""

    name: str
    spec: RunSpec
    machine: Mapping[str, JsonValue]
    workload_version: str | None
    status: str
    trials: tuple[TrialResult, ...]


def obstacles(
    base: Side, other: Side, bases: Sequence[TrialResult], others: Sequence[TrialResult]
) -> tuple[str, ...]:
    """Return why these trials cannot be compared; empty when they can.

    Args:
        base: One run.
        other: The other run.
        bases: Trials of the base that ask for the same; may be empty.
        others: Trials of the other run, likewise.
    """
    if not bases or not others:
        (present,) = (each for each in (bases, others) if each)
        absent = base if not bases else other
        spec = present[0].spec
        return (f"{absent.name} has no finished trial of {_asked(spec)}",)
    found = (
        *_version(base, other),
        *_input(bases[0].spec, others[0].spec),
        *_resources(base, other, bases[0].spec, others[0].spec),
        *_machine(base.machine, other.machine),
        *_validity(base, bases),
        *_validity(other, others),
    )
    return tuple(dict.fromkeys(found))


def search_obstacles(base: Side, other: Side) -> tuple[str, ...]:
    """Return why the searches of two runs cannot be compared; empty when they can."""
    found = (
        *_version(base, other),
        *_conditions(base.spec, other.spec),
        *_resources(base, other, base.spec, other.spec),
        *_machine(base.machine, other.machine),
        *(_QUICK.format(each.name) for each in (base, other) if each.spec.quick),
    )
    return tuple(dict.fromkeys(found))


def differences(
    base: Side, other: Side, bases: Sequence[TrialResult], others: Sequence[TrialResult]
) -> tuple[str, ...]:
    """Return what was changed from the base to the other, except what must be the same."""
    if not bases or not others:
        return ()
    one, two = bases[0], others[0]
    settings = _settings(one), _settings(two)
    if one.spec.engine != two.spec.engine:
        settings = {}, {}
    loads = (each.spec.load.model_dump(mode="json") for each in (one, two))
    return (
        *_changed_items("tag ", dict(base.spec.tags), dict(other.spec.tags)),
        *_changed("engine", one.spec.engine, two.spec.engine),
        *_changed("mode", one.spec.mode, two.spec.mode),
        *_changed("transport", one.spec.transport, two.spec.transport),
        *_changed("profiler", one.spec.profile, two.spec.profile),
        *_changed("profiled by", *(" and ".join(sorted(each.profiled_by)) for each in (one, two))),
        *_changed_items("", *settings),
        *_changed_items("load ", *loads),
        *_changed_items("", *(side.spec.service_settings for side in (base, other))),
        *_changed_items(
            "", *({name: side.machine.get(name) for name in _SOFTWARE} for side in (base, other))
        ),
    )


def _asked(spec: TrialSpec) -> str:
    return f"{spec.workload}/{spec.query} at {format_rate(spec.rate)}"


def _settings(result: TrialResult) -> dict[str, JsonValue]:
    """Return the options as given and the settings in force; the mode is compared separately."""
    both = {**result.spec.engine_options, **result.settings}
    return {name: value for name, value in both.items() if name != "mode"}


def _changed(name: str, one: JsonValue, two: JsonValue) -> Iterator[str]:
    if one != two:
        yield f"{name}: {_show(one)} → {_show(two)}"


def _changed_items(
    prefix: str, one: Mapping[str, JsonValue], two: Mapping[str, JsonValue]
) -> Iterator[str]:
    for name in dict.fromkeys((*one, *two)):
        yield from _changed(f"{prefix}{name}", one.get(name), two.get(name))


def _show(value: JsonValue) -> str:
    return "none" if value is None else str(value)


def _differ(what: str, one: JsonValue, two: JsonValue) -> Iterator[str]:
    if one != two:
        yield f"{what} differs ({_show(one)}, {_show(two)})"


def _version(base: Side, other: Side) -> Iterator[str]:
    yield from _differ(
        "the workload's version",
        base.workload_version or "not recorded",
        other.workload_version or "not recorded",
    )


def _input(one: TrialSpec, two: TrialSpec) -> Iterator[str]:
    yield from _differ("the rate", format_rate(one.rate), format_rate(two.rate))
    yield from _differ("the load's shape", one.shape or "constant", two.shape or "constant")
    yield from _conditions(one, two)
    acts = ("; ".join(map(str, each.acts)) or "nothing" for each in (one, two))
    yield from _differ("what is done during the trial", *acts)


def _conditions(one: TrialSpec | RunSpec, two: TrialSpec | RunSpec) -> Iterator[str]:
    yield from _differ("the seed", one.seed, two.seed)
    for name in dict.fromkeys((*one.parameters, *two.parameters)):
        yield from _differ(
            f"the parameter {name}", one.parameters.get(name), two.parameters.get(name)
        )
    yield from _differ("the number of partitions", one.partitions, two.partitions)
    for what, lengths_s in (
        ("the measured time", (one.duration_s, two.duration_s)),
        ("the warm-up", (one.warmup_s, two.warmup_s)),
    ):
        yield from _differ(what, *(format_duration(each) for each in lengths_s))


def _resources(
    base: Side, other: Side, one: TrialSpec | RunSpec, two: TrialSpec | RunSpec
) -> Iterator[str]:
    given = (one.resources, two.resources)
    yield from _differ("the engine's number of cores", *(each.cores or "all" for each in given))
    yield from _differ("the engine's instances", *(each.told() for each in given))
    for name in dict.fromkeys((*base.spec.services, *other.spec.services)):
        addresses = (side.spec.services.get(name, "embedded") for side in (base, other))
        yield from _differ(f"the {name} that was used", *addresses)


def _machine(one: Mapping[str, JsonValue], two: Mapping[str, JsonValue]) -> Iterator[str]:
    for name in _MACHINE:
        yield from _differ(f"the machine's {name}", one.get(name), two.get(name))
    memories = [_memory(each) for each in (one, two)]
    yield from _differ("the machine's memory", memories[0], memories[1])


def _memory(machine: Mapping[str, JsonValue]) -> str:
    """Round to the installed memory: a new kernel leaves slightly more or less of it."""
    size = machine.get("memory_bytes")
    if not isinstance(size, int | float):
        return "not recorded"
    return format_size(round(size / _GIB) * _GIB)


def _validity(side: Side, group: Sequence[TrialResult]) -> Iterator[str]:
    if group[0].spec.quick:
        yield _QUICK.format(side.name)
    if not any(result.usable for result in group):
        yield f"no trial of {side.name} counts: {_why_not(group[0])}"


def _why_not(result: TrialResult) -> str:
    if result.cause:
        return result.cause.partition("\n")[0]
    return result.correct.reason if result.valid.holds is True else result.valid.reason
