"""The engine `spark`: Apache Spark Structured Streaming through PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]


def __getattr__(name: str) -> object:
    # Tasks on other hosts import parts of this package, but lack some of what the engine needs.
    if name == "SparkEngine":
        from streamgauge.engines.spark import engine

        return engine.SparkEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
