"""How a query can be run on Spark: data that is read without importing the query's program.

A workload hands them over as `FACTS`, by query, in its file `spark_facts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from streamgauge import registry
from streamgauge.errors import UsageError, unknown_name
from streamgauge.jobfile import JobSpec

Mode = Literal["realtime", "microbatch", "continuous"]
MODES: tuple[Mode, ...] = get_args(Mode)
LEAST_RATE = 10.0
"""Records per second and partition that a load needs where records close windows."""
_STATE_KEPT_MS = 10_000
"""How long the state of a window that records have closed is kept: it costs only memory."""


def _fit(job: JobSpec, mode: Mode) -> str | None:  # noqa: ARG001 - any of them
    return None


def _as_they_are(job: JobSpec, chosen: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG001
    return {}


def _nothing(job: JobSpec) -> Mapping[str, str]:  # noqa: ARG001 - of none
    return {}


@dataclass(frozen=True)
class QueryFacts:
    """What is known of one query; source, sink, trigger and checkpoint are the engine's."""

    default: Mode
    output_mode: Literal["append", "update"] = "append"
    """In micro-batches; real-time mode has `update` only."""
    refused: Mapping[Mode, str] = field(default_factory=dict)
    """Modes that cannot give one final output per key, each with the reason."""
    closed_by_records: frozenset[Mode] = frozenset()
    """Modes in which the first record of the next window, in every partition, emits a window."""
    unfit: Callable[[JobSpec, Mode], str | None] = _fit
    """Returns why an allowed mode cannot run the query with a job's parameters and options; None
    when it can."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ways to run it that `-E name=value` chooses between, the default first."""
    settled: Callable[[JobSpec, Mapping[str, str]], Mapping[str, str]] = _as_they_are
    """Returns for a job what those options mean where they are `auto`, and what else the settings
    report about them."""
    rocksdb: Mapping[str, str] = field(default_factory=dict)
    """Values of those options with which its state must be in RocksDB."""
    appends: Mapping[str, str] = field(default_factory=dict)
    """Values of those options with which micro-batches append, whatever `output_mode` says."""
    checkpoint_s: float = 300.0
    """Interval of checkpoints in real-time mode; each is a gap of some tenths of a second."""
    watermark_delay_ms: int = 0
    watermark_delay_partitioned_ms: int = 0
    """The same with several partitions, since the watermark is the greatest of all partitions."""
    stateful: bool = False
    asynchronous: bool = False
    """Offsets may be written while the next batch runs: stateless queries to Kafka."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Spark, where the query is tuned."""
    needed: Callable[[JobSpec], Mapping[str, str]] = _nothing
    """Returns settings without which the query is wrong, in every profile."""
    in_utc: str | None = None
    """Why the session's time zone has to be UTC; None where it does not matter."""
    jars: tuple[str, ...] = ()
    """Components of jars.lock that it needs besides those of the transport."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Return the modes that it allows, the default first."""
        rest = (mode for mode in MODES if mode not in self.refused and mode != self.default)
        return (self.default, *rest)

    def output(self, mode: str | None, settings: Mapping[str, str]) -> Literal["append", "update"]:
        """Return the output mode of a job with these settings."""
        if mode == "realtime":
            return "update"
        appends = any(settings.get(name) == value for name, value in self.appends.items())
        return "append" if appends else self.output_mode

    def watermark_delay(self, mode: Mode, partitions: int) -> int:
        """Return the watermark's delay in milliseconds."""
        if mode in self.closed_by_records:
            return _STATE_KEPT_MS
        return self.watermark_delay_ms if partitions == 1 else self.watermark_delay_partitioned_ms

    def choose_mode(self, query: str, wanted: str | None, least_rate: float) -> Mode:
        """Return the wanted mode, or the best one when none is wanted.

        Raises:
            UsageError: There is no such mode, or it cannot run this query under this load.
        """
        sparse = self.closed_by_records if least_rate < LEAST_RATE else frozenset()
        if wanted is None:
            return next(mode for mode in self.modes if mode not in sparse)
        for mode in MODES:
            if mode == wanted and mode in sparse:
                raise UsageError(
                    f"spark cannot run {query} in mode {mode} under this load: a window is closed"
                    " by the first record of the next one in every partition, and there are"
                    f" seconds with fewer than {LEAST_RATE:g} records of a partition",
                    "Raise the rate, lower --partitions, or use"
                    f" -E mode={' or mode='.join(m for m in self.modes if m not in sparse)}.",
                )
            if mode == wanted and mode in self.refused:
                raise UsageError(
                    f"spark cannot run {query} in mode {mode}: {self.refused[mode]}",
                    f"Use -E mode={' or mode='.join(self.modes)}.",
                )
            if mode == wanted:
                return mode
        raise unknown_name("mode of spark", wanted, MODES)

    def fitting(self, job: JobSpec, mode: Mode, *, wanted: bool) -> Mode:
        """Return the mode, or another one that can run the query with a job's parameters.

        Raises:
            UsageError: That mode was wanted and cannot, or none can.
        """
        reason = self.unfit(job, mode)
        if reason is None:
            return mode
        others = [each for each in self.modes if self.unfit(job, each) is None]
        if others and not wanted:
            return others[0]
        raise UsageError(
            f"spark cannot run {job.query} in mode {mode}: {reason}",
            f"Use -E mode={' or mode='.join(others)}." if others else None,
        )

    def chosen(self, job: JobSpec) -> dict[str, str]:
        """Return the value of each option of the query, and what the settings report about them.

        Raises:
            UsageError: There is no such value.
        """
        found = {}
        for name, values in self.options.items():
            found[name] = job.options.get(name, values[0])
            if found[name] not in values:
                raise unknown_name(f"value of -E {name}", found[name], values)
        return {**found, **self.settled(job, found)}


def query_facts(workload: str, query: str) -> QueryFacts:
    """Return what is known of a workload's query.

    Raises:
        UsageError: The workload has no such query on Spark.
    """
    facts: Mapping[str, QueryFacts] = registry.facts(workload, "spark").FACTS
    if query not in facts:
        raise unknown_name(f"query of {workload} on spark", query, facts)
    return facts[query]
