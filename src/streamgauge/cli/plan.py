"""What a run would do: `--dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.cli.output import print_json, print_line
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from streamgauge.spec.run import RunSpec


def show_plan(spec: RunSpec, *, as_json: bool) -> None:
    """Print the trials and how long they will take at least."""
    from streamgauge.planning import load_experiment, trial_job

    trials = load_experiment(spec).plan()
    if as_json:
        print_json({"spec": spec.model_dump(mode="json"), "trials": len(trials)})
        return
    for trial in trials:
        mode = trial_job(trial).mode or "plain"
        print_line(
            f"{trial.number:3}  {trial.query:9} {format_rate(trial.rate):>8}"
            f"  {trial.engine} {mode}, {trial.partitions} partition(s), repeat {trial.repeat}"
        )
    total_s = sum(trial.load_s for trial in trials)
    print_line(
        f"{len(trials)} trial(s), at least {format_duration(total_s)} of load;"
        " starting, draining and validating come on top"
    )
