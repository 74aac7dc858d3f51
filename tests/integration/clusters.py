"""What tests of clusters share: short trials there, losses of executors, looks for secrets."""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

from streamgauge.runner.placement import cluster_place
from streamgauge.services.running import RunningService
from streamgauge.services.runtime import data_dir, runtime_dir
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.trial import LEAST_MEMORY, ResourceSpec, TrialResult, TrialSpec
from streamgauge.trial.bench import Bench, Event
from streamgauge.trial.run import run_trial
from streamgauge.validation.session import Session
from tests.integration.trials import make_spec

TWO = ResourceSpec(instances=2, instance_memory=LEAST_MEMORY)
Cluster = RunningService[SparkEndpoint]
Listen = Callable[[Event], None]


def run_there(
    spec: TrialSpec,
    bench: Bench,
    validator: Session,
    folder: Path,
    listen: Listen = lambda _: None,
) -> TrialResult:
    """Run a trial with engine and validator on the cluster of its instances."""
    validator.move(cluster_place(spec, bench.services))
    return run_trial(spec, bench, folder / "001", listen)


def run(bench: Bench, validator: Session, folder: Path, query: str, **how: Any) -> TrialResult:
    listen = how.pop("listen", lambda _: None)
    spec = make_spec(query, engine="spark", resources=TWO, partitions=2, rate=1000.0, **how)
    return run_there(spec, bench, validator, folder, listen)


def assert_recovered(result: TrialResult, kill: "Killer", mode: str) -> None:
    assert kill.killed
    assert (result.status, result.spec.mode) == ("done", mode), result.cause
    assert [each.lost_ms is None for each in result.instances].count(False) == 1
    (warning,) = [text for text in result.warnings if "was lost" in text]
    assert "127.0.0.1" in warning
    # A task that is done again may write twice, since Spark writes to Kafka at least once.
    assert (result.counts.wrong, result.counts.missing) == (0, 0)
    assert result.counts.correct == result.counts.expected > 0


def assert_failed(result: TrialResult, kill: "Killer") -> None:
    assert kill.killed
    assert result.status == "failed", (result.cause, result.counts, result.warnings)
    assert "the engine died" in (result.cause or "")
    assert "the query ended: " in (result.cause or "")


def executors(cluster: Cluster) -> list[int]:
    """Return the newest child of each worker; one of an application before may be ending."""
    workers = (psutil.Process(worker.pid) for worker in cluster.members[1:])
    return [max(each.children(), key=psutil.Process.create_time).pid for each in workers]


class Killer:
    """Kills the newest child of a worker, which is its executor, when a phase begins."""

    def __init__(self, worker: int, phase: str) -> None:
        self.killed: list[int] = []
        self._worker = psutil.Process(worker)
        self._phase = phase

    def __call__(self, event: Event) -> None:
        if event.get("phase") == self._phase and not self.killed:
            # That of an application before may still be ending.
            executor = max(self._worker.children(), key=psutil.Process.create_time)
            self.killed.append(executor.pid)
            os.kill(executor.pid, signal.SIGKILL)


class Spy:
    """Looks for secrets whenever a trial tells something."""

    def __init__(self, secrets: Iterable[str], *folders: Path) -> None:
        self.secrets = tuple(secrets)
        self.folders = folders
        self.found: set[str] = set()
        self.programs: set[str] = set()
        """Programs of Spark whose arguments were read."""

    def __call__(self, _: Event) -> None:
        for words in _arguments():
            self.programs |= {each for each in _PROGRAMS if each in " ".join(words)}
            self.found |= {word for word in words if any(each in word for each in self.secrets)}
        of_spark = (*runtime_dir().glob("spark*"), *data_dir().glob("spark*"))
        for folder in (*of_spark, *self.folders):
            self.found |= {str(file) for file in folder.rglob("*") if self._tells(file)}

    def _tells(self, file: Path) -> bool:
        """Tell whether others than this user may read a secret there."""
        try:
            closed = not file.stat().st_mode & 0o077
            if closed or not file.is_file() or file.suffix == ".jar":
                return False
            content = file.read_bytes()
        except FileNotFoundError:
            return False
        return any(each.encode() in content for each in self.secrets)


VALIDATION = "streamgauge-validation"
_PROGRAMS = (
    "deploy.master.Master",
    "deploy.worker.Worker",
    "CoarseGrainedExecutorBackend",
    VALIDATION,
    "streamgauge.engines.spark.job",
)
PROGRAMS_OF_TRIALS = set(_PROGRAMS) - {VALIDATION}


def _arguments() -> Iterable[list[str]]:
    for process in psutil.process_iter():
        try:
            yield process.cmdline()
        except psutil.Error:
            continue
