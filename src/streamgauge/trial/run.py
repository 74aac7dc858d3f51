"""One trial, by the phases of its kind: with an engine, or of the broker only."""

from __future__ import annotations

from pathlib import Path

from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.trial.bench import Announce, Bench
from streamgauge.trial.ingestion import Ingestion
from streamgauge.trial.phases import Trial


def run_trial(spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> TrialResult:
    """Run one trial and return its result; never raises for what spoils a trial."""
    kind = Ingestion if spec.engine is None else Trial
    return kind(spec, bench, folder, announce).run()
