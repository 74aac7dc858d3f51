"""Where answers are checked and data are made: here, or on the cluster of the engine."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.planning import trial_job
from streamgauge.services.running import RunningService
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.trial import TrialSpec
from streamgauge.validation.session import Place


def cluster_place(
    trial: TrialSpec, services: Mapping[str, RunningService[Endpoint]]
) -> Place | None:
    """Return a place on the cluster of the engine's instances; None where it has none.

    On a given one as much is taken as the engine will need, which shows that it is available.
    """
    resources, cluster = trial.resources, services.get(SparkEndpoint.service)
    if resources.instances is None or cluster is None:
        return None
    endpoint, cores = SparkEndpoint.of(cluster.endpoint), resources.instance_cores
    if cluster.members:
        return Place(endpoint, resources.instances, slots=cores, cores=cores)
    slots = trial_job(trial).instance_slots or cores
    return Place(endpoint, resources.instances, slots, cores, resources.instance_memory)
