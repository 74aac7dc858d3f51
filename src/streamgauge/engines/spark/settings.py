"""Settings of a Spark job: from the user's options to what is in force, all of it reported.

A setting's name says where it goes: `spark.…` to the session, `source.…` to each source, `sink.…`
to the Kafka sink. The rest describes: `mode`, `profile`, `trigger`, and the options of the query.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from streamgauge import units
from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.engines.spark.transports import transport_part
from streamgauge.errors import UsageError, unknown_name
from streamgauge.jobfile import JobSpec
from streamgauge.services.spark.executors import claim

Profile = Literal["tuned", "defaults"]
PROFILES: tuple[Profile, ...] = ("tuned", "defaults")

OPTIONS = ("mode", "trigger", "profile", "store", "checkpoint", "conf.KEY")
CONF = "conf."
PLACES = ("spark.", "source.", "sink.")

CONTINUOUS_CHECKPOINT_S = 1.0
SHUFFLE_PARTITIONS = 200
"""Spark's default."""

STORES = ("memory", "rocksdb")
_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}

_CHECKPOINT_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_FILE_CHECKPOINTS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

_SESSION_ZONE, _UTC = "spark.sql.session.timeZone", "UTC"

# In every profile: nothing here makes Spark faster.
_BASE = {
    # A JVM without memory is dead, but would not report it or notice that its parent is gone.
    "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    _SESSION_ZONE: _UTC,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_ONE_PROCESS = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_TUNED = {
    # Checkpoints are on a local disk, where a rename is atomic: no need for the costlier way.
    _CHECKPOINT_MANAGER: _FILE_CHECKPOINTS,
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
}

_TUNED_INSTANCES = {
    # Otherwise all that is grouped stays on the instance that reads a single input partition:
    # its tasks run where their input is, and later ones where their state is.
    "spark.shuffle.reduceLocality.enabled": "false",
}


@dataclass(frozen=True)
class Size:
    """What the settings of a job must fit."""

    cpus: int
    """Of all instances together, where there are several."""
    input_partitions: int
    """Of all input streams together."""


def resolve(
    job: JobSpec, facts: QueryFacts, size: Size
) -> tuple[Mode, float | None, dict[str, str]]:
    """Return mode, trigger interval in seconds (None for as fast as possible) and settings.

    Raises:
        UsageError: An option is unknown or makes no sense for this query.
    """
    _refuse_unknown(job.options, facts)
    _refuse_zone(job, facts)
    chosen = facts.chosen(job)
    wanted = job.options.get("mode", job.mode)
    mode = facts.choose_mode(job.query, wanted, job.least_rate)
    mode = facts.fitting(job, mode, wanted=wanted is not None)
    trigger_s = _trigger(job.options, mode)
    profile = _profile(job.options)
    carried = transport_part(job.transport)
    settings = {**_BASE, **carried.BASE}
    if profile == "tuned":
        shuffle = {"spark.sql.shuffle.partitions": str(size.cpus)}
        settings |= {**_TUNED, **carried.TUNED, **shuffle, **facts.settings}
        settings |= {} if job.instances is None else _TUNED_INSTANCES
    if profile == "tuned" and mode == "microbatch" and facts.asynchronous and trigger_s is None:
        settings |= carried.ASYNCHRONOUS
    if not on_this_machine(checkpoint(job, mode)):
        settings.pop(_CHECKPOINT_MANAGER, None)
    settings |= {**_store(job, mode, facts, chosen), **facts.needed(job), **_conf(job.options)}
    partitions = int(settings.get("spark.sql.shuffle.partitions", SHUFFLE_PARTITIONS))
    needed = slots(mode, facts, size, partitions)
    if job.instances is None:
        settings = {"spark.master": f"local[{needed}]", **_ONE_PROCESS, **settings}
    else:
        settings = {**executors(job, needed), **settings}
    settings |= {"mode": mode, "profile": profile, "trigger": _describe(mode, facts, trigger_s)}
    settings |= chosen
    return mode, trigger_s, settings


def slots(mode: Mode, facts: QueryFacts, size: Size, shuffle_partitions: int) -> int:
    """Return the number of tasks that must be able to run at once.

    The long-running modes hold a slot for every input partition for as long as they run, and
    real-time mode one for every shuffle partition as well.
    """
    needed = {
        "realtime": size.input_partitions + (shuffle_partitions if facts.stateful else 0),
        "continuous": size.input_partitions,
        "microbatch": 1,
    }
    return max(size.cpus, needed[mode])


