"""Every metric: its name, unit, better direction and meaning, declared once.

Tables, charts, documentation, `compare` and objectives derive from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from streamgauge import units
from streamgauge.errors import UsageError, unknown_name

Unit = Literal["s", "s/record", "1/s", "records", "cores", "B", "B/s", "1"]
Better = Literal["lower", "higher", "none"]

STATISTICS = {
    "min": "smallest",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "max": "largest",
    "mean": "mean",
}
_BY_APPEND_TIME = {
    "latency",
    "event_latency",
    "processing_latency",
    "pre_window_latency",
    "window_latency",
    "lateness",
    "behind",
    "append_step",
}
KNOWN_ROLES = ("engine", "broker", "database", "sender", "harness")
"""Roles of processes in the order in which they are shown; an engine or a service may add more."""


@dataclass(frozen=True)
class Metric:
    """A named number: `latency.p99`, in seconds, lower is better."""

    name: str
    unit: Unit
    better: Better
    meaning: str

    @property
    def resolution(self) -> float:
        """The smallest step of the clock; a mean is finer than the values that it is made of."""
        family, _, statistic = self.name.partition(".")
        return units.CLOCK_S if family in _BY_APPEND_TIME and statistic != "mean" else 0.0

    def parse(self, text: str) -> float:
        """Read a value of this metric as people write it: `2s`, `10k/s`, `64MiB`."""
        return _PARSE[self.unit](text)

    def format(self, value: float) -> str:
        """Write a value of this metric for people."""
        return _FORMAT[self.unit](value)

    def show(self, value: float) -> str:
        """Write a value for people, of a latency no finer than the clock."""
        return units.format_latency(value) if self.resolution else self.format(value)


# `<statistic>` stands for each of the above, `<role>`, `<interface>` and `<task>` for any.
_DECLARED = (
    Metric(
        "latency.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from the append of an output's latest contributing input"
        " to the append of the output.",
    ),
    Metric(
        "window_latency.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from a window's end to the append of its output.",
    ),
    Metric(
        "event_latency.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from the event time of an output, the greatest of its"
        " contributing inputs, to the append of the output; intended time, unless the workload"
        " has its own.",
    ),
    Metric(
        "processing_latency.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from the engine's intake of an output's latest contributing"
        " input to the append of the output.",
    ),
    Metric(
        "pre_window_latency.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from the event time of an output to the engine's intake:"
        " event_latency without processing_latency.",
    ),
    Metric(
        "lateness.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from a record's intended time to its append.",
    ),
    Metric(
        "send_lateness.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from a record's intended time to its sending.",
    ),
    Metric(
        "behind.<statistic>",
        "s",
        "lower",
        "The <statistic>, on a 1 s grid, of the age of the oldest input whose output was not"
        " there yet.",
    ),
    Metric(
        "lag.<statistic>",
        "records",
        "lower",
        "The <statistic> of the distance from the log's end to the end of the engine's last"
        " finished batch.",
    ),
    Metric(
        "lag.trend",
        "1/s",
        "lower",
        "Records by which the lag grew per second: the slope of a line by least squares through the"
        " lag on a grid of 5 s. Where an engine reports its offsets only at checkpoints, the lag is"
        " how far its outputs were behind, times the offered rate.",
    ),
    Metric(
        "lag.sawtooth",
        "records",
        "lower",
        "Distance from the lowest to the highest point of the lag around that line.",
    ),
    Metric(
        "dropped.rate",
        "1/s",
        "lower",
        "Rows that an operator dropped because they came after the watermark, per second, in the"
        " 5 s with the most of them.",
    ),
    Metric(
        "batch.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time that the engine took for a batch, over the batches that ended"
        " in the measured span.",
    ),
    Metric(
        "resources.cores", "cores", "none", "CPUs that the engine was given, over all instances."
    ),
    Metric(
        "resources.instances", "1", "none", "Instances that the engine was given; 1 for a process."
    ),
    Metric("rate.offered", "1/s", "none", "Records that were due, per second."),
    Metric("rate.sent", "1/s", "none", "Records that the sender handed over, per second."),
    Metric("rate.appended", "1/s", "none", "Records that the broker appended, per second."),
    Metric("rate.handed", "1/s", "none", "Records that the engine pulled, per second."),
    Metric("rate.emitted", "1/s", "none", "Outputs that the engine emitted, per second."),
    Metric(
        "rate.catch_up",
        "1/s",
        "higher",
        "Records of a backlog that the engine worked off per second.",
    ),
    Metric(
        "catch_up.seconds",
        "s",
        "lower",
        "Time from the engine's start until it had caught up with a backlog: from then on it was"
        " less than 5 s behind.",
    ),
    Metric(
        "rate.peak",
        "1/s",
        "higher",
        "Most records per second that the engine worked off over 5 s, after a backlog.",
    ),
    Metric(
        "rate_per_second.<statistic>",
        "1/s",
        "none",
        "The <statistic> of the records that the broker appended in each second.",
    ),
    Metric(
        "rate_per_minute.<statistic>",
        "1/s",
        "none",
        "The <statistic> of the records per second that the broker appended in each minute, taken"
        " every second.",
    ),
    Metric(
        "request.<statistic>",
        "s",
        "lower",
        "The <statistic> of the mean time, of each second, from a sender's produce request to the"
        " broker's answer.",
    ),
    Metric("broker.messages", "1/s", "none", "Messages that came in, as the broker counts them."),
    Metric("broker.bytes", "B/s", "none", "Bytes that came in, as the broker counts them."),
    Metric("bytes.appended", "B/s", "none", "Bytes of record values appended per second."),
    Metric(
        "append_run.<statistic>",
        "records",
        "lower",
        "The <statistic> of the number of consecutive records with the same append time.",
    ),
    Metric(
        "append_step.<statistic>",
        "s",
        "lower",
        "The <statistic> of the time from one append time to the next.",
    ),
    Metric("cpu.<role>", "cores", "lower", "CPU time of the <role> per second, mean."),
    Metric(
        "cpu.engine.reported",
        "cores",
        "lower",
        "CPU time per second of an engine's instances on other hosts, mean, as they report it: that"
        " of Java only, without Python workers.",
    ),
    Metric("memory.<role>", "B", "lower", "Resident memory of the <role>, largest."),
    Metric("disk.<role>", "B/s", "lower", "Bytes the <role> wrote to disk per second, mean."),
    Metric(
        "network.<interface>",
        "B/s",
        "none",
        "Bytes per second through the network interface <interface>, both ways, mean.",
    ),
    Metric(
        "packets.<interface>",
        "1/s",
        "none",
        "Packets per second through the network interface <interface>, both ways, mean.",
    ),
    Metric("state.rows", "records", "none", "Rows of state that the engine kept, most at a time."),
    Metric(
        "state.bytes",
        "B",
        "lower",
        "Bytes of state that the engine kept in memory, or in files where it keeps it there, most"
        " at a time, as it reports it.",
    ),
    Metric(
        "cost.<task>",
        "s/record",
        "lower",
        "CPU time of the engine per input record, for <task>, in a profiled time; cost.total is"
        " that of all tasks.",
    ),
    Metric(
        "profiling.cpu",
        "1",
        "lower",
        "CPU time of the engine with the profiler on, divided by that with it off, in turns.",
    ),
    Metric(
        "profiling.latency",
        "1",
        "lower",
        "Mean latency with the profiler on, divided by that with it off, in turns.",
    ),
    Metric("load.1m", "1", "none", "The system's load average over one minute, mean."),
    Metric("validation.seconds", "s", "none", "How long the checking of the answers took."),
)

_MEMBERS = {
    "<role>": re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*"),
    "<interface>": re.compile(r".+"),
    "<task>": re.compile(r".+"),
}


def is_role(name: str) -> bool:
    """Return whether metrics can be counted under a role of that name."""
    return _MEMBERS["<role>"].fullmatch(name) is not None


_PARSE: Mapping[Unit, Callable[[str], float]] = {
    "s": units.parse_duration,
    "s/record": units.parse_duration,
    "1/s": units.parse_rate,
    "records": units.parse_count,
    "cores": units.parse_count,
    "B": units.parse_size,
    "B/s": lambda text: units.parse_size(text.strip().removesuffix("/s")),
    "1": units.parse_count,
}
_FORMAT: Mapping[Unit, Callable[[float], str]] = {
    "s": units.format_duration,
    "s/record": units.format_duration,
    "1/s": units.format_rate,
    "records": units.format_count,
    "cores": lambda cores: f"{cores:.2f}",
    "B": units.format_size,
    "B/s": lambda size: f"{units.format_size(size)}/s",
    "1": lambda number: f"{number:.2f}",
}


def declared() -> tuple[Metric, ...]:
    """Return every metric as declared, families by their pattern (`latency.<statistic>`)."""
    return _DECLARED


def in_order(roles: Iterable[str]) -> list[str]:
    """Put roles into the order in which they are shown: the known ones first."""
    there = set(roles)
    return [*(role for role in KNOWN_ROLES if role in there), *sorted(there - {*KNOWN_ROLES})]


def wholes(roles: Iterable[str]) -> list[str]:
    """Leave out roles that are parts of others: engine.driver where there is engine."""
    there = list(roles)
    return [role for role in there if role.rpartition(".")[0] not in there]


@cache
def metric(name: str) -> Metric:
    """Look a metric up by its full name; an unknown one lists the known and the nearest.

    Any role and any network interface is accepted: they are only known once measured.
    """
    found = _expanded().get(name) or _open(name)
    if found is None:
        raise _unknown(name)
    return found


def _open(name: str) -> Metric | None:
    """Find the family of a name whose members are not known beforehand."""
    family, _, member = name.partition(".")
    for each in _DECLARED:
        of, _, mark = each.name.partition(".")
        if of == family and mark in _MEMBERS and _MEMBERS[mark].fullmatch(member):
            return Metric(name, each.unit, each.better, each.meaning.replace(mark, member))
    return None


@cache
def _expanded() -> dict[str, Metric]:
    """Return the metrics whose names are known beforehand."""
    values = {"<statistic>": STATISTICS, "<role>": {role: role for role in KNOWN_ROLES}}
    expanded: dict[str, Metric] = {}
    for each in _DECLARED:
        placeholder = next((mark for mark in values if mark in each.name), None)
        for member, words in values[placeholder].items() if placeholder else [("", "")]:
            mark = placeholder or "\0"
            name = each.name.replace(mark, member)
            expanded[name] = Metric(name, each.unit, each.better, each.meaning.replace(mark, words))
    return expanded


def _unknown(name: str) -> UsageError:
    """List the patterns rather than eighty names, but guess among the full names."""
    return unknown_name("metric", name, _expanded(), listed=[each.name for each in _DECLARED])
