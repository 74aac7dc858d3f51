"""How long `make setup` and `make demo` take."""

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


@benchmark("demo", slow=True, makes_runs=True)
def demo() -> Iterator[Measurement]:
    """A `make demo` with caches filled."""
    begin = time.perf_counter()
    done = subprocess.run(["make", "demo"], cwd=_ROOT, check=False)
    taken_s = time.perf_counter() - begin if done.returncode == 0 else float("inf")
    yield at_most("demo", taken_s, "s", 360)
