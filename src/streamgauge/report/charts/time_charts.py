"""The charts over time that every trial has, if its files hold enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streamgauge.report.charts.style import Unit

Section = Literal["rates", "latency", "resources"]
Shape = Literal["lines", "areas", "points"]

MARKS_IN_SIGHT = 150
"""More boundaries of batches than this at once would cover the chart."""
_RISING = (0, 2, 1, 5)
"""Colours of p50, p95, p99 and max; their lines never cross, so their order tells them apart."""


@dataclass(frozen=True)
class Chart:
    """What a chart is called, what it shows and how it is drawn."""

    name: str
    title: str
    note: str
    section: Section
    unit: Unit
    shape: Shape = "lines"
    log: bool = False
    wide: bool = False
    """Whether it takes the whole width where two would fit side by side."""
    colours: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    """Places in the palette, in the order of the series."""
    dashed: bool = False
    """Whether lines differ by dash as well: where they may cross or cover each other."""


TIME_CHARTS = (
    Chart(
        "input",
        "Input rate",
        "Records per second: due, handed over, and in the log.",
        "rates",
        "1/s",
        dashed=True,
    ),
    Chart("output", "Output rate", "Outputs per second, by the time they arrived.", "rates", "1/s"),
    Chart(
        "lag",
        "Lag",
        "Records in the log that the engine has not finished.",
        "rates",
        "records",
        wide=True,
    ),
    Chart(
        "queue",
        "Queue length",
        "Records in the harness's own queues that the engine has not pulled: its backpressure.",
        "rates",
        "records",
        wide=True,
    ),
    Chart(
        "behind",
        "Behind",
        "Age of the oldest input whose output had not arrived yet; shown if an engine reports its"
        " lag in records too rarely.",
        "rates",
        "s",
        wide=True,
    ),
    Chart(
        "throughput",
        "Throughput",
        "Records per second that the engine finished and, without a broker, that it pulled from the"
        " harness's queues.",
        "rates",
        "1/s",
        dashed=True,
    ),
    Chart(
        "delay",
        "Scheduler delay",
        "How much later than its trigger a batch began, because the previous one took longer.",
        "rates",
        "ms",
    ),
    Chart(
        "latency",
        "Latency",
        "From the latest input to the output, by the time that input was due; percentiles for"
        " which there are enough outputs.",
        "latency",
        "ms",
        log=True,
        wide=True,
        colours=_RISING,
    ),
    Chart(
        "singles",
        "Single latencies",
        "One dot per output.",
        "latency",
        "ms",
        shape="points",
        log=True,
        wide=True,
    ),
    Chart(
        "event_latency",
        "Event-time latency",
        "From the time at which the latest input was due: includes what sender and broker added.",
        "latency",
        "ms",
        log=True,
        colours=_RISING,
    ),
    Chart(
        "processing_latency",
        "Processing-time latency",
        "From the time at which the engine took in the latest input: without the wait before that.",
        "latency",
        "ms",
        log=True,
        colours=_RISING,
    ),
    Chart(
        "window_latency",
        "Window latency",
        "From the end of the window.",
        "latency",
        "ms",
        log=True,
        colours=_RISING,
    ),
    Chart("cpu", "CPU by role", "Cores in use, stacked.", "resources", "cores", shape="areas"),
    Chart(
        "load",
        "System load",
        "Average over one minute, and cores lost to others.",
        "resources",
        "",
        dashed=True,
    ),
    Chart("memory", "Memory by role", "Resident, stacked.", "resources", "GiB", shape="areas"),
    Chart("disk", "Disk by role", "Written, stacked.", "resources", "MiB/s", shape="areas"),
    Chart(
        "network",
        "Network",
        "Traffic by interface, both ways.",
        "resources",
        "MiB/s",
        dashed=True,
    ),
    Chart("batches", "Batch phases", "Mean of a batch, stacked.", "resources", "ms", shape="areas"),
    Chart("gc", "Garbage collection", "Of the engine, in each second.", "resources", "ms"),
)


def charts_of(section: Section) -> list[Chart]:
    """Return the charts of a section, in their order."""
    return [chart for chart in TIME_CHARTS if chart.section == section]
