"""`streamgauge run`: from options to a run, its progress and its result."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from streamgauge.cli import run_options as options
from streamgauge.cli.pairs import pairs

if TYPE_CHECKING:
    from typer import Context

    from streamgauge.planning import Asked
    from streamgauge.results.folder import RunFolder
    from streamgauge.spec.run import RunSpec

EXAMPLES = """\b
Examples:
  streamgauge run espbench --quick                    all five queries, smallest sizes
  streamgauge run espbench --rate 10k/s --duration 5m
  streamgauge run espbench/q3,q4 -e spark -E mode=microbatch -E trigger=1s
  streamgauge run espbench/q1 --rate 1k/s,10k/s --repeats 3 --objective 'latency.p99<1s'
  streamgauge run espbench/q2 --vary rate=1k/s,10k/s --vary E.trigger=0s,1s
  streamgauge run espbench/q3 -x sustainable --survey  how much can it take, roughly?
  streamgauge run theodolite/uc2 -x scalability --survey  which load needs how many instances?
  streamgauge run espbench/q1 --load steps:10k/s@60s,50k/s@60s --dry-run
  streamgauge run --preset espbench-2021 --dry-run    what a publication did, without doing it
  streamgauge run espbench --live                     the same, with a page to watch it
  streamgauge run --resume @0                         go on where the latest run was interrupted"""


def run(
    context: typer.Context,
    target: options.Target = None,
    engine: options.Engine = None,
    experiment: options.Experiment = None,
    preset: options.Preset = None,
    rate: options.Rate = None,
    shape: options.Shape = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    repeats: options.Repeats = None,
    partitions: options.Partitions = None,
    cores: options.Cores = None,
    instances: options.Instances = None,
    instance_cores: options.InstanceCores = None,
    instance_memory: options.InstanceMemory = None,
    seed: options.Seed = None,
    parameters: options.Parameters = None,
    engine_options: options.EngineOptions = None,
    experiment_options: options.ExperimentOptions = None,
    load: options.Load = None,
    vary: options.Vary = None,
    senders: options.Senders = None,
    transport: options.Transport = None,
    objectives: options.Objectives = None,
    tags: options.Tags = None,
    profile: options.Profile = None,
    quick: options.Quick = False,
    survey: options.Survey = False,
    keep: options.Keep = False,
    dry_run: options.DryRun = False,
    resume: options.Resume = None,
    kafka: options.Kafka = None,
    postgres: options.Postgres = None,
    spark: options.Spark = None,
    services: options.Services = None,
    service_settings: options.ServiceSettings = None,
    live: options.Live = False,
    as_json: options.AsJson = False,
    runs_dir: options.RunsDir = Path("runs"),
) -> int:
    """Run a workload on an engine: load, answers, verdicts, latencies.

    Services are embedded unless given by address. Every answer is checked; a result that cannot
    be trusted is called invalid.
    """
    given = {
        "engine": engine,
        "experiment": experiment,
        "preset": preset,
        "rates": None if rate is None else rate.split(","),
        "shape": shape,
        "duration": duration,
        "warmup": warmup,
        "repeats": repeats,
        "partitions": partitions,
        "cores": cores,
        "instances": instances,
        "instance_cores": instance_cores,
        "instance_memory": instance_memory,
        "seed": seed,
        "parameters": pairs("-P", parameters),
        "engine_options": pairs("-E", engine_options),
        "experiment_options": pairs("-X", experiment_options),
        "load": pairs("-L", load),
        "vary": pairs("--vary", vary),
        "senders": senders,
        "transport": transport,
        "objectives": tuple(objectives) if objectives else None,
        "tags": pairs("--tag", tags),
        "profile": profile,
        "quick": quick or None,
        "survey": survey or None,
        "keep": keep or None,
        "service_settings": pairs("-S", service_settings),
    }
    addresses = {
        "kafka": kafka,
        "postgres": postgres,
        "spark": spark,
        **(pairs("--service", services) or {}),
    }
    asked = {**_asked(context, given), **_addresses(context, addresses)}
    if resume is not None:
        _refuse_with_resume(target, {**asked, **_asked(context, {"dry_run": dry_run or None})})
        with _page(runs_dir, wanted=live):
            return _finish(_resume(resume, runs_dir), as_json=as_json)
    spec = _plan(target, asked)
    if dry_run:
        return _show_plan(spec, as_json=as_json)
    with _page(runs_dir, wanted=live):
        return _finish(_start(context, spec, runs_dir), as_json=as_json)


def _page(runs_dir: Path, *, wanted: bool) -> AbstractContextManager[object]:
    """Serve the live page during the run, if that was asked for."""
    if not wanted:
        return nullcontext()
    from streamgauge.cli.watch import serve_beside

    return serve_beside(runs_dir)


def _plan(target: str | None, asked: dict[str, Asked]) -> RunSpec:
    from streamgauge.cli.output import progress
    from streamgauge.planning import plan_run

    return plan_run(target, asked, progress)


def _addresses(context: Context, typed: dict[str, str | None]) -> dict[str, Asked]:
    """Return the addresses of given services: from the command line, then from variables."""
    from streamgauge.cli.repeat import from_environment
    from streamgauge.errors import unknown_name
    from streamgauge.planning import Asked
    from streamgauge.services import choice

    for name in typed:
        if name not in choice.names():
            raise unknown_name("service", name, choice.names())
    found = {name: Asked(text, "environment") for name, text in choice.from_environment().items()}
    for name, address in typed.items():
        if address is not None and not from_environment(context, name):
            found[name] = Asked(address, "option")
    return found


def _asked(context: Context, given: dict[str, Any]) -> dict[str, Asked]:
    """Keep the values that were given, with their origin: option or environment."""
    from streamgauge.cli.repeat import from_environment
    from streamgauge.planning import Asked

    names = {"rates": "rate"}
    return {
        name: Asked(
            value,
            "environment" if from_environment(context, names.get(name, name)) else "option",
        )
        for name, value in given.items()
        if value is not None
    }


_OPTIONS = {
    "rates": "--rate",
    "shape": "--load",
    "objectives": "--objective",
    "tags": "--tag",
    "dry_run": "--dry-run",
    "parameters": "-P",
    "engine_options": "-E",
    "experiment_options": "-X",
    "load": "-L",
    "service_settings": "-S",
}
"""Settings whose option has a different name."""


def _refuse_with_resume(target: str | None, asked: dict[str, Asked]) -> None:
    from streamgauge.errors import UsageError

    typed = [
        _OPTIONS.get(name, f"--{name}") for name, each in asked.items() if each.origin == "option"
    ]
    surplus = [*([target] if target else []), *typed]
    if surplus:
        raise UsageError(
            f"--resume takes everything from the run; leave out {', '.join(surplus)}",
            "start a new run to change something",
        )


def _start(context: Context, spec: RunSpec, runs_dir: Path) -> RunFolder:
    from streamgauge import runner
    from streamgauge.cli.progress import TerminalProgress
    from streamgauge.cli.repeat import repeat_command
    from streamgauge.planning import choose_services
    from streamgauge.services.running import Options

    with TerminalProgress(spec) as progress:
        return runner.start(
            spec,
            runs_dir,
            repeat_command(context, spec, sys.argv[1:]),
            progress.show,
            choose_services(spec, Options(progress=progress.note)),
        )


def _resume(name: str, runs_dir: Path) -> RunFolder:
    from streamgauge import runner
    from streamgauge.cli.progress import TerminalProgress
    from streamgauge.planning import choose_services
    from streamgauge.results.folder import find
    from streamgauge.services.running import Options

    folder = find(runs_dir, name)
    spec = folder.record().spec
    with TerminalProgress(spec) as progress:
        services = choose_services(spec, Options(progress=progress.note))
        return runner.resume(folder, progress.show, services)


def _show_plan(spec: RunSpec, *, as_json: bool) -> int:
    from streamgauge.cli.plan import show_plan

    show_plan(spec, as_json=as_json)
    return 0


def _finish(folder: RunFolder, *, as_json: bool) -> int:
    from streamgauge.cli.report import leave_report
    from streamgauge.cli.show import show_run
    from streamgauge.errors import Interrupted
    from streamgauge.measure.verdicts import exit_code
    from streamgauge.objectives import parse_objective
    from streamgauge.planning import load_experiment
    from streamgauge.spec.experiment import Concludes

    show_run(folder, as_json=as_json)
    leave_report(folder)
    record = folder.record()
    experiment = load_experiment(record.spec)
    if isinstance(experiment, Concludes):
        interrupted = record.status == "interrupted"
        return Interrupted.exit_code if interrupted else experiment.exit_code(folder.trials())
    objectives = [parse_objective(text) for text in record.spec.objectives]
    return exit_code(
        folder.trials(), interrupted=record.status == "interrupted", objectives=objectives
    )
