"""Validate a trial: recompute every answer from the recorded inputs, compare every output.

Tasks read ranges of the topics themselves, compute the answers, and cut both sides into buckets
of keys. Spark only brings the pieces of a bucket together, where another task matches them. No
step holds all records; what comes back is 40 bytes or so per output and 16 per input.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamgauge.errors import TrialInvalid
from streamgauge.jobfile import JobSpec
from streamgauge.measure.matching import Match
from streamgauge.spec.answers import AnswerContext, Answers, AnswersInGroups, AnswersInTables
from streamgauge.spec.query import Query
from streamgauge.spec.records import Recorded
from streamgauge.spec.transport import Records
from streamgauge.validation import plan, tasks

_SLICE = 200_000
"""Outputs in tables that are cut into buckets at once."""


@dataclass(frozen=True, kw_only=True)
class Validation(Match):
    """How the outputs of a trial compare with its answers, and when everything happened."""

    times: pa.Table
    """`tasks.TIMES`: of every input record, in log order by stream and partition."""
    inversions: int
    """How often an input record comes before one that was sent earlier."""
    seconds: float

    @property
    def inputs(self) -> int:
        """Records in all input topics."""
        return int(pc.sum(self.times["records"]).as_py() or 0)


def validate(
    spark: SparkSession,
    query: Query,
    recorded: Recorded,
    tables: Mapping[str, pa.Table],
    job: JobSpec,
    *,
    answers: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Validation:
    """Compare a trial's outputs with the answers to its recorded inputs.

    Args:
        spark: See `validation_session`.
        query: The query that was asked.
        recorded: Records of each input stream and of the output.
        tables: Business tables as recorded at the end of the trial.
        job: The job as the engine ran it: its parameters and watermark delay count here.
        answers: False for an engine that gives none; then only the times are taken.
        clock: Returns seconds.

    Raises:
        TrialInvalid: The records cannot be read back.
    """
    began_s = clock()
    pa.default_memory_pool().release_unused()  # what earlier trials left
    done = _table_outputs(query, tables) if answers else None
    work = _work(query, recorded, tables, done, job, judged=answers)
    try:
        rows = _run(spark, work, done)
    except (PySparkException, Py4JError, ConnectionError) as error:  # Java failed, or is gone
        raise _unvalidated(error) from error
    times, inversions = _times(rows.filter(pc.field("kind") == "times"))
    return Validation(
        **vars(Match.combine(tasks.matches(rows))),
        times=times,
        inversions=inversions,
        seconds=clock() - began_s,
    )


def _work(
    query: Query,
    recorded: Recorded,
    tables: Mapping[str, pa.Table],
    done: pa.Table | None,
    job: JobSpec,
    *,
    judged: bool,
) -> tasks.Work:
    """Cut what was recorded into ranges, and say what its tasks need to know."""
    sources = dict(recorded.inputs)
    if recorded.output is not None and judged:
        sources[tasks.OUTPUT] = recorded.output
    extents = {name: records.extent() for name, records in sources.items()}
    cuts = {name: _cut(records, query.answers) for name, records in sources.items()}
    counts = [(high, cuts[name]) for name, extent in extents.items() for _, high in extent]
    counts.append((0 if done is None else len(done), plan.READ))
    return tasks.Work(
        sources=sources,
        forms={stream: query.form(stream) for stream in recorded.inputs},
        ranges=tuple(
            part
            for name, extent in extents.items()
            for part in plan.ranges({name: extent}, query.answers.aligned, cuts[name].range)
        ),
        answers=query.answers,
        context=AnswerContext(
            parameters=job.parameters,
            horizon_ms=_horizon_ms(recorded.inputs.values(), job),
            closed_by=job.partitions if job.closed_by_records else 0,
            # What a query did to its tables is checked here: tasks have no use for them.
            tables=tables if done is None else {},
            seed=job.seed,
        ),
        buckets=plan.buckets(counts),
        judged=judged,
    )


def _cut(records: Records, answers: Answers) -> plan.Cut:
    if not records.in_columns:
        return plan.READ
    in_groups = isinstance(answers, AnswersInGroups)
    return plan.GENERATED_IN_GROUPS if in_groups else plan.GENERATED


def _horizon_ms(inputs: Iterable[Records], job: JobSpec) -> int:
    """Return the time up to which windows must have been closed."""
    newest = (records.newest_ms() for records in inputs)
    delay_ms = 0 if job.closed_by_records else job.watermark_delay_ms
    return max((at_ms for at_ms in newest if at_ms is not None), default=0) - delay_ms


def _table_outputs(query: Query, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    if query.output != "table":
        return None
    assert isinstance(query.answers, AnswersInTables), f"{query.name} must answer in tables"
    outputs = query.answers.table_outputs(tables)
    rows = len(outputs)
    places = {"partition": np.zeros(rows, dtype=np.int32), "offset": np.arange(rows)}
    for name, column in places.items():
        outputs = outputs.append_column(name, pa.array(column))
    return outputs.cast(tasks.LOGGED)


def _run(spark: SparkSession, work: tasks.Work, done: pa.Table | None) -> pa.Table:
    """Let Spark read the ranges, bring buckets together and match them."""
    frames = []
    if work.ranges:
        numbers = spark.range(0, len(work.ranges), 1, numPartitions=len(work.ranges))
        frames.append(numbers.mapInArrow(_reader(work), tasks.MOVED_DDL))
    if done is not None and len(done):
        frames.append(spark.createDataFrame(pa.Table.from_batches(_pieces(done, work.buckets))))
    if not frames:
        return tasks.MOVED.empty_table()
    moved = frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
    matched = (
        moved.repartition(work.buckets, "bucket")
        .groupBy("bucket")
        .applyInArrow(_matcher(work), tasks.MOVED_DDL)
    )
    return matched.toArrow()


def _pieces(done: pa.Table, buckets: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(done), _SLICE):
        yield from tasks.in_buckets("outputs", done.slice(start, _SLICE), buckets)


def _reader(work: tasks.Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    return lambda batches: tasks.read_ranges(batches, work)


def _matcher(work: tasks.Work) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: tasks.match_bucket(rows, work)


def _unvalidated(error: Exception) -> TrialInvalid:
    """Report what a task of ours said, or how Spark failed."""
    reason = re.search(rf"{TrialInvalid.__module__}\.TrialInvalid: (.*)", str(error))
    return TrialInvalid(reason[1] if reason else f"Spark failed while validating: {error}")


def _times(rows: pa.Table) -> tuple[pa.Table, int]:
    """Put the times of all ranges together; count where ids go down, also from range to range."""
    facts = [json.loads(text) for text in rows["facts"].to_pylist()]
    ranges = list(zip(facts, rows["table"], strict=True))
    ranges.sort(key=lambda item: (item[0]["source"], item[0]["partition"], item[0]["start"]))
    inversions = sum(fact["inversions"] for fact in facts)
    for (before, _), (after, _) in pairwise(ranges):
        follows = after["start"] > 0
        inversions += follows and after["first"] < before["last"]
    tables = [tasks.unpack(table) for _, table in ranges]
    return pa.concat_tables([tasks.TIMES.empty_table(), *tables]), inversions
