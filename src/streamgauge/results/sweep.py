"""A metric over a factor, such as the rate, for the trials of many runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.errors import UsageError, unknown_name
from streamgauge.metrics import metric
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.units import format_rate

Factor = str | float


@dataclass(frozen=True)
class Point:
    """A metric at one value of a factor: the median of its trials, and their range."""

    machine: str
    series: str
    factor: Factor
    median: float
    low: float
    high: float
    trials: int


_FACTORS: Mapping[str, Callable[[RunRecord, TrialResult], Factor]] = {
    "rate": lambda _, result: result.spec.rate,
    "partitions": lambda _, result: result.spec.partitions,
    "cores": lambda record, result: result.spec.resources.cores or _cores(record),
    "instances": lambda _, result: result.spec.resources.instances or 0,
    "instance_cores": lambda _, result: _per_instance(result, "instance_cores"),
    "instance_memory": lambda _, result: _per_instance(result, "instance_memory"),
    "mode": lambda _, result: result.spec.mode or "none",
    "engine": lambda _, result: result.spec.engine or "none",
    "transport": lambda _, result: result.spec.transport,
    "date": lambda record, _: record.started,
}
FACTORS = tuple(_FACTORS)


@dataclass(frozen=True)
class _Seen:
    """One trial as a sweep sees it."""

    machine: str
    query: str
    factors: Mapping[str, Factor]
    settings: Mapping[str, str]
    """Options of the engine, parameters of the workload, the load and its shape."""
    value: float


def sweep(folders: Sequence[RunFolder], name: str, factor: str) -> list[Point]:
    """Return a metric over a factor, per machine and query; only of trials that count.

    Any other difference among the trials (another engine, another rate) makes a separate line.
    """
    metric(name)
    if factor not in _FACTORS:
        raise unknown_name("factor", factor, _FACTORS)
    seen = [each for folder in folders for each in _trials(folder, name)]
    if not seen:
        raise UsageError(
            f"no trial of these runs has a {name} that counts",
            "A trial counts if it is finished, valid, not wrong and not quick.",
        )
    labels = _varying(seen, factor), _varying_settings(seen)
    groups: dict[tuple[str, str, Factor], list[float]] = {}
    for each in seen:
        key = each.machine, " · ".join(_series(each, *labels)), each.factors[factor]
        groups.setdefault(key, []).append(each.value)
    return [_point(*key, values) for key, values in groups.items()]


def _trials(folder: RunFolder, name: str) -> Iterator[_Seen]:
    record = folder.record()
    for result in folder.trials():
        if result.usable and not result.spec.quick and name in result.metrics:
            spec = result.spec
            yield _Seen(
                machine=_machine(record),
                query=f"{spec.workload}/{spec.query}",
                factors={each: of(record, result) for each, of in _FACTORS.items()},
                settings=_settings(spec),
                value=result.metrics[name],
            )


def _varying(seen: Sequence[_Seen], factor: str) -> list[str]:
    """Name the other factors with more than one value, but not the date: each run has its own."""
    others = [each for each in _FACTORS if each not in (factor, "date")]
    return [name for name in others if len({each.factors[name] for each in seen}) > 1]


def _varying_settings(seen: Sequence[_Seen]) -> list[str]:
    names = dict.fromkeys(name for each in seen for name in each.settings)
    return [name for name in names if len({each.settings.get(name) for each in seen}) > 1]


def _series(seen: _Seen, factors: Sequence[str], settings: Sequence[str]) -> Iterator[str]:
    yield seen.query
    for name in factors:
        value = seen.factors[name]
        if name == "rate":
            yield format_rate(float(value))
        else:
            yield value if isinstance(value, str) else f"{value:g} {name}"
    yield from (f"{name}={seen.settings[name]}" for name in settings if name in seen.settings)


def _settings(spec: TrialSpec) -> dict[str, str]:
    typed = {**spec.parameters, **spec.load.model_dump(mode="json")}
    shape = {"shape": spec.shape} if spec.shape else {}
    return {**spec.engine_options, **{name: str(value) for name, value in typed.items()}, **shape}


def _point(machine: str, series: str, factor: Factor, values: list[float]) -> Point:
    return Point(
        machine, series, factor, statistics.median(values), min(values), max(values), len(values)
    )


def _machine(record: RunRecord) -> str:
    machine = record.machine
    return f"{machine.get('host')} · {machine.get('cpu')} · {machine.get('cores')} cores"


def _per_instance(result: TrialResult, name: str) -> int:
    """Return what each instance has; 0 where there are none."""
    resources = result.spec.resources
    return 0 if resources.instances is None else int(getattr(resources, name))


def _cores(record: RunRecord) -> int:
    cores = record.machine.get("cores")
    return cores if isinstance(cores, int) else 0
