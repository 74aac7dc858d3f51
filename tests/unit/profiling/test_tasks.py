"""Which task a stack belongs to: from the leaf to the root, the first pattern that fits."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.profiling.plan import read_plan
from streamgauge.profiling.stacks import Group, Sample, gather
from streamgauge.profiling.task_file import read_tasks
from streamgauge.profiling.tasks import UNMATCHED, Pattern, Tasks, assign
from tests.unit.profiling.samples import sample, samples, tasks


def told(
    taken: Sequence[Sample], by: Tasks, plan: dict[int, tuple[str, ...]] | None = None
) -> list[str]:
    assigned = assign(gather(taken), by, plan or {})
    return [assigned.tasks[number] for number in assigned.task.tolist()]


def test_the_innermost_frame_decides_then_the_order_of_patterns() -> None:
    by = tasks(outer="^out", inner="^in", both="^(in|out)")
    assert told([sample("p;t;out;in;x")], by) == ["inner"]
    assert told([sample("p;t;in;out;x")], by) == ["outer"]
    assert told([sample("p;t;x;y")], by) == [UNMATCHED]


def test_a_thread_that_does_one_thing_only_needs_no_frames() -> None:
    by = Tasks(
        "toy",
        "toy",
        threads=(Pattern("gc", re.compile("^GC "), 1),),
        frames=tasks(work="^work").frames,
    )
    stacks = [sample("p;GC Thread;work"), sample("p;GC Thread"), sample("p;main;work")]
    assert told(stacks, by) == ["gc", "gc", "work"]
    assert by.of_thread(Group("p", "GC Thread"), {}) == "gc"
    assert by.of_thread(Group("p", "main"), {}) is None


def test_a_leaf_pattern_looks_at_the_leaf_alone() -> None:
    by = Tasks(
        "toy",
        "toy",
        frames=tasks(work="work").frames,
        leaves=(Pattern("wait", re.compile("^futex"), 9),),
    )
    stacks = [sample("p;t;work;futex"), sample("p;t;futex;work"), sample("p;t;futex;x;work;y")]
    assert told(stacks, by) == ["wait", "work", "work"]


def test_broad_patterns_see_only_what_nothing_else_fits() -> None:
    broad = (Pattern("java", re.compile("^java"), 5),)
    by = Tasks("toy", "toy", frames=tasks(work="^work").frames, otherwise=broad)
    stacks = [sample("p;t;work;java.util.Map"), sample("p;t;java.util.Map;x")]
    assert told(stacks, by) == ["work", "java"]


def test_patterns_that_decided_for_no_stack_are_told() -> None:
    by = tasks(used="^a", hidden="^a", absent="^z")
    unused = assign(gather([sample("p;t;a")]), by, {}).unused
    assert [each.task for each in unused] == ["hidden", "absent"]


def test_a_fused_stage_is_named_by_its_operators() -> None:
    plan = read_plan("*(2) Project [x]\n+- *(2) Filter (y)\n   +- *(1) HashAggregate(keys=[])\n")
    assert plan == {2: ("Filter", "Project"), 1: ("HashAggregate",)}
    stage = [sample("p;t;x.GeneratedClass$GeneratedIteratorForCodegenStage2.processNext")]
    assert told(stage, read_tasks("spark"), plan) == ["fused: Filter+Project"]
    assert told(stage, read_tasks("rank"), plan) == ["fused: Filter+Projection"]
    assert told(stage, read_tasks("rank"), {2: ("Filter",)}) == ["Filter"]
    assert told(stage, read_tasks("spark")) == ["fused stage 2"]


@pytest.mark.parametrize(
    ("frame", "task", "rank"),
    [
        ("org.apache.spark.sql.kafka010.KafkaBatchPartitionReader.next", "source.kafka", "Kafka"),
        ("org.apache.kafka.clients.consumer.KafkaConsumer.poll", "source.kafka", "Kafka"),
        ("org.apache.kafka.clients.producer.KafkaProducer.send", "sink.kafka", "Sink"),
        (
            "com.fasterxml.jackson.core.json.UTF8StreamJsonParser.nextToken",
            "deserialize",
            "Deserialize",
        ),
        ("org.apache.spark.sql.catalyst.json.JacksonParser.parse", "deserialize", "Deserialize"),
        ("org.apache.spark.sql.execution.python.BasePythonRunner.compute", "python.bridge", "Sink"),
        ("org.rocksdb.RocksDB.get", "state.store", "Window"),
        ("x.GeneratedIteratorForCodegenStage3.hashAgg_doConsume_0", "window.agg", "Window"),
        ("x.GeneratedIteratorForCodegenStage3.project_doConsume_0", "project", "Projection"),
        (
            "org.apache.spark.shuffle.sort.ShuffleExternalSorter.spill",
            "shuffle",
            "ClusterCommunication",
        ),
        ("udf (mine/query.py:12)", "python.udf", "Sink"),
        ("closed (spark/windows/pairs.py:70)", "python.udf", "Sink"),
        ("closed (streamgauge/engines/spark/windows/pairs.py:70)", "python.udf", "Sink"),
        ("views (workloads/ysb/spark.py:70)", "python.udf", "Sink"),
        ("start (engines/spark/job.py:7)", "driver.commands", "Other"),
        ("start (streamgauge/engines/spark/job.py:7)", "driver.commands", "Other"),
        ("read (src/streamgauge/jobfile.py:7)", "driver.commands", "Other"),
        ("read (streamgauge/jobfile.py:7)", "driver.commands", "Other"),
        ("manager (pyspark/daemon.py:275)", "python.gc", "Other"),
        ("manager (pyspark/python/lib/pyspark.zip/pyspark/daemon.py:275)", "python.gc", "Other"),
        ("manager (pyspark/daemon.py:184)", "python.wait", "Wait"),
        ("dumps (lib/json/encoder.py:12)", "python.runtime", "Sink"),
        ("java.util.HashMap.get", "jvm.runtime", "Other"),
        ("load_stream (pyspark/serializers.py:150)", "python.serde", "Deserialize"),
        ("manager (pyspark/daemon.py:201)", "python.runtime", "Sink"),
        ("somewhere.else.Entirely.run", UNMATCHED, UNMATCHED),
    ],
)
def test_the_shipped_patterns(frame: str, task: str, rank: str) -> None:
    assert told([sample(f"p;t;{frame}")], read_tasks("spark")) == [task]
    assert told([sample(f"p;t;{frame}")], read_tasks("rank")) == [rank]


@pytest.mark.parametrize(
    "library", ["table_to_dataframe (pyarrow/pandas_compat.py:8)", "add (pandas/core/series.py:9)"]
)
@pytest.mark.parametrize(
    ("caller", "task"),
    [
        ("load_stream (pyspark/sql/pandas/serializers.py:7)", "python.serde"),
        ("udf (mine/query.py:12)", "python.udf"),
    ],
)
def test_a_librarys_time_is_that_of_its_caller(library: str, caller: str, task: str) -> None:
    assert told([sample(f"p;t;{caller};{library}")], read_tasks("spark")) == [task]


@given(samples, st.lists(st.sampled_from(["f1", "f[23]", "f4", "f[1-6]"]), unique=True))
def test_as_the_walk_by_hand(taken: Sequence[Sample], patterns: Sequence[str]) -> None:
    by = tasks(**{f"task{place}": pattern for place, pattern in enumerate(patterns)})
    stacks = gather(taken)
    assigned = assign(stacks, by, {})
    for stack, number in zip(stacks, assigned.task.tolist(), strict=True):
        assert assigned.tasks[number] == _walk(stack, by)


def _walk(stack: Sample, by: Tasks) -> str:
    for frame in reversed(stack.frames):
        for pattern in by.frames:
            if pattern.fits.search(frame):
                return pattern.task
    return UNMATCHED
