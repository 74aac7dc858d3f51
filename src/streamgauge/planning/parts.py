"""The parts behind names, and what a trial asks of them."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.experiments.combinations import every_combination
from streamgauge.jobfile import JobSpec
from streamgauge.load import arrivals
from streamgauge.spec.act import Act
from streamgauge.spec.engine import Engine, HasInstances
from streamgauge.spec.experiment import Experiment
from streamgauge.spec.profile import Profiler
from streamgauge.spec.query import Query
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import ShapesQueries, Workload


def trial_job(spec: TrialSpec) -> JobSpec:
    """Return the trial's job as its engine resolves it; refused modes end here.

    A trial without an engine has no job.
    """
    assert spec.engine is not None
    job = JobSpec(
        workload=spec.workload,
        query=spec.query,
        parameters=spec.parameters,
        partitions=spec.partitions,
        seed=spec.seed,
        options=spec.engine_options,
        transport=spec.transport,
        **spec.resources.model_dump(),
        least_rate=arrivals.least_rate(spec),
        quarter_records=_quarter_records(spec),
    )
    return load_engine(spec.engine).resolve(job)


def _quarter_records(spec: TrialSpec) -> int:
    """Count the records of the emptiest quarter of a window, where a query needs to know it."""
    query = trial_query(spec)
    if not query.internal or query.window_ms is None:
        return 0
    return int(arrivals.fewest(spec, query.window_ms // 4))


def trial_query(spec: TrialSpec) -> Query:
    """Return the trial's query as its parameters make it."""
    workload = load_workload(spec.workload)
    query = workload.queries[spec.query]
    if isinstance(workload, ShapesQueries):
        return workload.shaped(query, spec.parameters)
    return query


def trial_services(spec: TrialSpec) -> tuple[str, ...]:
    """Name the services that a trial uses: without an engine those of its query are not needed."""
    carrying = registry.transport(spec.transport).services
    if spec.engine is None:
        return carrying
    queries = load_workload(spec.workload).queries
    return tuple(dict.fromkeys((*carrying, *queries[spec.query].services, *_cluster(spec))))


def _cluster(spec: TrialSpec) -> tuple[str, ...]:
    """Name the service that runs the engine's instances, where it has several.

    Raises:
        UsageError: The engine is always one process.
    """
    if spec.resources.instances is None or spec.engine is None:
        return ()
    engine = load_engine(spec.engine)
    if not isinstance(engine, HasInstances):
        raise UsageError(
            f"engine {spec.engine} is one process: --instances {spec.resources.instances} has no"
            " effect on it",
            "Leave out --instances.",
        )
    return (engine.cluster,)


def load_experiment(spec: RunSpec) -> Experiment:
    """Return the run's experiment."""
    return registry.load("experiments", spec.experiment)(spec)


def trials_of(spec: RunSpec) -> Sequence[TrialSpec]:
    """Return every trial that a run may make, as far as they are known before it."""
    return every_combination(spec) if spec.variants else load_experiment(spec).plan()


def experiment_type(name: str) -> type[Experiment]:
    """Return the experiment of that name, for what is known of it before there is a run."""
    return registry.load("experiments", name)


def load_workload(name: str) -> Workload:
    """Return the workload of that name."""
    return registry.load("workloads", name)()


def load_engine(name: str) -> Engine:
    """Return the engine of that name."""
    return registry.load("engines", name)()


def load_act(name: str) -> Act:
    """Return the act of that name."""
    return registry.load("acts", name)


def load_profiler(name: str) -> Profiler:
    """Return the profiler of that name."""
    return registry.load("profilers", name)()
