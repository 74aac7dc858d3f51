"""What an engine's process is told, and how it reports."""

import dataclasses
import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.jobfile import VERSION, JobFile, JobFileError, JobSpec, secret, variable

words = st.text(max_size=8)
texts = st.dictionaries(words, words, max_size=3)
numbers = st.integers(0, 10**9)
plain = st.none() | st.booleans() | numbers | words
values = st.dictionaries(words, plain | st.lists(plain, max_size=3), max_size=3)
parts = st.dictionaries(words, values, max_size=3)
seconds = st.none() | st.floats(0, 1e9)

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("workload", "query", "transport", "group", "progress", "scratch"), words),
    **dict.fromkeys(("options", "settings", "inputs", "configuration", "internal"), texts),
    **dict.fromkeys(("partitions", "seed", "watermark_delay_ms", "quarter_records"), numbers),
    **dict.fromkeys(("parameters", "via"), values),
    **dict.fromkeys(("mode", "output"), st.none() | words),
    **dict.fromkeys(("trigger_s", "checkpoint_s"), seconds),
    **dict.fromkeys(("cores", "instances", "instance_slots"), st.none() | numbers),
    **dict.fromkeys(("instance_cores", "instance_memory"), numbers),
    "checkpoint": st.none() | words,
    "least_rate": st.floats(0, 1e9),
    "closed_by_records": st.booleans(),
    "services": parts,
    "cpus": st.lists(numbers, max_size=4),
}
files = st.builds(JobFile, **FIELDS)
FILE = JobFile(
    workload="espbench",
    query="q3",
    parameters={},
    partitions=1,
    seed=1,
    options={},
    via={"bootstrap": "127.0.0.1:9092"},
    inputs={"sensor1": "t"},
    output=None,
    group="g",
    progress="/trial/progress.jsonl",
    scratch="/trial/scratch",
)


def test_every_field_is_looked_at_here() -> None:
    assert {*FIELDS, "version"} == set(get_type_hints(JobFile))


@given(file=files)
def test_what_is_written_is_read_back(file: JobFile, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("job") / "job.json"
    file.write(path)
    assert JobFile.read(path) == file


@given(files)
def test_the_job_is_what_is_run_without_where(file: JobFile) -> None:
    job = file.job
    assert type(job) is JobSpec
    assert dataclasses.asdict(job).items() <= dataclasses.asdict(file).items()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": VERSION + 1}, f"its version is {VERSION + 1}, not {VERSION}"),
        ({"version": None}, f"its version is None, not {VERSION}"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**dataclasses.asdict(FILE), **change}))
    with pytest.raises(JobFileError, match=reason):
        JobFile.read(path)


@pytest.mark.parametrize("text", [None, "", "[]", "7", "\x00"])
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "job.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(JobFileError, match=r"cannot read the job file .*job\.json"):
        JobFile.read(path)


def test_a_field_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    content = dataclasses.asdict(FILE)
    del content["inputs"]
    path.write_text(json.dumps(content))
    with pytest.raises(JobFileError, match="inputs"):
        JobFile.read(path)


def test_secrets_are_named_by_a_rule() -> None:
    assert variable("kafka") == "STREAMGAUGE_KAFKA"
    assert variable("my-store", "password") == "STREAMGAUGE_MY_STORE_PASSWORD"
    environ = {"STREAMGAUGE_MY_STORE_PASSWORD": "s3cret"}
    assert secret("my-store", environ=environ) == "s3cret"
    assert secret("my-store", "token", environ) == ""
