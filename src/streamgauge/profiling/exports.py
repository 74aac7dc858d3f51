"""Profiles for other tools: folded stacks, speedscope, CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from streamgauge.profiling.costs import Costs
from streamgauge.profiling.profile import Profile
from streamgauge.profiling.stacks import folded
from streamgauge.spec.values import Json

FORMATS = ("csv", "folded", "speedscope")
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def as_folded(profile: Profile) -> str:
    """Return a line for each stack: `process;thread;root;…;leaf count`."""
    return "".join(f"{line}\n" for line in sorted(folded(profile.stacks)))


def as_speedscope(profile: Profile, name: str) -> str:
    """Return the file that speedscope opens: a profile for each group of threads, in CPU time."""
    frames: dict[str, int] = {}
    profiles: dict[str, dict[str, Any]] = {}
    for each, cpu_s in zip(profile.stacks, profile.weights.tolist(), strict=True):
        title = f"{each.group.process}: {each.group.thread}"
        of = profiles.setdefault(title, {"samples": [], "weights": []})
        of["samples"].append([frames.setdefault(frame, len(frames)) for frame in each.frames])
        of["weights"].append(cpu_s)
    written: dict[str, Json] = {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "streamgauge",
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": title,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(of["weights"]),
                **of,
            }
            for title, of in profiles.items()
        ],
    }
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def as_csv(costs: Costs, events: float | None, cycles: float | None = None) -> str:
    """Return a line for each role and task: CPU seconds, share and, with events, µs per event.

    Args:
        costs: What tasks cost.
        events: Input records meanwhile; None where they are not counted.
        cycles: Of the processor, divided by CPU time; None where it counts none.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    spans = ("", "_low", "_high")
    per_event = [f"us_per_event{each}" for each in spans] if events else []
    header = ["role", "task", "share", *(f"cpu_s{each}" for each in spans), *per_event, "samples"]
    counted = f"cycles{'_per_event' if events else ''}_by_cpu_share"
    rows.writerow([*header, counted] if cycles else header)
    for each in costs.costs:
        seconds = (each.cpu_s, each.low_s, each.high_s)
        micros = [f"{value * 1e6 / events:.6g}" for value in seconds] if events else []
        share = each.cpu_s / costs.cpu_s if costs.cpu_s else 0.0
        cells = [f"{share:.6f}", *(f"{value:.6f}" for value in seconds), *micros]
        more = [f"{cycles * share / (events or 1.0):.6g}"] if cycles else []
        rows.writerow([each.role, each.task, *cells, each.samples, *more])
    return text.getvalue()
