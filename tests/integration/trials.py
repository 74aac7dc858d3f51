"""Short trials on the services of the tests."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from streamgauge.planning import load_workload, settle
from streamgauge.services import runtime
from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Services
from streamgauge.spec.trial import LoadSpec, TrialResult, TrialSpec
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.validation.session import Session

# A busy machine may delay a record; what these tests show does not depend on it.
PATIENT = LoadSpec(max_lateness_s=30.0, min_sent=0.5)
COMMAND = [sys.executable, "-m", "streamgauge"]


def make_bench(services: dict[str, RunningService[Any]], validator: Session) -> Bench:
    return Bench(
        services=services,
        spark=validator.get,
        cache=runtime.cache_dir() / "data",
        prefix="test",
    )


@dataclass(frozen=True)
class Lent:
    """A service of the tests as one of a run, which leaves it up."""

    name: str
    running: RunningService[Any]
    needs: tuple[str, ...] = ()

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], RunningService[Any]]:
        return lambda: self.running


def make_spec(query: str, *, workload_name: str = "espbench", **changes: Any) -> TrialSpec:
    workload = load_workload(workload_name)
    parameters = {**workload.quick, **changes.pop("parameters", {})}
    fields: dict[str, Any] = {
        "number": 1,
        "workload": workload_name,
        "query": query,
        "parameters": workload.parameters(**parameters).model_dump(mode="json"),
        "engine": "reference",
        "rate": 5000.0,
        "duration_s": 3.0,
        "warmup_s": 0.5,
        "tail_s": 0.5,
        "quick": True,
        "load": PATIENT,
    }
    return settle(TrialSpec(**{**fields, **changes}))


def run(bench: Bench, folder: Path, query: str, **changes: Any) -> TrialResult:
    options = {key: str(value) for key, value in changes.pop("options", {}).items()}
    spec = make_spec(query, engine_options=options, **changes)
    return run_trial(spec, bench, folder / "001", lambda _: None)


def ours(part: str) -> list[psutil.Process]:
    """Return our descendants with that in their command line."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if part in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return found
