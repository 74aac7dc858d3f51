"""Turns what was asked for into a complete run, all checked before anything is started."""

from __future__ import annotations

from streamgauge.planning.asked import Asked
from streamgauge.planning.cautions import cautions, uneven
from streamgauge.planning.parts import (
    load_act,
    load_engine,
    load_experiment,
    load_profiler,
    load_workload,
    trial_job,
    trial_query,
    trials_of,
)
from streamgauge.planning.plan import plan_run
from streamgauge.planning.presets import preset_names, read_preset
from streamgauge.planning.services import choose_services, needed_services
from streamgauge.planning.trial import settle

__all__ = [
    "Asked",
    "cautions",
    "choose_services",
    "load_act",
    "load_engine",
    "load_experiment",
    "load_profiler",
    "load_workload",
    "needed_services",
    "plan_run",
    "preset_names",
    "read_preset",
    "settle",
    "trial_job",
    "trial_query",
    "trials_of",
    "uneven",
]
