"""Windows that records close: for modes in which no watermark passes in time."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

AFTER = "after"
"""Column with the partition of a record that comes after the window; null for those within."""


def closed_by_records(
    records: DataFrame, by: Sequence[str], summary: Sequence[Column], partitions: int
) -> DataFrame:
    """Summarize each window and emit it once: at the first records after it in every partition.

    In real-time mode every record changes the windows that it is in, and each change is an output.
    So windows have twice their length: the first half is summarized, and in the second the records
    of each partition are counted. All records of a partition in the first half have been seen when
    one of the second comes, since their times never go down. The change that is emitted is the
    one in which the last partition gets its first record there.

    Args:
        records: Once for each half that they are in, with the column `after`.
        by: Columns of the windows.
        summary: Of the first half; null where a window has nothing in it.
        partitions: How many there are.
    """
    after = [F.count_if(F.col(AFTER) == each).alias(f"after{each}") for each in range(partitions)]
    counts = F.array(*(f"after{each}" for each in range(partitions)))
    latest = F.last(AFTER, ignorenulls=True).alias("latest")
    within = F.count_if(F.col(AFTER).isNull()).alias("within")
    return (
        records.groupBy(*by)
        .agg(*summary, within, latest, *after)
        # The very first record is also the first one after a window that has none.
        .where(F.col("within") > 0)
        .where((F.array_min(counts) > 0) & (F.get(counts, F.col("latest")) == 1))
    )
