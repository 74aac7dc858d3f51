"""What a run would do: `--dry-run`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from streamgauge.cli.output import print_json, print_line
from streamgauge.units import format_duration, format_rate, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamgauge.spec.experiment import Stage
    from streamgauge.spec.run import RunSpec
    from streamgauge.spec.trial import TrialSpec

_BLOCKS = "▁▂▃▄▅▆▇█"
_COLUMNS = 60
_FINER = 10
"""Samples per column, which shows their maximum: a short burst is drawn at its full height."""


def show_plan(spec: RunSpec, *, as_json: bool) -> None:
    """Print the trials and the least time that they will take."""
    from streamgauge.planning import cautions, load_experiment, settle
    from streamgauge.results.events import count_trials
    from streamgauge.spec.experiment import MayBeRough, Outlines

    experiment = load_experiment(spec)
    trials, total = [settle(trial) for trial in experiment.plan()], count_trials(experiment)
    stages = experiment.outline() if isinstance(experiment, Outlines) else ()
    if as_json:
        planned = [trial.model_dump(mode="json") for trial in trials]
        outline = [asdict(stage) for stage in stages]
        written = {"trials": total, "outline": outline, "planned": planned}
        written |= {"cautions": cautions(spec)}
        print_json({"spec": spec.model_dump(mode="json"), **written})
        return
    for caution in cautions(spec):
        print_line(f"caution: {caution}")
    for profiler in dict.fromkeys(trial.profile for trial in trials if trial.profile):
        print_line(f"profiler {profiler} watches the engine during the measured time")
    if stages:
        rough = experiment.rough() if isinstance(experiment, MayBeRough) else None
        _show_outline(spec, stages, total, f" ({rough})" if rough else "")
        for trial in trials:
            _show_settled(trial, f"  {trial.query}, first trial: ")
        return
    for trial in trials:
        how = _way_to_send(trial) if trial.engine is None else _engine(trial)
        print_line(
            f"{trial.number:3}  {format_rate(trial.rate):>8}  {how},"
            f" {trial.partitions} partition(s), repeat {trial.repeat}{_varied(trial)}"
        )
        _show_settled(trial, " " * 15)
    if spec.shape is not None:
        print_line(_chart(trials[0]))
    print_line(f"{len(trials)} trial(s), {_lasting(trials)}")


def _lasting(trials: Sequence[TrialSpec]) -> str:
    """Say what takes time; the time for a backlog depends on the engine, as it has no pace."""
    load = format_duration(sum(trial.load_s for trial in trials))
    if any(trial.backlog for trial in trials):
        return (
            f"with backlogs of {load} of load, sent as fast as possible;"
            " starting, working off and validating take extra time"
        )
    return f"at least {load} of load; starting, draining and validating take extra time"


def _show_outline(spec: RunSpec, stages: Sequence[Stage], total: int, stamp: str) -> None:
    print_line(f"for each of {', '.join(spec.queries)} {spec.on_engine}{stamp}:")
    for stage in stages:
        print_line(f"{stage.trials:4}  {stage.what}")
    each = spec.trial(1, spec.queries[0], spec.rates[0])
    parts = " + ".join(map(format_duration, (each.warmup_s, each.duration_s, each.tail_s)))
    print_line(
        f"{total} trial(s) if all goes well, {format_duration(total * each.load_s)} of load"
        f" ({parts} each); starting, draining and validating take extra time"
    )


def _engine(trial: TrialSpec) -> str:
    given = trial.resources
    cut = "" if given.instances is None else f" in {given.told()}"
    return f"{trial.query:9} {trial.engine} {trial.mode or 'plain'}{cut}"


def _varied(trial: TrialSpec) -> str:
    """Name the trial's values of the varied factors that are not shown already."""
    shown = {"rate", "partitions"}
    varied = ((name, value) for name, value in trial.factors.items() if name not in shown)
    return "".join(f", {name}={value}" for name, value in varied)


def _show_settled(trial: TrialSpec, lead: str) -> None:
    """Print what planning changed, and what is done during the trial."""
    for note in trial.notes:
        print_line(f"{lead}{note}")
    for act in trial.acts:
        print_line(f"{lead}{act}")


def _way_to_send(trial: TrialSpec) -> str:
    load = trial.load
    senders = "a sender per core" if load.senders is None else f"{load.senders} sender(s)"
    return (
        f"{senders} from {load.source}, acks {load.acks},"
        f" batch {format_size(load.batch)}, linger {format_duration(load.linger_s)}"
    )


def _chart(trial: TrialSpec) -> str:
    """Draw a load's rate over the measured time, from 0 to its maximum."""
    from streamgauge.load import arrivals

    rates = arrivals.profile(trial, _COLUMNS * _FINER)
    columns = [max(rates[k : k + _FINER]) for k in range(0, len(rates), _FINER)]
    blocks = "".join(_block(rate / max(rates)) for rate in columns)
    return (
        f"\n     {blocks}  {format_rate(min(rates))} to {format_rate(max(rates))}"
        f" over {format_duration(trial.duration_s)}\n"
    )


def _block(share: float) -> str:
    return _BLOCKS[round(share * (len(_BLOCKS) - 1))] if share else " "
