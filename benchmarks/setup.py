"""How long `make setup` takes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.registry import Measurement, at_most, benchmark

_ROOT = Path(__file__).parent.parent


def _setup_s(folder: Path, environment: Mapping[str, str] | None = None) -> float:
    begin = time.perf_counter()
    subprocess.run(["make", "setup"], cwd=folder, env=environment, check=True)
    return time.perf_counter() - begin


@benchmark("setup-again")
def setup_again() -> Iterator[Measurement]:
    """A `make setup` with nothing to do."""
    _setup_s(_ROOT)
    yield at_most("setup.again", _setup_s(_ROOT), "s", 5)


@benchmark("setup", slow=True)
def setup() -> Iterator[Measurement]:
    """A `make setup` from nothing: fresh clone, empty caches."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        clone, home = Path(folder, "clone"), Path(folder, "home")
        subprocess.run(["git", "clone", "--quiet", _ROOT, clone], check=True)
        home.mkdir()
        caches = {"HOME": str(home), "UV_CACHE_DIR": str(home / "uv"), "PIP_NO_CACHE_DIR": "1"}
        yield at_most("setup.from_nothing", _setup_s(clone, {**os.environ, **caches}), "s", 240)
