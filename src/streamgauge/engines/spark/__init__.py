"""The engine `spark`: Apache Spark Structured Streaming through PySpark."""

from streamgauge.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
