"""The queries of rovio on a real Spark, batch by batch: every output is compared."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamgauge.engines.spark.query import QueryContext
from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.matching import Match, match
from streamgauge.spec.answers import AnswerContext, AnswersInEventTime
from streamgauge.validation.session import Session
from streamgauge.workloads.rovio import Rovio, data
from streamgauge.workloads.rovio.parameters import Parameters
from streamgauge.workloads.rovio.spark import QUERIES
from streamgauge.workloads.rovio.spark_facts import FACTS

pytestmark = [pytest.mark.integration, pytest.mark.spark]

BEGIN = 1_700_000_000_000
RATE, SECONDS, BATCH_MS = 500, 8, 950  # batches end within windows
CASES = [
    pytest.param(2, {"window": "2s,1s"}, marks=pytest.mark.thorough),
    (1, {"window": "1500ms,1s"}),
    (2, {"window": "2s,250ms", "keys": "single", "users": 300}),
    (1, {"window": "2s,500ms", "allowed_delay": "600ms", "disorder": 0.4, "late": 0.02}),
    (2, {"window": "1s,1s", "allowed_delay": "600ms", "disorder": 0.4, "delays": "uniform"}),
]
"""How many partitions, and parameters."""


@pytest.fixture(scope="module")
def spark(validator: Session) -> SparkSession:
    session = validator.get().newSession()  # with settings of its own
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


def write(folder: Path, parameters: Parameters, stream: str, streams: int, partitions: int) -> None:
    """Write a stream's records in batches that end elsewhere in each partition."""
    count = RATE * SECONDS
    drawn = (
        data.ads(parameters, 1, count)
        if stream == "ads"
        else data.purchases(parameters, 1, count, RATE)
    )
    rendered = itertools.chain.from_iterable(map(data.render, drawn))
    payloads = [*rendered, *[data.sentinel(stream)] * partitions]
    number = np.arange(len(payloads))
    partition = number % partitions
    intended = BEGIN + number * 1000 // RATE
    first = 1 if stream == "ads" else 0
    values = [b"%d;%d;%s" % (first + n * streams, intended[n], payloads[n]) for n in number]
    batch = (intended - BEGIN + 40 * partition) // BATCH_MS
    batch[count:] = batch[count - 1] + 1
    table = pa.table(
        [partition, number // partitions, intended + 2, pa.array(values)], schema=RECORDS
    )
    for each in np.unique(batch).tolist():
        file = folder / f"{each:03}.parquet"
        pq.write_table(table.filter(pa.array(batch == each)), file)
        os.utime(file, (each, each))  # the order in which Spark takes them


def read(spark: SparkSession, folder: Path) -> DataFrame:
    schema = "partition int, offset bigint, timestamp bigint, value binary"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return source.parquet(str(folder))


def run(
    spark: SparkSession, folder: Path, query: str, parameters: Parameters, partitions: int
) -> tuple[list[bytes], list[dict[str, Any]]]:
    """Run the query over all batches; return its outputs and what it said of each batch."""
    streams = Rovio.queries[query].streams
    for stream in streams:
        (folder / stream).mkdir()
        write(folder / stream, parameters, stream, len(streams), partitions)
    facts = FACTS[query]
    job = JobSpec(
        workload="rovio",
        query=query,
        parameters=parameters.model_dump(mode="json"),
        partitions=partitions,
        seed=1,
        options={},
        settings={"method": "slices" if parameters.hopping.overlap >= 4 else "bucket"},
    )
    job = replace(job, watermark_delay_ms=facts.watermark_delay("microbatch", partitions))
    inputs = {stream: read(spark, folder / stream) for stream in streams}
    built = QUERIES[query](inputs, QueryContext(spark, job, None))
    assert isinstance(built, DataFrame)
    running = (
        built.writeStream.format("memory")
        .queryName("found")
        .outputMode(facts.output_mode)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    values = [row["value"].encode() for row in spark.table("found").collect()]
    return values, [dict(progress) for progress in running.recentProgress]


def judge(folder: Path, query: str, parameters: Parameters, outputs: list[bytes]) -> Match:
    answers = Rovio.queries[query].answers
    assert isinstance(answers, AnswersInEventTime)
    context = AnswerContext(parameters.model_dump(mode="json"), 0, {})
    inputs = [pq.read_table(folder / stream) for stream in Rovio.queries[query].streams]
    parts = [
        answers.expected(
            records.filter(pc.equal(records["partition"], partition)).sort_by("offset"), context
        )
        for records, partition in itertools.product(inputs, (0, 1))
    ]
    expected = answers.merge(pa.concat_tables(parts), context)
    places = range(len(outputs))
    columns = [[0] * len(outputs), places, [BEGIN] * len(outputs), outputs]
    records = pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, RECORDS, strict=True)], RECORDS
    )
    found = answers.outputs(records)
    for name in ("partition", "offset"):
        found = found.append_column(name, records[name])
    return match(expected, found, answers.agree, answers)


@pytest.mark.parametrize("query", ["aggregation", "join"])
@pytest.mark.parametrize(("partitions", "case"), CASES)
def test_every_output_is_right(
    spark: SparkSession, tmp_path: Path, query: str, partitions: int, case: dict[str, Any]
) -> None:
    parameters = Parameters(**{"packs": 20, "users": 2000, "selectivity": 0.3, **case})
    outputs, batches = run(spark, tmp_path, query, parameters, partitions)
    found = judge(tmp_path, query, parameters, outputs)
    assert len(batches) > 5
    assert found.counts.expected > 0
    assert found.counts.correct == found.counts.expected == found.counts.outputs
    assert pc.min(found.latencies["ingested"]).as_py() > BEGIN
    assert bool(found.lenient) == bool(parameters.late)
    if query == "join":
        kept = [sum(state["numRowsTotal"] for state in b["stateOperators"]) for b in batches]
        assert kept[-1] < max(kept) / 4, "or what no window needs is kept for ever"


@pytest.mark.parametrize("window", ["8s,8s", "8s,4s"])
def test_a_pair_was_processed_when_the_latest_of_its_window_was(
    spark: SparkSession, window: str
) -> None:
    begin = BEGIN - BEGIN % 8000
    columns = ["id", "intended", "delay_ms", "user", "pack", "price", "ingested"]
    # Of the same user and pack: two purchases and an ad of one window, and an ad of the next one.
    bought = [(0, begin + 5000, 0, 1, 1, 100, 7), (2, begin + 6000, 0, 1, 1, 200, 90)]
    seen = [(1, begin + 4000, 0, 1, 1, 0, 8), (3, begin + 9000, 0, 1, 1, 0, 300)]
    streams = {
        "purchases": spark.createDataFrame(bought, columns),
        "ads": spark.createDataFrame(seen, columns).drop("price"),
    }
    parameters = Parameters(window=window).model_dump(mode="json")
    job = JobSpec(
        workload="rovio", query="join", parameters=parameters, partitions=1, seed=1, options={}
    )
    built = QUERIES["join"](streams, QueryContext(spark, job, None))
    assert isinstance(built, DataFrame)
    lines = [row["value"].split(",") for row in built.collect()]
    processed = {(int(line[0]) - begin, int(line[2])): int(line[-1]) for line in lines}
    first, second = {(0, 1): 90}, {(4000, 1): 300, (4000, 3): 300}
    assert processed == first | (second if window == "8s,4s" else {})
    assert len(lines) == 2 * len(processed)
