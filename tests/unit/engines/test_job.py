import json
import sys
import time
from pathlib import Path

import pytest

from streamgauge.engines import job as jobs
from streamgauge.errors import NotReady, TrialFailed
from streamgauge.jobfile import SCRATCH, JobSpec, ProgressWriter
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Progress, Resources

JOB = JobSpec(
    workload="espbench",
    query="q4",
    parameters={"workplaces": [1, 3]},
    partitions=2,
    seed=7,
    options={"mode": "microbatch"},
    mode="microbatch",
    trigger_s=0.5,
    watermark_delay_ms=10,
    settings={"a": "b"},
)
ENDPOINTS = Endpoints(
    transport="kafka",
    via=KafkaEndpoint("127.0.0.1:9092"),
    inputs={"sensor1": "t1", "sensor2": "t2"},
    output="out",
    partitions=2,
    group="g",
    configuration={"prices": "t3"},
    internal={"middle": "t4"},
    services={"postgres": PostgresEndpoint("127.0.0.1", 5432, "db", "user", "secret-word", "mine")},
)
RESOURCES = Resources(cpus=(0,))


def test_a_job_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    jobs.job_file(JOB, ENDPOINTS, RESOURCES, tmp_path).write(path)
    environ = {"STREAMGAUGE_POSTGRES_PASSWORD": "secret-word"}
    file, endpoints = jobs.read(path, environ)
    assert (file.job, endpoints) == (JOB, ENDPOINTS)
    assert Path(file.progress) == tmp_path / "progress.jsonl"
    assert Path(file.scratch) == tmp_path / "scratch"
    assert list(file.cpus) == [0]


def test_client_settings_come_from_the_file_that_the_environment_names(tmp_path: Path) -> None:
    path, settings = tmp_path / "job.json", tmp_path / "kafka.properties"
    settings.write_text("security.protocol=SSL\n")
    jobs.job_file(JOB, ENDPOINTS, RESOURCES, tmp_path).write(path)
    _, endpoints = jobs.read(path, {"STREAMGAUGE_KAFKA_CONFIG": str(settings)})
    assert KafkaEndpoint.of(endpoints.via).settings == {"security.protocol": "SSL"}


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    jobs.job_file(JOB, ENDPOINTS, RESOURCES, tmp_path).write(path)
    assert "secret-word" not in path.read_text()


@pytest.mark.parametrize("text", ["", "{}", '{"workload": 1'])
def test_a_broken_job_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(NotReady, match=r"cannot read the job file .*job\.json"):
        jobs.read(path)


PROGRAM = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
job = json.load(open(sys.argv[1]))
with open(job["progress"], "a") as file:
    line = {"at": 5.0, "finished": {"sensor1": [3, 4]}, "idle": False, "cpus": sorted(
        os.sched_getaffinity(0)), "password": os.environ["STREAMGAUGE_POSTGRES_PASSWORD"]}
    file.write(json.dumps(line) + "\\n")
