"""The options of `streamgauge run`: names, meanings, and the variable that sets each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _option(variable: str | None, *flags: str, **facts: Any) -> Any:
    """Describe an option, and the variable STREAMGAUGE_… that also sets it, if there is one."""
    return typer.Option(*flags, envvar=variable and f"STREAMGAUGE_{variable}", **facts)


Target = Annotated[
    str | None, typer.Argument(metavar="WORKLOAD[/QUERY,…]", help="See `streamgauge list`.")
]
Engine = Annotated[
    str | None, _option("ENGINE", "-e", "--engine", help="System to measure [default: spark].")
]
Experiment = Annotated[
    str | None,
    _option("EXPERIMENT", "-x", "--experiment", help="What to find out [default: fixed-rate]."),
]
Preset = Annotated[
    str | None,
    _option("PRESET", help="A complete configuration by its name, or your own YAML file."),
]
Rate = Annotated[
    str | None,
    _option(
        "RATE",
        help="Records per second per input stream; several: 1k/s,10k/s [default: 1k/s]."
        " A search takes its limits LOW,HIGH or a first guess.",
    ),
]
Shape = Annotated[
    str | None,
    _option(
        "LOAD",
        "--load",
        metavar="SHAPE",
        help="Instead of a constant rate: poisson:10k/s, steps:10k/s@60s,50k/s@60s,"
        " ramp:1k/s..50k/s@5m, sine:…, bursts:…, fluctuate:…, replay:FILE.",
    ),
]
Duration = Annotated[str | None, _option("DURATION", help="Measured time [default: 5m].")]
Warmup = Annotated[
    str | None, _option("WARMUP", help="Load before the measured time [default: 90s].")
]
Repeats = Annotated[
    str | None,
    _option("REPEATS", metavar="INTEGER", help="How often to run each trial [default: 1]."),
]
Partitions = Annotated[
    str | None,
    _option("PARTITIONS", metavar="INTEGER", help="Partitions of each topic [default: 1]."),
]
Cores = Annotated[
    str | None, _option("CORES", metavar="INTEGER", help="CPUs for the engine [default: all].")
]
Instances = Annotated[
    str | None,
    _option(
        "INSTANCES",
        metavar="INTEGER",
        help="Spark executors, on a cluster [default: none, one process].",
    ),
]
InstanceCores = Annotated[
    str | None,
    _option("INSTANCE_CORES", metavar="INTEGER", help="CPUs of each instance [default: 1]."),
]
InstanceMemory = Annotated[
    str | None,
    _option("INSTANCE_MEMORY", metavar="SIZE", help="Memory of each instance [default: 2GiB]."),
]
Seed = Annotated[
    str | None, _option("SEED", metavar="INTEGER", help="Seed of all random data [default: 1].")
]
Parameters = Annotated[
    list[str] | None,
    _option("PARAMETERS", "-P", metavar="KEY=VALUE", help="Parameter of the workload."),
]
EngineOptions = Annotated[
    list[str] | None,
    _option(
        "ENGINE_OPTIONS",
        "-E",
        metavar="KEY=VALUE",
        help="Option of the engine. spark: mode=realtime, trigger=4s, conf.KEY=VALUE."
        " reference: fault=NAME, one of drop, late, repeat, alter-value, alter-id, exchange,"
        " extra, p-off, shift, unset, early, touch, die, hang; and reorder, which is not an error.",
    ),
]
ExperimentOptions = Annotated[
    list[str] | None,
    _option(
        "EXPERIMENT_OPTIONS",
        "-X",
        metavar="KEY=VALUE",
        help="Parameter of the experiment: survey=true, after=90%,50%, metric=capacity.",
    ),
]
Load = Annotated[
    list[str] | None,
    _option(
        "LOAD_OPTIONS",
        "-L",
        metavar="KEY=VALUE",
        help="Option of the load: acks, batch, linger, compression …",
    ),
]
Vary = Annotated[
    list[str] | None,
    _option(
        "VARY",
        metavar="FACTOR=VALUES",
        help="Try several values: rate=1k/s,10k/s, partitions=1,2, cores, instances,"
        " instance_cores, instance_memory, seed, duration, E.OPTION, P.PARAMETER, L.OPTION."
        " With several factors, all combinations.",
    ),
]
Senders = Annotated[
    str | None,
    _option(
        "SENDERS",
        metavar="processes|spark=URL",
        help="What sends the load: processes on this machine, or tasks of a Spark cluster.",
    ),
]
Transport = Annotated[str | None, _option("TRANSPORT", help="How records travel [default: kafka].")]
Objectives = Annotated[
    list[str] | None,
    _option(
        "OBJECTIVE",
        "--objective",
        metavar="METRIC<BOUND",
        help="A bound that must hold: 'latency.p99<2s', 'lag.trend<0.05*rate', or a multiple of"
        " cores or instances; exit code 1 if it does not.",
    ),
]
Tags = Annotated[
    list[str] | None,
    _option("TAG", "--tag", metavar="KEY=VALUE", help="A name to find the run by."),
]
Profile = Annotated[
    str | None,
    _option(
        "PROFILE", metavar="NAME", help="Run a profiler on the engine during the measured time."
    ),
]
Quick = Annotated[
    bool,
    _option(
        "QUICK",
        "--quick",
        help="Smallest sizes: shows that everything works, but is not a measurement.",
    ),
]
Survey = Annotated[
    bool,
    _option(
        "SURVEY",
        "--survey",
        help="Search with trials of 30 s + 60 s for a rough answer; short for -X survey=true.",
    ),
]
Keep = Annotated[
    bool, _option("KEEP", "--keep", help="Keep all records, for `streamgauge validate`.")
]
DryRun = Annotated[bool, _option("DRY_RUN", "--dry-run", help="Show the trials, start nothing.")]
Resume = Annotated[
    str | None, _option("RESUME", metavar="RUN", help="Continue an interrupted run.")
]
Kafka = Annotated[
    str | None,
    _option(
        "KAFKA", metavar="HOST:PORT", help="Address of your own Kafka [default: an embedded one]."
    ),
]
Postgres = Annotated[
    str | None,
    _option(
        "POSTGRES", metavar="URL", help="Address of your own PostgreSQL [default: an embedded one]."
    ),
]
Spark = Annotated[
    str | None,
    _option(
        "SPARK",
        "--spark-master",
        metavar="URL",
        help="Address of your own Spark cluster, for --instances: spark://HOST:PORT,"
        " k8s://…, yarn [default: an embedded one].",
    ),
]
Services = Annotated[
    list[str] | None,
    _option(
        None,
        "--service",
        metavar="NAME=ADDRESS",
        help="Address of your own service: redis=redis://HOST:6379; as a variable:"
        " STREAMGAUGE_<NAME>.",
    ),
]
ServiceSettings = Annotated[
    list[str] | None,
    _option(
        "SERVICE_SETTINGS",
        "-S",
        metavar="NAME.KEY=VALUE",
        help="Setting of a service: kafka.replication=3.",
    ),
]
Live = Annotated[bool, _option("LIVE", "--live", help="Show the run on a web page while it runs.")]
AsJson = Annotated[bool, _option("JSON", "--json", help="Print the result as one JSON object.")]
RunsDir = Annotated[Path, _option("RUNS_DIR", help="Folder of all runs.")]
