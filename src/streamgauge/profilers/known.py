"""What profiling costs on this machine, as last measured with enough pairs."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from streamgauge.files import write_atomically
from streamgauge.profiling.overhead import Overhead
from streamgauge.services import runtime

_MEASURED = TypeAdapter(dict[str, list[Overhead]])
LEAST_PAIRS = 10
"""Of a measurement that is kept: fewer only describe their own trial."""


def keep(measured: Overhead) -> None:
    """Keep a measurement in place of an older one of the same back ends, if it is a good one."""
    if measured.pairs < LEAST_PAIRS:
        return
    found = _read()
    others = [each for each in found.get(platform.node(), []) if each.backends != measured.backends]
    found[platform.node()] = [*others, measured]
    write_atomically(_file(), _MEASURED.dump_json(found, indent=1))


def known(backends: list[str]) -> Overhead | None:
    """Return what was measured for these back ends; None if nothing was, or there are none."""
    if not backends:
        return None
    here = _read().get(platform.node(), [])
    return next((each for each in here if set(backends) <= set(each.backends)), None)


def _file() -> Path:
    return runtime.cache_dir() / "profiling.json"


def _read() -> dict[str, list[Overhead]]:
    with suppress(OSError, ValidationError):
        return _MEASURED.validate_json(_file().read_bytes())
    return {}
