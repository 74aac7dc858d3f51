"""Checks of a given cluster, made inside its executors before a trial depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamgauge.errors import NotReady
from streamgauge.jobfile import JobSpec
from streamgauge.machine import is_here
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.spark.executors import seen
from streamgauge.spec.endpoints import Endpoint, Endpoints
from streamgauge.validation import hosts
from streamgauge.validation.host_task import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def look_at_hosts(
    spark: SparkSession, cluster: Endpoint, endpoints: Endpoints, job: JobSpec
) -> dict[str, float]:
    """Check that executors can do all that a trial needs; return the offsets of their clocks.

    Raises:
        NotReady: They cannot; the message says what is missing and where.
    """
    found = hosts.look(spark, targets(endpoints), SparkEndpoint.of(cluster).host)
    elsewhere = sorted({each.host for each in seen(spark) if not is_here(each.host)})
    if job.checkpoint is not None:
        hosts.try_checkpoint(spark, job.checkpoint)
    elif elsewhere:
        raise NotReady(
            f"the executors are on other hosts ({', '.join(elsewhere)}), and no folder is known"
            " that they share with this machine",
            "Give -E checkpoint=URI of a file system that driver and executors share.",
        )
    return hosts.offsets(found)


def look_at_clocks(
    spark: SparkSession, cluster: Endpoint, endpoints: Endpoints, job: JobSpec
) -> dict[str, float]:
    """Return the offsets of the executors' clocks, and remove what the job has stored."""
    if job.checkpoint is not None:
        hosts.remove(spark, f"{job.checkpoint}/{endpoints.group}")
    return hosts.offsets(hosts.look(spark, (), SparkEndpoint.of(cluster).host))


def targets(endpoints: Endpoints) -> list[Target]:
    """Return host and port of all that executors connect to."""
    ways = {endpoints.via.service: endpoints.via, **endpoints.services}
    return [(name, *place) for name, way in ways.items() for place in way.places()]


def told(clocks: Mapping[str, float]) -> str:
    """Write the offsets of hosts' clocks."""
    return ", ".join(f"{host} {offset_s * 1000:+.1f} ms" for host, offset_s in clocks.items())
