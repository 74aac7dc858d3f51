"""A profile of a trial or of any running program, with what its tasks cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from streamgauge.profiling.costs import Cost, Costs, costs
from streamgauge.profiling.profile import Profile, read_profile
from streamgauge.profiling.tasks import UNMATCHED, Tasks
from streamgauge.results.factors import named
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult
from streamgauge.spec.values import Json
from streamgauge.units import format_count, format_duration

_FEW = 8
_LEAST_SAMPLED, _MOST_SAMPLED = 0.95, 1.05


@dataclass(frozen=True)
class Row:
    """One task as text."""

    task: str
    cost: str
    interval: str
    share: float
    """Of all CPU time."""
    low: float
    high: float
    samples: int
    cycles: str | None
    """Of the processor, by the share of CPU time; None where it counts none."""


@dataclass(frozen=True, eq=False)
class Profiled:
    """One profile, and the tasks that it is divided into."""

    title: str
    profile: Profile
    tasks: Tasks
    events: float | None
    """Input records during the profile; None if they were not counted."""

    @cached_property
    def told(self) -> Costs:
        """What each task cost."""
        return costs(self.profile, self.tasks)

    @property
    def unit(self) -> str:
        """The unit of costs."""
        return "CPU per record" if self.events else "CPU time"

    @property
    def cycles_unit(self) -> str | None:
        """The unit of cycles; None where the processor counts none."""
        if not self.profile.record.counters.get("cycles"):
            return None
        return f"cycles{' per record' if self.events else ''} by CPU share"

    def rows(self) -> list[Row]:
        """Return a row for each task, the most expensive first."""
        return [self._row(each.task, each) for each in self.told.by_task()]

    def roles(self) -> list[Row]:
        """Return a row for each role, the most expensive first."""
        return [self._row(each.role, each) for each in self.told.by_role()]

    def total(self) -> str:
        """Write the cost of everything."""
        return self._write(self.told.cpu_s)

    def facts(self) -> str:
        """Say in a line what the figures are based on."""
        record, totals = self.profile.record, self.told
        cores = totals.cpu_s / record.seconds if record.seconds else 0.0
        hz = {name: f" at {rate:g} Hz" for name, rate in record.hz.items()}
        by = " and ".join(f"{name}{hz.get(name, '')}" for name in self.profile.backends)
        return (
            f"{by or 'nothing to profile'}, {format_count(totals.samples)} samples over"
            f" {format_duration(record.seconds)}, {cores:.2f} cores; tasks by {self.tasks.name}"
        )

    def counters(self) -> str:
        """Describe what the processor counted."""
        found = self.profile.record.counters
        if not found:
            return "hardware counters: none here"
        per = self.events or 1.0
        shown = [f"{name} {format_count(value / per)}" for name, value in found.items()]
        if found.get("cycles") and "instructions" in found:
            shown.append(f"instructions per cycle {found['instructions'] / found['cycles']:.2f}")
        return f"hardware counters{' per record' if self.events else ''}: {', '.join(shown)}"

    def overhead(self) -> str:
        """Describe what profiling itself cost."""
        own = f"py-spy and perf used {format_duration(self.profile.record.own_cpu_s)} of CPU time"
        measured = self.profile.record.overhead
        shown = "not measured here: run with --profile overhead" if measured is None else measured
        return f"cost of profiling: {shown}; {own}"

    def doubts(self) -> Iterator[str]:
        """Yield what to know before trusting the figures."""
        yield from self.profile.record.notes
        if self.profile.lost:
            share = self.profile.lost / (self.profile.lost + self.told.samples)
            yield f"{self.profile.lost:,} samples ({share:.1%}) have no usable stack"
        ratio = self.profile.sampled
        if ratio is not None and not _LEAST_SAMPLED <= ratio <= _MOST_SAMPLED:
            yield (
                f"samples × period are {ratio:.0%} of the CPU time that the kernel counts:"
                " shares are of what was sampled"
            )
        if "jfr" in self.profile.backends:
            yield "jfr sees no garbage collection, compilation or native code"

    def unmatched(self) -> str | None:
        """List the most frequent leaves that match no pattern."""
        if not self.told.unmatched:
            return None
        count = sum(samples for _, samples in self.told.unmatched)
        shown = ", ".join(f"{leaf} ({samples:,})" for leaf, samples in self.told.unmatched[:_FEW])
        more = len(self.told.unmatched) - _FEW
        rest = f" and {more} more" if more > 0 else ""
        return f"{UNMATCHED}, {count:,} samples: {shown}{rest}"

    def as_json(self) -> dict[str, Json]:
        """Return everything for scripts, costs in seconds."""
        totals, record = self.told, self.profile.record
        return {
            "title": self.title,
            "tasks_file": self.tasks.name,
            "backends": [*self.profile.backends],
            "hz": dict(record.hz),
            "seconds": record.seconds,
            "events": self.events,
            "cpu_s": totals.cpu_s,
            "samples": totals.samples,
            "lost": self.profile.lost,
            "own_cpu_s": record.own_cpu_s,
            "overhead": None if record.overhead is None else record.overhead.model_dump(),
            "counters": dict(record.counters),
            "costs": [self._json(each) for each in totals.costs],
            "unmatched": dict(totals.unmatched),
            "unused": [f"{each.task}: {each.fits.pattern}" for each in totals.unused],
            "notes": [*self.doubts()],
        }

    def _cycles(self, cost: Cost) -> float | None:
        counted = self.profile.record.counters.get("cycles")
        return counted * cost.cpu_s / self.told.cpu_s if counted and self.told.cpu_s else None

    def _json(self, cost: Cost) -> dict[str, Json]:
        cycles = self._cycles(cost)
        return asdict(cost) | ({} if cycles is None else {"cycles_by_cpu_share": cycles})

    def _row(self, name: str, cost: Cost) -> Row:
        whole, cycles = self.told.cpu_s or 1.0, self._cycles(cost)
        return Row(
            task=name,
            cost=self._write(cost.cpu_s),
            interval=f"{self._write(cost.low_s)} – {self._write(cost.high_s)}",
            share=cost.cpu_s / whole,
            low=cost.low_s / whole,
            high=cost.high_s / whole,
            samples=cost.samples,
            cycles=None if cycles is None else format_count(cycles / (self.events or 1.0)),
        )

    def _write(self, cpu_s: float) -> str:
        return format_duration(cpu_s / self.events if self.events else cpu_s)


def profiled_trials(
    folder: RunFolder, results: Sequence[TrialResult], tasks: Tasks
) -> Iterator[Profiled]:
    """Yield the profile of each trial that has one.

    Raises:
        UsageError: One cannot be read.
    """
    for result in results:
        profile = read_profile(folder.trial_folder(result.spec.number) / "profile")
        if profile is not None:
            repeat = f", repeat {result.spec.repeat}" if result.spec.repeat > 1 else ""
            title = f"{named(result.spec)}{repeat}"
            yield Profiled(title, profile, tasks, profile.events(result))
