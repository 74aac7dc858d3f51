"""The figures of the live page in the OpenMetrics text format, for Prometheus.

Figures are of the trial under way and absent between trials, so that a graph shows a gap there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.live.follow import Follower
from streamgauge.live.state import Ended, Sample, finished_rates
from streamgauge.metrics import Metric, Unit, declared
from streamgauge.results.events import PHASES

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_UNITS: Mapping[Unit, str] = {"s": "seconds", "B": "bytes", "cores": "cores", "records": "records"}

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """A metric with all its values."""

    name: str
    kind: str
    help: str
    values: Sequence[tuple[Labels, float]]
    unit: str = ""


def write(follower: Follower | None) -> str:
    """Write all that is known of a run."""
    families = [] if follower is None else [_run(follower), *_trials(follower)]
    lines = [line for family in families if family.values for line in _lines(family)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _run(follower: Follower) -> Family:
    record = follower.record
    labels = {
        "run": record.id,
        "workload": record.spec.workload,
        "engine": record.spec.engine or "",  # a label that is empty counts as absent
        "status": record.status,
    }
    return Family("streamgauge_run", "info", "The run that is shown.", [(labels, 1)])


def _trials(follower: Follower) -> Iterator[Family]:
    state = follower.state
    yield Family(
        "streamgauge_trials_ended",
        "gauge",
        "Trials of the run that are over, by whether a verdict holds: true, false or untold.",
        [
            ({"verdict": verdict, "holds": holds}, count)
            for verdict in ("valid", "correct", "kept_up")
            for holds, count in _counted(state.ended, verdict).items()
        ],
    )
    trial = state.trial
    if trial is None or trial.over:
        return
    labels = {"trial": str(trial.number), "query": trial.kind.query}
    yield Family(
        "streamgauge_trials_planned",
        "gauge",
        "Trials of the run that are known beforehand.",
        [({}, trial.planned)],
    )
    yield Family("streamgauge_trial", "info", "The trial under way.", [(labels, 1)])
    phases = [({"streamgauge_phase": name}, float(name == trial.phase)) for name in PHASES]
    yield Family("streamgauge_phase", "stateset", "The phase of the trial under way.", phases)
    if samples := follower.since(None).samples:
        yield from _figures(samples[-1], finished_rates(samples)[-1])


def _counted(ended: Iterable[Ended], verdict: str) -> dict[str, int]:
    counts = {"true": 0, "false": 0, "untold": 0}
    words = {True: "true", False: "false", None: "untold"}
    for each in ended:
        counts[words[getattr(each, verdict)]] += 1
    return counts


def _figures(sample: Sample, finished: float | None) -> Iterator[Family]:
    yield _declared("rate.offered", {"": sample.offered})
    yield _declared("rate.sent", {"": sample.sent})
    yield _declared("rate.appended", {"": sample.appended})
    yield Family(
        "streamgauge_rate_finished_per_second",
        "gauge",
        "Records that the engine finished, per second, as it last reported.",
        _values({"": finished}),
    )
    yield _declared("lag.<statistic>", {"": sample.lag})
    yield _declared("cpu.<role>", sample.cpu)
    yield _declared("memory.<role>", sample.memory)
    yield _declared("load.1m", {"": sample.load})
    yield Family(
        "streamgauge_newest_latency_seconds",
        "gauge",
        "The latency of the newest output, as the workload reads it off: one sample, no statistic.",
        _values({"": sample.newest_latency}),
        "seconds",
    )


def _declared(name: str, values: Mapping[str, float | None]) -> Family:
    """Make a family of a metric that is declared; what it says of statistics is of one sample."""
    metric = next(each for each in declared() if each.name == name)
    unit = _UNITS.get(metric.unit, "")
    words = re.sub(r"\.?<.*>", "", metric.name).replace(".", "_")
    suffix = {"1/s": "_per_second"}.get(metric.unit, f"_{unit}" if unit else "")
    return Family(f"streamgauge_{words}{suffix}", "gauge", _help(metric), _values(values), unit)


def _help(metric: Metric) -> str:
    meaning = metric.meaning.replace("<statistic>", "newest sample").replace("<role>", "role")
    return re.sub(r", (mean|largest)\.$", ", newest sample.", meaning)


def _values(values: Mapping[str, float | None]) -> list[tuple[Labels, float]]:
    found = values.items()
    return [({"role": role} if role else {}, value) for role, value in found if value is not None]


def _lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {_escape(family.help)}"
    suffix = "_info" if family.kind == "info" else ""
    for labels, value in family.values:
        pairs = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
        yield f"{family.name}{suffix}{f'{{{pairs}}}' if pairs else ''} {value:.10g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
