"""Whatever is typed or lies in a file: an answer or an error in words, soon, and never a bug."""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.cli.main import execute
from streamgauge.planning.settings import Settings
from tests.unit.runs import make_trial, write_run

SOON_S = 20.0
"""Far above what any of these takes, so that a machine that is busy does not matter."""
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["espbench", "rovio/join", "ysb", "q3", "1k/s", "0", "-1", "1e99", "5m", "true", "all"]
    ),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.dates(), st.binary(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, st.integers()), inner)
    ),
    max_leaves=6,
)
PRESETS = st.builds(
    lambda known, more: {"workload": "espbench", **known, **more},
    st.dictionaries(st.sampled_from([*Settings.model_fields]), VALUES, max_size=4),
    st.dictionaries(st.one_of(WORDS, st.integers()), VALUES, max_size=1),
)
OPTIONS = (
    *("--rate", "--load", "--duration", "--warmup", "--repeats", "--partitions", "--cores"),
    *("--seed", "--vary", "--objective", "--tag", "--transport", "--profile", "--preset"),
    *("--kafka", "--postgres", "--service", "--senders", "--spark-master"),
    *("-e", "-x", "-P", "-E", "-X", "-L", "-S"),
)
FLAGS = ("--quick", "--survey", "--keep", "--json")
ASSIGNED = st.builds(
    "{}={}".format,
    st.sampled_from(
        ["ring", "window", "mode", "trigger", "conf.spark.master", "acks", "redis", ""]
    ),
    WORDS,
)
LINES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(OPTIONS), st.one_of(WORDS, ASSIGNED)),
        st.tuples(st.sampled_from(FLAGS)),
        st.tuples(WORDS),
    ),
    max_size=5,
)
patient = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def answers(*arguments: str) -> None:
    """Check that a command line is answered, or refused with an error of ours."""
    began_s = time.monotonic()
    code = execute(arguments)
    assert code in (0, 2, 3), arguments
    assert time.monotonic() - began_s < SOON_S, arguments


@patient
@given(PRESETS)
def test_presets_of_any_values(preset: dict[Any, Any]) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "any.yaml"
        file.write_text(yaml.dump(preset, allow_unicode=True), encoding="utf-8", errors="replace")
        answers("run", "--preset", str(file), "--dry-run")


@patient
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_presets_of_any_bytes(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "any.yaml"
        file.write_bytes(content)
        answers("run", "--preset", str(file), "--dry-run")


@patient
@given(st.sampled_from(["espbench", "espbench/q3", "rovio/join", "ysb/redis"]), LINES)
def test_command_lines_of_any_words(target: str, line: list[tuple[str, ...]]) -> None:
    words = [word for part in line for word in part]
    answers("run", target, *words, "--dry-run")


@patient
@given(
    st.sampled_from(["run.json", "trials/001/trial.json", "live.jsonl"]),
    st.one_of(
        st.binary(max_size=200), VALUES.map(lambda value: json.dumps(value, default=str).encode())
    ),
)
def test_run_folders_with_any_bytes(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), [make_trial()])
        (run.path / name).write_bytes(content)
        answers("show", str(run.path))
        answers("runs", "--runs-dir", folder)


@pytest.mark.slow
@patient
@given(st.sampled_from(["run.json", "trials/001/trial.json"]), st.data())
def test_run_folders_with_a_bent_value(name: str, data: st.DataObject) -> None:
    """A field of the file, or of something in it, has another value than it may have."""
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), [make_trial()])
        file = run.path / name
        content = place = json.loads(file.read_bytes())
        key = data.draw(st.sampled_from(sorted(place)))
        while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(VALUES)
        file.write_text(json.dumps(content, default=str))
        command = data.draw(st.sampled_from(["show", "report", "export", "compare"]))
        others = ["-o", f"{folder}/out"] if command in ("report", "export") else []
        others = [str(run.path)] if command == "compare" else others
        answers(command, str(run.path), *others)


@pytest.mark.parametrize("more", [["--dry-run"], ["--dry-run", "--json"]])
def test_what_starts_nothing_resumes_nothing(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, [make_trial()])
    assert execute(["run", "--resume", str(run.path), *more]) == 2
    assert "--dry-run" in capsys.readouterr().err
