"""Overlapping windows on a real Spark, batch by batch: all methods give the same answers."""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import QueryContext
from streamgauge.engines.spark.windows.methods import before_each, windowed
from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import METHODS, Hopping
from streamgauge.validation.session import Session
from streamgauge.workloads.theodolite.spark_aggregates import AGGREGATES

pytestmark = [pytest.mark.integration, pytest.mark.spark]

BEGIN = 1_700_000_000_123
SECONDS, RATE, LATE_MS = 12, 60, 700
SENTINEL = BEGIN + 10**10
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

Records = Sequence[tuple[int, str, float]]
Answers = dict[tuple[int, str], tuple[float, ...]]


@pytest.fixture(scope="module")
def spark(validator: Session) -> SparkSession:
    session = validator.get().newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    return session


def records() -> Records:
    """Draw records out of order within what is allowed, some on edges; one key soon stops."""
    drawn = np.random.default_rng(5)
    at = BEGIN + np.arange(SECONDS * RATE) * 1000 // RATE
    at -= np.where(drawn.random(len(at)) < 0.3, drawn.integers(0, LATE_MS, len(at)), 0)
    at[::50] -= at[::50] % 500
    keys = [f"k{key}" for key in drawn.integers(0, 5, len(at))]
    early = len(at) // 3
    keys[:early:7] = ["stops"] * len(keys[:early:7])
    values = (drawn.integers(0, 400, len(at)) / 4).tolist()
    return [*zip(at.tolist(), keys, values, strict=True), (SENTINEL, "sentinel", 0.0)]


@dataclass(frozen=True)
class Run:
    """One query over files that come one after the other."""

    spark: SparkSession
    folder: Path
    windows: Hopping
    method: str
    aggregate: str = "stats"

    def feed(self, records: Records, number: int) -> None:
        """Write a batch."""
        (self.folder / "in").mkdir(exist_ok=True)
        file = self.folder / "in" / f"{number:03}.parquet"
        at, keys, values = zip(*records, strict=True)
        pq.write_table(pa.table({"at": at, "key": keys, "valueInW": values}), file)
        os.utime(file, (number + 1, number + 1))

    def work_off(self) -> list[Any]:
        """Summarize windows until all is done, from where it was; return what each batch said."""
        job = JobSpec(
            workload="none", query="none", parameters={}, partitions=1, seed=1, options={},
            settings={"method": self.method},
        )  # fmt: skip
        context = QueryContext(self.spark, job, None)  # type: ignore[arg-type]
        aggregate = AGGREGATES[self.aggregate]
        return self._put_out(windowed(self._stream(), ["key"], aggregate, self.windows, context))

    def work_off_sliding(self, length_ms: int) -> list[Any]:
        """Summarize the time before each record."""
        rows = self._stream().withColumn("id", F.col("at") - BEGIN)
        return self._put_out(before_each(rows, ["key"], AGGREGATES[self.aggregate], length_ms))

    def _stream(self) -> DataFrame:
        return (
            self.spark.readStream.schema("at bigint, key string, valueInW double")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.folder / "in"))
            .withColumn("time", F.timestamp_millis("at"))
            .withWatermark("time", f"{LATE_MS} milliseconds")
        )

    def _put_out(self, found: DataFrame) -> list[Any]:
        running = (
            found.writeStream.format("parquet")
            .option("path", str(self.folder / "out"))
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        return [dict(progress) for progress in running.recentProgress]

    def answers(self) -> Answers:
        rows = self.spark.read.parquet(str(self.folder / "out")).collect()
        found = {(row["start"], row["key"]): tuple(row)[2:] for row in rows}
        assert len(found) == len(rows), "a window was put out twice"
        return found


def expected(records: Records, windows: Hopping, aggregate: str) -> Answers:
    """Compute the same, value by value."""
    values = defaultdict(list)
    for at, key, value in records:
        start = at - at % windows.slide_ms
        while start > at - windows.size_ms:
            values[start, key].append(value)
            start -= windows.slide_ms
    told = {
        "median": lambda of: (len(of), statistics.median(of)),
        "stats": lambda of: (
            *(len(of), sum(of), statistics.fmean(of), min(of), max(of)),
            statistics.pvariance(of),
        ),
    }[aggregate]
    return {key: told(of) for key, of in values.items() if key[1] != "sentinel"}


def batches(records: Records, size: int) -> list[Records]:
    return [records[at : at + size] for at in range(0, len(records), size)]


def same(found: Answers, wanted: Answers) -> None:
    assert found.keys() == wanted.keys()
    for key, told in wanted.items():
        assert found[key] == pytest.approx(told, rel=1e-9, abs=1e-9), key


WINDOWS = {
    "30 overlaps": Hopping(3000, 100),
    "nearly coprime": Hopping(1010, 1000),
    "hardly a common divisor": Hopping(2510, 600),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS.keys())
def test_every_method_gives_the_same_answers_and_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, windows: Hopping, method: str
) -> None:
    run, sent = Run(spark, tmp_path, windows, method), records()
    first, *rest = batches(sent, 250)
    run.feed(first, 0)
    run.work_off()
    for number, batch in enumerate(rest, start=1):
        run.feed(batch, number)
    said = run.work_off()
    same(run.answers(), expected(sent, windows, "stats"))
    kept = [sum(state["numRowsTotal"] for state in each["stateOperators"]) for each in said]
    assert kept[-1] < max(kept) / 2, "or what no window needs is kept for ever"


@pytest.mark.parametrize("method", METHODS)
def test_a_holistic_aggregate_has_all_values_by_every_method(
    spark: SparkSession, tmp_path: Path, method: str
) -> None:
    run, sent = Run(spark, tmp_path, Hopping(1500, 500), method, "median"), records()
    for number, batch in enumerate(batches(sent, 300)):
        run.feed(batch, number)
    run.work_off()
    same(run.answers(), expected(sent, run.windows, "median"))


def test_sliding_windows_start_again_as_well(spark: SparkSession, tmp_path: Path) -> None:
    run, sent = Run(spark, tmp_path, Hopping(1, 1), "none"), records()
    for number, batch in enumerate(batches(sent, 250)):
        run.feed(batch, number)
        run.work_off_sliding(1500)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert len(rows) == len(sent) - 1, "one for each record but the sentinel"
    for row in rows:
        before = [
            value
            for at, key, value in sent
            if key == row["key"] and row["at"] - 1500 <= at <= row["at"]
        ]
        assert (row["count"], row["sum"]) == (len(before), sum(before))
        assert (row["min"], row["max"]) == (min(before), max(before))
