"""Profiles of real processes: small Java and Python programs, and a query on Spark."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamgauge.cli.main import execute
from streamgauge.probes.processes import read_processes
from streamgauge.profilers.census import trees
from streamgauge.profilers.profiler import Auto
from streamgauge.profiling.costs import costs
from streamgauge.profiling.profile import Profile, read_profile
from streamgauge.profiling.task_file import read_tasks
from streamgauge.services.java import find_java
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec

pytestmark = pytest.mark.integration

JAVA = """
public class Busy {
    static long parse(long x) {
        long sum = 0;
        for (int i = 0; i < 2000; i++) sum += Long.toString(x + i).hashCode();
        return sum;
    }
    static long window(long x) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) text.append(x + i);
        return text.length();
    }
    public static void main(String[] words) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + 60_000_000_000L, sum = 0;
        while (System.nanoTime() < end) sum += parse(sum) + window(sum);
    }
}
"""
PYTHON = """
def udf():
    return sum(number * number for number in range(1000))
while True:
    udf()
"""
LATE = """
import subprocess, sys
sys.stdin.readline()
subprocess.run(sys.argv[1:])
"""
TASKS = """
title: what Busy does
frames:
  parse: 'Busy\\.parse'
  window: 'Busy\\.window'
  udf: '^udf'
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("busy")
    (folder / "Busy.java").write_text(JAVA)
    (folder / "busy.py").write_text(PYTHON)
    (folder / "late.py").write_text(LATE)
    (folder / "tasks.yaml").write_text(TASKS)
    return folder


@contextmanager
def java(busy: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(find_java().executable), *options, str(busy / "Busy.java")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child
        finally:
            child.kill()


def test_any_running_job(busy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = [sys.executable, str(busy / "busy.py")]
    with java(busy) as one, subprocess.Popen(python) as two:
        pids = ["--pid", str(one.pid), "--pid", str(two.pid)]
        tasks = ["--tasks", str(busy / "tasks.yaml"), "--for", "3s", "--json"]
        code = execute(["profile", *pids, *tasks, "-o", str(tmp_path / "found")])
        two.kill()
    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(told["backends"]) == {"async-profiler", "py-spy"}
    cpu_s = {(each["role"], each["task"]): each["cpu_s"] for each in told["costs"]}
    assert cpu_s["Busy", "parse"] > cpu_s["Busy", "window"] > 0
    assert cpu_s["python busy.py", "udf"] > 0.05
    assert not [note for note in told["notes"] if "cannot sample it" in note or "nothing" in note]
    assert "data-flame" in (tmp_path / "found" / "profile.html").read_text()
    assert told["own_cpu_s"] > 0


def look(pid: int, folder: Path, until: "subprocess.Popen[bytes] | None" = None) -> Profile:
    auto = Auto()
    folder.mkdir()
    with auto.record(lambda: [pid], folder):
        if until is not None:
            until.kill()
            until.wait()
    auto.read()
    found = read_profile(folder)
    assert found is not None
    return found


def test_a_java_that_may_not_be_attached_to_has_its_cpu_time_alone(
    busy: Path, tmp_path: Path
) -> None:
    with java(busy, "-XX:+DisableAttachMechanism") as child:
        found = look(child.pid, tmp_path / "found")
    assert found.backends == ["procfs"] or found.record.processes == []
    refused = [note.partition(": ")[2].partition(":")[0] for note in found.record.notes]
    backends = ("async-profiler", "perf", "jfr")
    assert refused == [f"{each} cannot sample it" for each in backends]


def test_a_java_that_ends_while_it_is_sampled(busy: Path, tmp_path: Path) -> None:
    with java(busy) as child:
        found = look(child.pid, tmp_path / "found", until=child)
    assert found.record.notes == [
        "Busy: nothing was sampled: the Java process ended while it was sampled"
    ]


def test_a_java_that_appears_in_the_middle(busy: Path, tmp_path: Path) -> None:
    command = [sys.executable, "late.py", str(find_java().executable), "Busy.java"]
    auto = Auto()
    with subprocess.Popen(
        command, cwd=busy, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        with auto.record(lambda: [first.pid], tmp_path):
            first.stdin.write(b"go\n")
            first.stdin.flush()
            first.stdout.readline()
            (late,) = (pid for pid in trees(read_processes(), [first.pid]) if pid != first.pid)
            begun_s = read_processes()[late].cpu_s
            while read_processes()[late].cpu_s < begun_s + 2:
                pass
        os.kill(late, signal.SIGKILL)
    auto.read()
    found = read_profile(tmp_path)
    assert found is not None
    (seen,) = (each for each in found.record.processes if each.name == "Busy")
    assert (seen.backend, seen.samples > 10) == ("async-profiler", True)


@pytest.mark.spark
def test_a_query_on_spark(bench: Bench, tmp_path: Path) -> None:
    spec = make_spec("q3", engine="spark", profile="auto", duration_s=8.0, warmup_s=4.0)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    found = read_profile(tmp_path / "001" / "profile")
    assert found is not None
    assert {"async-profiler", "py-spy"} <= set(found.backends)
    names = {each.name for each in found.record.processes}
    assert {"SparkSubmit", "streamgauge.engines.spark.job"} <= names
    told = {each.task: each.cpu_s for each in costs(found, read_tasks("spark")).by_task()}
    assert told["source.kafka"] > 0
    assert told.get("unmatched", 0.0) <= 0.1 * sum(told.values())
    total = result.metrics["cost.total"]
    assert 1e-6 < total < 1e-2
    parts = [v for name, v in result.metrics.items() if name.startswith("cost.")]
    assert sum(parts) == pytest.approx(2 * total)
    assert "== Physical Plan ==" in (tmp_path / "001" / "plan.txt").read_text()
    assert not list((tmp_path / "001" / "profile").glob("raw*"))


def test_a_backlog_is_profiled_while_it_is_worked_off(bench: Bench, tmp_path: Path) -> None:
    times = {"rate": 20_000.0, "duration_s": 3.0, "warmup_s": 0.0, "tail_s": 0.0}
    spec = make_spec("q3", engine="reference", profile="auto", backlog=True, **times)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert read_profile(tmp_path / "001" / "profile") is not None
    assert 0 < result.metrics["cost.total"] < 1e-3
