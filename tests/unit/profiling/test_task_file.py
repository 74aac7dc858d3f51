"""Task files: what is wrong in one is told with its file and line."""

from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.profiling.stacks import Group
from streamgauge.profiling.task_file import read_tasks, task_files


def write(folder: Path, text: str) -> str:
    file = folder / "mine.yaml"
    file.write_text(text)
    return str(file)


def test_those_of_the_package_are_read() -> None:
    assert task_files() == ["rank", "spark"]
    spark, rank = (read_tasks(name) for name in ("spark", "rank"))
    assert len(spark.frames) > 20
    assert rank.frames == spark.frames, "the same patterns under other names"
    assert rank.told("source.kafka", {}) == "Kafka"
    assert rank.told("jvm.gc", {}) == "Other"
    assert spark.role(Group("CoarseGrainedExecutorBackend", "GC Thread")) == "executor"


def test_in_one_process_threads_tell_the_executor_from_the_driver() -> None:
    spark = read_tasks("spark")
    assert spark.role(Group("SparkSubmit", "Executor task l")) == "executor"
    assert spark.role(Group("SparkSubmit", "stream execution")) == "driver"


def test_the_order_of_lines_is_the_order_of_patterns(tmp_path: Path) -> None:
    text = "title: mine\nframes:\n  z: ['one', 'two']\n  a: 'three'\nroles: {worker: '^w'}\n"
    tasks = read_tasks(write(tmp_path, text))
    assert [(each.task, each.fits.pattern) for each in tasks.frames] == [
        ("z", "one"),
        ("z", "two"),
        ("a", "three"),
    ]
    assert tasks.role(Group("w7", "main")) == "worker"
    assert tasks.role(Group("other", "w7")) == "other"


def test_a_file_may_be_made_from_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("frames:\n  a: 'x'\n")
    tasks = read_tasks(write(tmp_path, "from: base.yaml\nframes:\n  b: 'xy'\nnames: {C: [b]}\n"))
    assert [each.task for each in tasks.frames] == ["b", "a"]
    assert tasks.told("b", {}) == "C"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "frames:\n  a: 'x'\n  b: '(y'\n",
            r"mine\.yaml line 3: '\(y' of b is not a regular expression",
        ),
        ("frames:\n  a: 'x'\n  b: ['y', 'x']\n", "line 3: 'x' is never used: a has the same"),
        ("frames:\n  a: 'x'\n  a: 'y'\n", "line 3: a appears twice"),
        ("frames:\n  a: 'x*'\n", r"line 2: 'x\*' of a matches everything"),
        ("frames:\n  a:\n", "line 2: a text is missing"),
        ("frames: [x]\n", "line 1: frames must be lines of"),
        ("frames:\n  'a \\2': '(x)'\n", "line 2: .*it has no group 2"),
        ("frame:\n  a: 'x'\n", "line 1: there is no section frame"),
        ("frames:\n a: 'x'\n  b: 'y'\n", "line 3: this is not YAML"),
        ("title: nothing\n", "has no patterns"),
        ("- a\n", "line 1: it must have sections"),
        ("from: mine.yaml\n", "is made from itself"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_tasks(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_tasks(str(tmp_path / "none.yaml"))
    with pytest.raises(UsageError, match="unknown task file 'sparc'"):
        read_tasks("sparc")
