"""What a run would do: `--dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.cli.output import print_json, print_line
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamgauge.spec.contracts import Stage
    from streamgauge.spec.run import RunSpec


def show_plan(spec: RunSpec, *, as_json: bool) -> None:
    """Print the trials and how long they will take at least."""
    from streamgauge.planning import load_experiment, trial_job
    from streamgauge.spec.contracts import Outlines

    experiment = load_experiment(spec)
    trials = experiment.plan()
    if as_json:
        print_json({"spec": spec.model_dump(mode="json"), "trials": count_trials(spec)})
        return
    if isinstance(experiment, Outlines):
        _show_outline(spec, experiment.outline())
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


def count_trials(spec: RunSpec) -> int:
    """Count the trials that a run will have, if all goes well."""
    from streamgauge.planning import load_experiment
    from streamgauge.spec.contracts import Outlines

    experiment = load_experiment(spec)
    if isinstance(experiment, Outlines):
        return len(spec.queries) * sum(stage.trials for stage in experiment.outline())
    return len(experiment.plan())


def _show_outline(spec: RunSpec, stages: Sequence[Stage]) -> None:
    stamp = " (survey: a rough answer)" if spec.survey else ""
    print_line(f"for each of {', '.join(spec.queries)} on {spec.engine}{stamp}:")
    for stage in stages:
        print_line(f"{stage.trials:4}  {stage.what}")
    total = count_trials(spec)
    load_s = total * (spec.warmup_s + spec.duration_s)
    print_line(
        f"{total} trial(s) if all goes well, {format_duration(load_s)} of load"
        f" ({format_duration(spec.warmup_s)} + {format_duration(spec.duration_s)} each);"
        " starting, draining and validating come on top"
    )
