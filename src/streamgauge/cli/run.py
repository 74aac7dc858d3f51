"""`streamgauge run`: from options to a run, its progress and its result."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
  streamgauge run espbench/q1 --load steps:10k/s@60s,50k/s@60s --dry-run
  streamgauge run --preset espbench-2021 --dry-run    what a publication did, without doing it
  streamgauge run espbench --live                     the same, with a page to watch it
  streamgauge run --resume @0                         go on where the latest run was interrupted"""

_RUN = "What to run"
_LOAD = "Load"
_WHERE = "Where"
_OUT = "Results"


def _env(name: str) -> str:
    return f"STREAMGAUGE_{name}"


def run(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(metavar="WORKLOAD[/QUERY,…]", help="See `streamgauge list`."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--engine",
            help="System to be measured [default: spark].",
            envvar=_env("ENGINE"),
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            "-x",
            "--experiment",
            help="What to find out [default: fixed-rate].",
            envvar=_env("EXPERIMENT"),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A complete configuration by its name, or your own YAML file.",
            envvar=_env("PRESET"),
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            help="Records per second and input stream; several: 1k/s,10k/s [default: 1k/s]."
            " A search takes its limits LOW,HIGH or a first guess.",
            envvar=_env("RATE"),
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="SHAPE",
            help="Instead of a constant rate: poisson:10k/s, steps:10k/s@60s,50k/s@60s,"
            " ramp:1k/s..50k/s@5m, sine:…, bursts:…, fluctuate:…, replay:FILE.",
            envvar=_env("LOAD"),
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(help="Measured time [default: 5m].", envvar=_env("DURATION")),
    ] = None,
    warmup: Annotated[
        str | None,
        typer.Option(help="Load before the measured time [default: 90s].", envvar=_env("WARMUP")),
    ] = None,
    repeats: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER",
            help="How often to run each trial [default: 1].",
            envvar=_env("REPEATS"),
        ),
    ] = None,
    partitions: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER",
            help="Partitions of each topic [default: 1].",
            envvar=_env("PARTITIONS"),
        ),
    ] = None,
    cores: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER", help="CPUs for the engine [default: all].", envvar=_env("CORES")
        ),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER",
            help="Spark executors, on a cluster [default: none, one process].",
            envvar=_env("INSTANCES"),
        ),
    ] = None,
    instance_cores: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER",
            help="CPUs of each instance [default: 1].",
            envvar=_env("INSTANCE_CORES"),
        ),
    ] = None,
    instance_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of each instance [default: 2GiB].",
            envvar=_env("INSTANCE_MEMORY"),
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER",
            help="Seed of all random data [default: 1].",
            envvar=_env("SEED"),
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "-P",
            metavar="KEY=VALUE",
            help="Parameter of the workload.",
            envvar=_env("PARAMETERS"),
        ),
    ] = None,
    engine_options: Annotated[
        list[str] | None,
        typer.Option(
            "-E",
            metavar="KEY=VALUE",
            help="Option of the engine. spark: mode=realtime, trigger=4s, conf.KEY=VALUE."
            " reference: fault=NAME, one of drop, late, repeat, alter-value, alter-id, exchange,"
            " extra, p-off, shift, unset, early, touch, die, hang; and reorder, which is no error.",
            envvar=_env("ENGINE_OPTIONS"),
        ),
    ] = None,
    experiment_options: Annotated[
        list[str] | None,
        typer.Option(
            "-X",
            metavar="KEY=VALUE",
            help="Parameter of the experiment: survey=true, after=90%,50%.",
            envvar=_env("EXPERIMENT_OPTIONS"),
        ),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            "-L",
            metavar="KEY=VALUE",
            help="Option of the load: acks, batch, linger, compression …",
            envvar=_env("LOAD_OPTIONS"),
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=VALUES",
            help="Try several values: rate=1k/s,10k/s, partitions=1,2, cores, instances,"
            " instance_cores, instance_memory, seed, duration, E.OPTION, P.PARAMETER, L.OPTION."
            " Of several factors all combinations.",
            envvar=_env("VARY"),
        ),
    ] = None,
    senders: Annotated[
        str | None,
        typer.Option(
            metavar="processes|spark=URL",
            help="What sends the load: processes on this machine, or tasks of a Spark cluster.",
            envvar=_env("SENDERS"),
        ),
    ] = None,
    transport: Annotated[
        str | None,
        typer.Option(help="How records travel [default: kafka].", envvar=_env("TRANSPORT")),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="METRIC<BOUND",
            help="A bound that must hold: 'latency.p99<2s'; exit code 1 if it does not.",
            envvar=_env("OBJECTIVE"),
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", metavar="KEY=VALUE", help="A name to find the run by.", envvar=_env("TAG")
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Run a profiler on the engine during the measured time.",
            envvar=_env("PROFILE"),
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Smallest sizes: shows that everything works, is no measurement.",
            envvar=_env("QUICK"),
        ),
    ] = False,
    survey: Annotated[
        bool,
        typer.Option(
            "--survey",
            help="Search by trials of 30 s + 60 s, a rough answer: short for -X survey=true.",
            envvar=_env("SURVEY"),
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep all records, for `streamgauge validate`.", envvar=_env("KEEP")
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the trials, start nothing.", envvar=_env("DRY_RUN")),
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Go on with an interrupted run.", envvar=_env("RESUME")),
    ] = None,
    kafka: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address of your own Kafka [default: an embedded one].",
            envvar=_env("KAFKA"),
        ),
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of your own PostgreSQL [default: an embedded one].",
            envvar=_env("POSTGRES"),
        ),
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark-master",
            metavar="URL",
            help="Address of your own Spark cluster, for --instances: spark://HOST:PORT,"
            " k8s://…, yarn [default: an embedded one].",
            envvar=_env("SPARK"),
        ),
    ] = None,
    services: Annotated[
        list[str] | None,
        typer.Option(
            "--service",
            metavar="NAME=ADDRESS",
            help="Address of a service of yours: redis=redis://HOST:6379; as a variable:"
            " STREAMGAUGE_<NAME>.",
        ),
    ] = None,
    service_settings: Annotated[
        list[str] | None,
        typer.Option(
            "-S",
            metavar="NAME.KEY=VALUE",
            help="Setting of a service: kafka.replication=3.",
            envvar=_env("SERVICE_SETTINGS"),
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Show the run on a web page while it goes on.", envvar=_env("LIVE")
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the result as one JSON object.", envvar=_env("JSON")),
    ] = False,
    runs_dir: Annotated[
        Path, typer.Option(help="Folder of all runs.", envvar=_env("RUNS_DIR"))
    ] = Path("runs"),
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
    """Serve the live page as long as the run takes, where that was asked for."""
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
    """Keep what was given, with the way it came: option or environment."""
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
"""Settings whose option has another name."""


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
    from streamgauge.metrics import parse_objective
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
