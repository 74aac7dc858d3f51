"""What a profile adds to a trial's metrics: the CPU time of each task, by input record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from streamgauge.errors import UsageError
from streamgauge.machine import is_here
from streamgauge.measure import latency
from streamgauge.profilers.alternating import SEGMENTS
from streamgauge.profilers.known import keep
from streamgauge.profiling.costs import costs
from streamgauge.profiling.overhead import Outputs, Overhead, Segment, overhead
from streamgauge.profiling.profile import Profile, read_profile, write_profile
from streamgauge.profiling.task_file import DEFAULT, read_tasks
from streamgauge.spec.trial import TrialResult

_ELSEWHERE = (
    "the profile gives no costs: instances of the engine ran on other hosts,"
    " where nothing was profiled"
)
_SEGMENTS = TypeAdapter(list[Segment])


def with_costs(result: TrialResult, folder: Path) -> TrialResult:
    """Add what each task cost, where one of our profilers ran."""
    try:
        profile = read_profile(folder / "profile")
    except UsageError as error:
        warning = f"the profile cannot be read: {error.message}"
        return result.model_copy(update={"warnings": [*result.warnings, warning]})
    if profile is None:
        return result
    if any(not is_here(each.host) for each in result.instances):
        warnings = [*result.warnings, *profile.record.notes, _ELSEWHERE]
        return result.model_copy(update={"warnings": warnings})
    measured = _overhead(result, profile, folder)
    found = {**result.metrics, **_costs(result, profile), **_ratios(measured)}
    remarks = [] if measured is None else [str(measured)]
    warnings = [*result.warnings, *profile.record.notes, *remarks]
    by = {"profiled_by": profile.backends}
    return result.model_copy(update={"metrics": found, "warnings": warnings, **by})


def _costs(result: TrialResult, profile: Profile) -> dict[str, float]:
    events = profile.events(result)
    if not events:
        return {}
    found = costs(profile, read_tasks(DEFAULT))
    by_task = {f"cost.{each.task}": each.cpu_s / events for each in found.by_task()}
    return {"cost.total": found.cpu_s / events, **by_task}


def _overhead(result: TrialResult, profile: Profile, folder: Path) -> Overhead | None:
    """Compare the segments of a trial that was profiled in turns; keep a usable result."""
    file = folder / "profile" / SEGMENTS
    if not file.exists():
        return None
    segments = _SEGMENTS.validate_json(file.read_bytes())
    spec = result.spec
    what = f"{spec.workload}/{spec.query} at {spec.rate:,.0f}/s"
    measured = overhead(segments, _outputs(folder), sorted(profile.backends), what)
    if measured.cpu is not None:
        record = profile.record.model_copy(update={"overhead": measured})
        write_profile(record, profile.stacks, folder / "profile")
        if result.usable and not spec.quick:
            keep(measured)
    return measured


def _outputs(folder: Path) -> Outputs | None:
    file = folder / "latency.parquet"
    if not file.exists():
        return None
    times = pq.read_table(file)
    windows = times["window_end"].null_count < len(times)
    took_ms = latency.passed_ms(times, "window_latency" if windows else "latency")
    both = pa.table({"due": times["intended"], "took": took_ms}).drop_null()
    due, took = (column.to_numpy().astype(np.float64) for column in both.columns)
    return Outputs(due, took / 1000)


def _ratios(measured: Overhead | None) -> dict[str, float]:
    if measured is None:
        return {}
    both = {"profiling.cpu": measured.cpu, "profiling.latency": measured.latency}
    return {name: cost.ratio for name, cost in both.items() if cost is not None}
