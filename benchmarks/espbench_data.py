"""How fast ESPBench's data come into being."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.services.postgres.embedded import EmbeddedPostgres
from streamgauge.workloads.espbench import sensors, tables

ROWS = 1_000_000
WAREHOUSES = 3


@benchmark("espbench-sensors")
def sensor_lines() -> Iterator[Measurement]:
    """Render a ring of a million sensor lines on one core."""
    took_s = []
    for seed in range(3):
        start_s = time.process_time()
        sensors.lines(ROWS, 1, seed)
        took_s.append(time.process_time() - start_s)
    yield at_least("espbench.sensors", round(ROWS / sorted(took_s)[1]), "rows/s", 1_000_000)


@benchmark("espbench-tables")
def business_tables() -> Iterator[Measurement]:
    """Generate and load the business tables, the start of Spark included."""
    with tempfile.TemporaryDirectory() as cache, EmbeddedPostgres().up() as postgres:
        start_s = time.perf_counter()
        folder = _generate(Path(cache))
        generated_s = time.perf_counter()
        tables.load(postgres.endpoint, folder)
        tables.verify(postgres.endpoint, folder)
        loaded_s = time.perf_counter()
        tables.reset(postgres.endpoint, folder, ["production_order_line"])
        reset_s = time.perf_counter()
        yield at_most("espbench.tables", loaded_s - start_s, "s", 60)
        yield _plain("espbench.tables.generate", generated_s - start_s)
        yield _plain("espbench.tables.load", loaded_s - generated_s)
        yield _plain("espbench.tables.reset", reset_s - loaded_s)


def _generate(cache: Path) -> Path:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        return tables.generate(spark, WAREHOUSES, 1, cache)
    finally:
        spark.stop()


def _plain(name: str, value_s: float) -> Measurement:
    return Measurement(name, round(value_s, 4), "s", None, None)