def checkpoint(job: JobSpec, mode: Mode) -> str | None:
    """Return the URI of the folder for what the query stores, where one was named.

    Raises:
        UsageError: This job cannot use it.
    """
    uri = job.options.get("checkpoint")
    if uri is None:
        return None
    if job.instances is None:
        raise UsageError(
            "-E checkpoint is for executors that share no disk, and there are none",
            "Leave it out, or add --instances N.",
        )
    if not re.match(r"[a-z][a-z0-9+.-]*:/", uri):
        raise UsageError(
            f"-E checkpoint={uri} is not a URI", "Write it like file:/shared/folder or s3a://…."
        )
    if mode == "continuous" and not on_this_machine(uri):
        raise UsageError(
            f"-E checkpoint={uri}: the progress of mode continuous is read from its checkpoint,"
            " which must be in a folder of this machine",
            "Use a file: URI of a shared folder, or another mode.",
        )
    return uri


def on_this_machine(uri: str | None) -> bool:
    """Return whether a place is in this machine's own file system."""
    return uri is None or uri.startswith("file:")


def executors(job: JobSpec, slots: int) -> dict[str, str]:
    """Return what gives a job its instances, with room for `slots` tasks at once in all of them."""
    assert job.instances is not None
    each = max(job.instance_cores, math.ceil(slots / job.instances))
    return claim(job.instances, each, job.instance_memory)


def placed(settings: Mapping[str, str], place: str) -> dict[str, str]:
    """Return the settings of a place (`source.`), without that word; `spark.` keeps it."""
    cut = "" if place == "spark." else place
    return {
        key.removeprefix(cut): value for key, value in settings.items() if key.startswith(place)
    }


def _refuse_unknown(options: Mapping[str, str], facts: QueryFacts) -> None:
    known = (*OPTIONS, *facts.options)
    for option in options:
        if option not in known and not option.startswith(CONF):
            raise unknown_name("option of spark", option, known)


def _refuse_zone(job: JobSpec, facts: QueryFacts) -> None:
    """Refuse a time zone of the session that would change the query's answers."""
    option = f"{CONF}{_SESSION_ZONE}"
    if facts.in_utc is not None and job.options.get(option, _UTC) != _UTC:
        raise UsageError(
            f"-E {option}={job.options[option]}: the session of {job.query} must be in {_UTC},"
            f" {facts.in_utc}",
            "Leave it out.",
        )


def _store(
    job: JobSpec, mode: Mode, facts: QueryFacts, chosen: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings for where the state of a query is kept."""
    asked = job.options.get("store")
    if not facts.stateful:
        if asked is not None:
            raise UsageError(f"{job.query} has no state", "Leave out -E store.")
        return {}
    reason = "real-time mode" if mode == "realtime" else None
    for name, value in facts.rocksdb.items():
        reason = f"{name}={value}" if chosen[name] == value else reason
    store = asked or ("memory" if reason is None else "rocksdb")
    if store not in STORES:
        raise unknown_name("store of spark", store, STORES)
    if reason is not None and store != "rocksdb":
        raise UsageError(f"{reason} can keep its state only in RocksDB", "Use -E store=rocksdb.")
    return {"store": store, **(_ROCKSDB if store == "rocksdb" else {})}


def _trigger(options: Mapping[str, str], mode: Mode) -> float | None:
    if "trigger" not in options:
        return None
    if mode != "microbatch":
        raise UsageError(
            f"a trigger interval needs micro-batches, and the mode is {mode}",
            "Add -E mode=microbatch, or leave out the trigger.",
        )
    interval_s = units.parse_duration(options["trigger"])
    return interval_s or None


def _profile(options: Mapping[str, str]) -> Profile:
    wanted = options.get("profile", "tuned")
    for profile in PROFILES:
        if profile == wanted:
            return profile
    raise unknown_name("profile of spark", wanted, PROFILES)


def _conf(options: Mapping[str, str]) -> dict[str, str]:
    conf = {
        option.removeprefix(CONF): value
        for option, value in options.items()
        if option.startswith(CONF)
    }
    for key in conf:
        if not key.startswith(PLACES):
            raise UsageError(
                f"setting {key!r} has no known prefix",
                "Begin it with spark. for the session, source.kafka. or sink.kafka. for Kafka.",
            )
    if not re.fullmatch(r"local(\[.*\])?", conf.get("spark.master", "local")):
        raise UsageError(
            f"spark.master={conf['spark.master']} is not a setting of the session",
            "Use --instances N, and --spark-master URL for your own cluster.",
        )
    return conf


def _describe(mode: Mode, facts: QueryFacts, trigger_s: float | None) -> str:
    if mode == "realtime":
        return f"checkpoint every {facts.checkpoint_s:g} s"
    if mode == "continuous":
        return f"checkpoint every {CONTINUOUS_CHECKPOINT_S:g} s"
    return "as fast as possible" if trigger_s is None else f"every {trigger_s:g} s"
