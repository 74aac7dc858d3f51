"""The figures of the live page for Prometheus, in the OpenMetrics text format.

Figures describe the trial under way. Between trials they are absent, so a graph shows a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, StateSetMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from streamgauge.live.follow import Follower
from streamgauge.live.state import Ended, Sample, finished_rates
from streamgauge.metrics import Unit, declared
from streamgauge.results.events import PHASES

CONTENT_TYPE = CONTENT_TYPE_LATEST
_UNITS: Mapping[Unit, str] = {"s": "seconds", "B": "bytes", "cores": "cores", "records": "records"}


def write(follower: Follower | None) -> str:
    """Write all that is known of a run."""
    registry = CollectorRegistry()
    if follower is not None:
        registry.register(_Figures(follower))
    written: bytes = generate_latest(registry)
    return written.decode()


class _Figures(Collector):
    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def collect(self) -> Iterator[Metric]:
        """Yield what has a value now."""
        yield _run(self._follower)
        yield from (family for family in _trials(self._follower) if family.samples)


def _run(follower: Follower) -> Metric:
    record = follower.record
    labels = {
        "run": record.id,
        "workload": record.spec.workload,
        "engine": record.spec.engine or "",  # an empty label counts as absent
        "status": record.status,
    }
    return InfoMetricFamily("streamgauge_run", "The run that is shown.", labels)


def _trials(follower: Follower) -> Iterator[Metric]:
    state = follower.state
    over = GaugeMetricFamily(
        "streamgauge_trials_ended",
        "Trials of the run that are over, by whether a verdict holds: true, false or unknown.",
        labels=("verdict", "holds"),
    )
    for verdict in ("valid", "correct", "kept_up"):
        for holds, count in _counted(state.ended, verdict).items():
            over.add_metric((verdict, holds), count)
    yield over
    trial = state.trial
    if trial is None or trial.over:
        return
    yield GaugeMetricFamily(
        "streamgauge_trials_planned",
        "Trials of the run that are known in advance.",
        trial.planned,
    )
    labels = {"trial": str(trial.number), "query": trial.kind.query}
    yield InfoMetricFamily("streamgauge_trial", "The trial under way.", labels)
    phases: dict[str, bool] = {name: name == trial.phase for name in PHASES}
    yield StateSetMetricFamily("streamgauge_phase", "The phase of the trial under way.", phases)
    if samples := follower.since(None).samples:
        yield from _figures(samples[-1], finished_rates(samples)[-1])


def _counted(ended: Iterable[Ended], verdict: str) -> dict[str, int]:
    counts = {"true": 0, "false": 0, "unknown": 0}
    words = {True: "true", False: "false", None: "unknown"}
    for each in ended:
        counts[words[getattr(each, verdict)]] += 1
    return counts


def _figures(sample: Sample, finished: float | None) -> Iterator[Metric]:
    yield _declared("rate.offered", sample.offered)
    yield _declared("rate.sent", sample.sent)
    yield _declared("rate.appended", sample.appended)
    yield _gauge(
        "streamgauge_rate_finished_per_second",
        "Records that the engine finished, per second, as it last reported.",
        finished,
    )
    yield _declared("lag.<statistic>", sample.lag)
    yield _declared("cpu.<role>", sample.cpu)
    yield _declared("memory.<role>", sample.memory)
    yield _declared("load.1m", sample.load)
    yield _gauge(
        "streamgauge_newest_latency",
        "The latency of the newest output, as the workload reads it: one sample, not a statistic.",
        sample.newest_latency,
        "seconds",
    )


_Values = float | None | Mapping[str, float]
"""A value, or one for each role."""


def _declared(name: str, values: _Values) -> Metric:
    """Make the family of a declared metric, described as one sample instead of a statistic."""
    metric = next(each for each in declared() if each.name == name)
    words = re.sub(r"\.?<.*>", "", metric.name).replace(".", "_")
    meaning = metric.meaning.replace("<statistic>", "newest sample").replace("<role>", "role")
    about = re.sub(r", (mean|largest)\.$", ", newest sample.", meaning)
    suffix = "_per_second" if metric.unit == "1/s" else ""
    return _gauge(f"streamgauge_{words}{suffix}", about, values, _UNITS.get(metric.unit, ""))


def _gauge(name: str, about: str, values: _Values, unit: str = "") -> Metric:
    if isinstance(values, Mapping):
        family = GaugeMetricFamily(name, about, labels=("role",), unit=unit)
        for role, value in values.items():
            family.add_metric((role,), value)
        return family
    return GaugeMetricFamily(name, about, values, unit=unit)
