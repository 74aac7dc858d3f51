"""What Spark's tasks do: read a range and answer it, match a bucket of keys.

Tables travel as single binary cells, so that Spark moves and groups them without reading them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import EXPECTED, OUTPUTS, RECORDS
from streamgauge.measure.matching import Match, match
from streamgauge.measure.messages import Integers, headers
from streamgauge.measure.steps import STEPS
from streamgauge.spec.answers import (
    AnswerContext,
    Answers,
    AnswersInEventTime,
    AnswersInGroups,
    AnswersInSteps,
)
from streamgauge.spec.form import Form
from streamgauge.spec.transport import Records
from streamgauge.spec.trial import Counts
from streamgauge.spec.values import Json
from streamgauge.validation.plan import Range

OUTPUT = "output"
"""Name of the source of outputs, besides the input streams."""

LOGGED = OUTPUTS.append(pa.field("partition", pa.int32())).append(pa.field("offset", pa.int64()))
"""Outputs with their place in the log."""
TIMES = pa.schema([("appended", pa.int64()), ("intended", pa.int64()), ("records", pa.int64())])
"""Consecutive records with the same times are one row."""
MOVED = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kind", pa.string()),
        ("facts", pa.string()),
        ("table", pa.binary()),
        ("examples", pa.binary()),
    ]
)
"""What tasks hand on: a table of that kind, with a few facts as JSON."""
MOVED_DDL = "bucket int, kind string, facts string, table binary, examples binary"


@dataclass(frozen=True)
class Work:
    """All that the tasks of a validation need to know."""

    sources: Mapping[str, Records]
    forms: Mapping[str, Form]
    """Of each input stream."""
    ranges: tuple[Range, ...]
    answers: Answers
    context: AnswerContext
    buckets: int
    judged: bool
    """False for an engine that gives no answers: only the times are taken."""


def read_ranges(batches: Iterable[pa.RecordBatch], work: Work) -> Iterator[pa.RecordBatch]:
    """Read the ranges with the given numbers; yield what they hold, cut into buckets."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            moved = pa.Table.from_batches(_read_range(number, work), MOVED)
            yield from moved.combine_chunks().to_batches()  # one crossing to Java, not hundreds


def _read_range(number: int, work: Work) -> Iterator[pa.RecordBatch]:
    part = work.ranges[number]
    source = work.sources[part.source]
    batches = source.read(part.partition, part.start, part.stop)
    if part.source == OUTPUT:
        records = pa.Table.from_batches(batches, RECORDS).combine_chunks()
        outputs = logged_outputs(work.answers, records)
        yield from in_buckets("outputs", outputs, work.buckets, _groups(work.answers, outputs))
        return
    records = pa.Table.from_batches(batches).combine_chunks()
    yield _times(part, records, work.forms[part.source], number % work.buckets)
    if work.judged:
        yield from _in_buckets_of_groups(work.answers.expected(records, work.context), work)


def logged_outputs(answers: Answers, records: pa.Table) -> pa.Table:
    """Return the outputs with their place in the log."""
    outputs = answers.outputs(records)
    assert len(outputs) == len(records), "outputs() must return a row for every record"
    for name in ("partition", "offset"):
        outputs = outputs.append_column(name, records[name])
    return outputs.cast(LOGGED)


def _in_buckets_of_groups(expected: pa.Table, work: Work) -> Iterator[pa.RecordBatch]:
    """Cut expected rows by their groups; those without one go to every bucket."""
    expected = expected.cast(EXPECTED)
    groups = _groups(work.answers, expected)
    if groups is not None and groups.null_count:
        for_all = _pack(expected.filter(pc.is_null(groups)))
        yield from (_moved(number, "expected", {}, for_all) for number in range(work.buckets))
        expected, groups = expected.filter(pc.is_valid(groups)), pc.drop_null(groups)
    yield from in_buckets("expected", expected, work.buckets, groups)


def _groups(answers: Answers, table: pa.Table) -> pa.Array | None:
    return answers.groups(table["key"]) if isinstance(answers, AnswersInGroups) else None


def in_buckets(
    kind: str, table: pa.Table, buckets: int, groups: pa.Array | None = None
) -> Iterator[pa.RecordBatch]:
    """Cut a table by its keys, or by their groups; each is always found in the same bucket."""
    bucket = _bucket_of(table["key"] if groups is None else groups, buckets)
    order = np.argsort(bucket, kind="stable")
    ordered = table.take(pa.array(order)).combine_chunks()
    ends = np.searchsorted(bucket[order], np.arange(buckets + 1))
    for number, (start, end) in enumerate(pairwise(ends)):
        if end > start:
            yield _moved(number, kind, {}, _pack(ordered.slice(start, end - start)))