time.sleep(60)
"""


def test_a_job_runs_pinned_with_its_secrets_and_reports(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM]
    with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as job:
        progress = _await_progress(job)
        assert progress == Progress({("sensor1", 0): 3, ("sensor1", 1): 4}, idle=False, at=5.0)
        line = json.loads((tmp_path / "progress.jsonl").read_text())
        assert line["cpus"] == [0]
        assert line["password"] == "secret-word"
        assert job.failure() is None
        assert len(job.processes()) == 1
    assert "exit code 0" in (job.failure() or "")


def test_why_a_job_ended_is_told_with_its_log(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import sys; sys.exit('out of luck')"]
    with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as job:
        while job.failure() is None:
            time.sleep(0.01)
    assert "exit code 1" in (job.failure() or "")
    assert "out of luck" in (job.failure() or "")


def _await_progress(job: jobs.ProcessJob) -> Progress:
    while (progress := job.progress()) is None:
        assert job.failure() is None, job.failure()
        time.sleep(0.01)
    return progress


@pytest.fixture
def job(tmp_path: Path) -> jobs.ProcessJob:
    argv = [sys.executable, "-c", ""]
    with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as job:
        return job


def test_only_whole_lines_count_and_the_newest_wins(job: jobs.ProcessJob, tmp_path: Path) -> None:
    assert job.progress() is None
    path = tmp_path / "progress.jsonl"
    with ProgressWriter(path, clock=lambda: 1.5) as writer:
        writer.report({"s": [1]}, idle=False)
        writer.report({"s": [2]}, idle=True, gc_ms=9)
    assert job.progress() == Progress({("s", 0): 2}, idle=True, at=1.5)
    with path.open("a") as file:
        file.write('{"at": 2, "finished": {"s"')
        file.flush()
        assert job.progress() == Progress({("s", 0): 2}, idle=True, at=1.5)
        file.write(': [3]}, "idle": false}\n')
    assert job.progress() == Progress({("s", 0): 3}, idle=False, at=2.0)


def test_a_report_that_is_none_fails_the_trial(job: jobs.ProcessJob, tmp_path: Path) -> None:
    (tmp_path / "progress.jsonl").write_text('{"at": "noon"}\n')
    with pytest.raises(TrialFailed, match="no valid report"):
        job.progress()


def test_finished_batches_are_told_by_the_time_of_their_report(tmp_path: Path) -> None:
    path, times = tmp_path / "progress.jsonl", iter([1.5, 2.5, 3.5])
    assert jobs.finished_batches(path) == []
    with ProgressWriter(path, clock=lambda: next(times)) as writer:
        writer.report({"s": [1]}, idle=False, batch={"began_ms": 100, "took_ms": 7, "records": 4})
        writer.report({"s": [1]}, idle=True, gc_ms=3)
        writer.report({"s": [2]}, idle=False, batch={"began_ms": 1200, "took_ms": 9})
    with path.open("a") as file:
        file.write('{"at": 9.5, "batch": {"began_ms": 1')  # killed in the middle of a line
    found = jobs.finished_batches(path)
    assert [(each.at, each.batch.records) for each in found] == [(1.5, 4), (3.5, None)]


COUNTS_ITS_STARTS = """
import json, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
job = pathlib.Path(sys.argv[1])
state = job.parent / "scratch" / "checkpoint"
state.parent.mkdir(exist_ok=True)
starts = int(state.read_text()) + 1 if state.exists() else 1
state.write_text(str(starts))
with open(json.loads(job.read_text())["progress"], "a") as file:
    file.write(json.dumps({"at": starts, "finished": {"s": [starts]}, "idle": True}) + "\\n")
    file.write('{"at": 3, "fini')
    file.flush()
    time.sleep(60)
"""


def test_a_job_that_was_killed_goes_on_from_what_it_had_stored(tmp_path: Path) -> None:
    argv, scratch = [sys.executable, "-c", COUNTS_ITS_STARTS], tmp_path / SCRATCH
    with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as killed:
        _await_start(killed, 1)
        killed.kill()
        assert killed.failure() is not None
        with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as again:
            assert _await_progress(again).finished == {("s", 0): 2}  # nothing of the job before
            again.stop()
            assert (scratch / "checkpoint").read_text() == "2"
            again.clean()
            assert not scratch.exists()
    assert not scratch.exists()


def test_a_job_that_is_left_is_stopped_and_leaves_no_scratch(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", COUNTS_ITS_STARTS]
    with jobs.start_job(argv, JOB, ENDPOINTS, RESOURCES, tmp_path) as job:
        _await_start(job, 1)
        assert (tmp_path / SCRATCH).exists()
    assert job.failure() is not None
    assert not (tmp_path / SCRATCH).exists()


def _await_start(job: jobs.ProcessJob, number: int) -> None:
    while (progress := job.progress()) is None or progress.at < number:
        assert job.failure() is None, job.failure()
        time.sleep(0.01)
