"""The ceilings of the harness that were measured here, by machine and configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from streamgauge.files import write_atomically
from streamgauge.services import runtime
from streamgauge.spec.run import RunSpec

_MACHINE = ("host", "cpu", "cores", "memory_bytes", "streamgauge", "confluent-kafka")


def known(
    machine: Mapping[str, JsonValue],
    spec: RunSpec,
    inputs: Mapping[str, Sequence[str]],
    folder: Path | None = None,
) -> dict[str, JsonValue]:
    """Return the highest rate per stream that `noop` kept up with here, by query.

    Args:
        machine: Its facts.
        spec: The run that needs the ceiling.
        inputs: The input streams of each of its queries.
        folder: Where ceilings are kept.
    """
    kept = _read(_file(folder))
    found = {query: kept.get(_key(machine, spec, streams)) for query, streams in inputs.items()}
    return {query: rate for query, rate in found.items() if isinstance(rate, int | float)}


def remember(
    machine: Mapping[str, JsonValue],
    spec: RunSpec,
    streams: Sequence[str],
    rate: float,
    folder: Path | None = None,
) -> None:
    """Keep a ceiling for later runs on this machine with these settings and input streams."""
    file = _file(folder)
    kept = {**_read(file), _key(machine, spec, streams): rate}
    write_atomically(file, json.dumps(kept, indent=1) + "\n")


def _file(folder: Path | None) -> Path:
    return (folder or runtime.cache_dir()) / "ceilings.json"


def _read(file: Path) -> dict[str, JsonValue]:
    try:
        loaded = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _key(machine: Mapping[str, JsonValue], spec: RunSpec, streams: Sequence[str]) -> str:
    """Return a key for all that a ceiling depends on, except the rate itself."""
    facts = {
        "machine": [machine.get(name) for name in _MACHINE],
        "workload": spec.workload,
        "streams": list(streams),
        "resources": spec.resources.model_dump(mode="json"),
        "partitions": spec.partitions,
        "load": spec.load.model_dump(mode="json", exclude={"min_sent", "max_lateness_s", "queue"}),
        "services": spec.services,
        "service_settings": spec.service_settings,
        "transport": spec.transport,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