def _bucket_of(keys: pa.ChunkedArray | pa.Array, buckets: int) -> npt.NDArray[np.int64]:
    hashes = pd.util.hash_array(np.asarray(keys), categorize=False)
    return np.asarray(hashes % np.uint64(buckets), dtype=np.int64)


def _times(part: Range, records: pa.Table, form: Form, bucket: int) -> pa.RecordBatch:
    """Take the times of a range's records, and how often ids go down."""
    ids, intended = _ids_and_intended(records, form)
    facts: dict[str, Json] = {
        "source": part.source,
        "partition": part.partition,
        "start": part.start,
        "first": int(ids[0]),
        "last": int(ids[-1]),
        "inversions": int(np.count_nonzero(np.diff(ids) < 0)),
    }
    appended = records["timestamp"].to_numpy()
    new = (np.diff(appended, prepend=-1) != 0) | (np.diff(intended, prepend=-1) != 0)
    first = np.flatnonzero(new)
    times = np.diff(first, append=len(intended))
    columns = (pa.array(column) for column in (appended[first], intended[first], times))
    return _moved(bucket, "times", facts, _pack(pa.table(list(columns), schema=TIMES), "lz4"))


def _ids_and_intended(records: pa.Table, form: Form) -> tuple[Integers, Integers]:
    if "value" in records.column_names:
        found = headers(records["value"].combine_chunks(), form)
        return found.ids, found.intended
    return records["id"].to_numpy(), records["intended"].to_numpy()


def match_bucket(rows: pa.Table, work: Work) -> pa.Table:
    """Match the outputs and answers of one bucket; times are handed on."""
    done = rows.filter(pc.field("kind") == "times")
    if not work.judged or len(done) == len(rows):
        return done
    answers, expected = work.answers, _gather(rows, "expected", EXPECTED)
    outputs, steps = _gather(rows, "outputs", LOGGED), None
    if isinstance(answers, AnswersInSteps):
        steps = answers.steps(expected, outputs, work.context).cast(STEPS)
    if answers.merges:
        expected = answers.merge(expected, work.context).cast(EXPECTED)
    _refuse_repeated(expected["key"])
    in_event_time = answers if isinstance(answers, AnswersInEventTime) else None
    matched = match(expected, outputs, answers.agree, in_event_time, steps)
    facts: dict[str, Json] = {
        **matched.counts.model_dump(),
        "ignored": matched.ignored,
        "lenient": matched.lenient,
        "optional": matched.optional,
    }
    latencies = _pack(matched.latencies, compression="lz4")
    row = _moved(rows["bucket"][0].as_py(), "match", facts, latencies, _pack(matched.examples))
    return pa.concat_tables([done, pa.Table.from_batches([row])])


def matches(rows: pa.Table) -> list[Match]:
    """Read the matches of buckets back."""
    found = rows.filter(pc.field("kind") == "match")
    columns = (found[name] for name in ("facts", "table", "examples"))
    result = []
    for text, latencies, examples in zip(*columns, strict=True):
        facts = json.loads(text.as_py())
        rest = {name: facts.pop(name) for name in ("ignored", "lenient", "optional")}
        result.append(Match(Counts(**facts), unpack(latencies), unpack(examples), **rest))
    return result


def unpack(cell: pa.BinaryScalar) -> pa.Table:
    """Read a table back from a cell."""
    with pa.ipc.open_stream(cell.as_buffer()) as reader:
        return reader.read_all()


def _pack(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _gather(rows: pa.Table, kind: str, schema: pa.Schema) -> pa.Table:
    cells = rows.filter(pc.field("kind") == kind)["table"]
    return pa.concat_tables([schema.empty_table(), *map(unpack, cells)]).combine_chunks()


def _moved(
    bucket: int, kind: str, facts: Mapping[str, Json], table: bytes, examples: bytes | None = None
) -> pa.RecordBatch:
    columns = ([bucket], [kind], [json.dumps(facts)], [table], [examples])
    arrays = [pa.array(column, field.type) for column, field in zip(columns, MOVED, strict=True)]
    return pa.record_batch(arrays, schema=MOVED)


def _refuse_repeated(keys: pa.ChunkedArray) -> None:
    counts = keys.value_counts()
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        key = repeated.field("values")[0].as_py()
        raise TrialInvalid(
            f"the input has the record {key} more than once: the sender's producer repeated it",
            "Send with -L idempotence=true, which needs acks=all.",
        )
