"""Engines of known capacity: what a trial would see of them, without running one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.measure import statistics, sustained
from streamgauge.measure.behind import behind, lag
from streamgauge.measure.matching import LATENCIES
from streamgauge.planning import load_experiment
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import LagTrend, TrialResult, TrialSpec, Verdict
from streamgauge.spec.values import Span
from streamgauge.trial.lag import lag_trend

EPOCH_S = 1_000_000
OUTPUT_EVERY_S = 0.05
PAUSE_EVERY_S = 20.0
DRAIN_LIMIT_S = 60.0
Runs = Callable[[TrialSpec], TrialResult]
YES = Verdict(holds=True, reason="so it is")


@dataclass(frozen=True)
class Engine:
    """Takes all that is there as a batch, and the next when that is finished."""

    capacity: float
    """Records per second that it can work off in the long run, pauses included."""
    overhead_s: float = 0.05
    """What each batch costs beside its records."""
    trigger_s: float | None = None
    noise: float = 0.0
    """Spread of the speed from batch to batch, as the standard deviation of its logarithm."""
    pause_s: float = 0.0
    """Once in 20 s of work, at random, it stands still for this long."""
    leak: float = 0.0
    """Share of the capacity that is lost per minute."""
    reports: bool = True
    """Whether it reports its offsets."""

    @property
    def limit(self) -> float:
        """The rate it can sustain: at a share r of its capacity a batch takes overhead / (1 - r),
        and just before its end it is two batches behind, which must stay within the bound.
        """
        bound_s = max(10.0, 3 * (self.trigger_s or 0.0))
        return self.capacity * (1 - 2 * self.overhead_s / bound_s)


CAPACITY = 50_000.0
KINDS = {
    "steady": Engine(CAPACITY),
    "noisy": Engine(CAPACITY, noise=0.3),
    "pausing": Engine(CAPACITY, pause_s=1.0),
    "micro-batches": Engine(CAPACITY, overhead_s=0.2, noise=0.1),
    "triggered": Engine(CAPACITY, overhead_s=0.2, trigger_s=4.0, noise=0.1),
    "silent": Engine(CAPACITY, noise=0.1, reports=False),
}
LEAKING = Engine(CAPACITY, overhead_s=0.02, leak=0.025)
"""At 95 % of its capacity it lasts for two minutes."""

Batch = tuple[float, float]
"""When it ended, and up to which record it reached."""


def batches(engine: Engine, rate: float, load_s: float, seed: int) -> Iterator[Batch]:
    """Work off a load of constant rate, and what is left of it afterwards."""
    random = Random(seed)
    now_s, done, trigger_s = 0.0, 0.0, 0.0
    while done < rate * load_s and now_s < load_s + DRAIN_LIMIT_S:
        now_s = max(now_s, trigger_s)
        trigger_s = _next_trigger(engine, now_s)
        reached = rate * min(now_s, load_s)
        speed = engine.capacity * (1 - engine.leak * now_s / 60)
        if engine.noise:  # with a mean of 1 / speed that stays as it was
            speed *= math.exp(random.gauss(0, engine.noise) + engine.noise**2 / 2)
        took_s = engine.overhead_s + (reached - done) / speed / (1 + engine.pause_s / PAUSE_EVERY_S)
        if engine.pause_s and random.random() < took_s / PAUSE_EVERY_S:
            took_s += engine.pause_s
        now_s, done = now_s + took_s, reached
        yield now_s, done


def _next_trigger(engine: Engine, now_s: float) -> float:
    if engine.trigger_s is None:
        return 0.0
    return (math.floor(now_s / engine.trigger_s) + 1) * engine.trigger_s


def run(spec: TrialSpec, engine: Engine, *, driver: float = math.inf, seed: int = 0) -> TrialResult:
    """Return what a trial would have recorded, with a driver that can send up to that rate."""
    found = np.array(list(batches(engine, spec.rate, spec.load_s, seed)))
    ends_s, reached = found[:, 0], found[:, 1]
    span = Span(*(int(1000 * (EPOCH_S + s)) for s in (spec.warmup_s, spec.load_s - spec.tail_s)))
    drained = bool(reached[-1] >= spec.rate * spec.load_s)
    table = _latencies(spec, ends_s, reached)
    outputs = _outputs(table, span)
    line = lag_trend(
        _timeline(spec, ends_s, reached),
        table,
        span,
        spec.rate,
        tells_offsets=engine.reports,
    )
    told = sustained.pace(
        span,
        _looks(spec, ends_s, reached, span) if engine.reports else None,
        outputs,
        total_rate=spec.rate,
        trigger_s=engine.trigger_s,
        drain_s=max(0.0, float(ends_s[-1]) - spec.load_s) if drained else None,
    )
    late = Verdict(holds=False, reason="the driver was late")
    return TrialResult(
        spec=spec,
        status="done" if spec.rate <= driver else "invalid",
        valid=YES if spec.rate <= driver else late,
        correct=YES,
        kept_up=YES,
        pace=told,
        lag=line,
        metrics=statistics.named("event_latency", outputs.event_latency_s)
        | _figures(spec, engine, line),
        started="2026-11-16T17:30:00+00:00",
        measured_ms=(span.start_ms, span.end_ms),
    )


def simulate(engine: Engine, driver: float = math.inf, catch_up: float = 1.0) -> Runs:
    """Run trials on an engine; the guess is wrong by the factor `catch_up`."""

    def trial(spec: TrialSpec) -> TrialResult:
        if not spec.backlog:
            return run(spec, engine, driver=driver, seed=spec.number)
        rates = {"rate.offered": spec.rate, "rate.catch_up": catch_up * engine.capacity}
        none = Verdict(holds=None, reason="a guess")
        result = run(spec.model_copy(update={"rate": 1.0}), engine)
        guess = {"spec": spec, "valid": none, "kept_up": none, "pace": None, "metrics": rates}
        return result.model_copy(update=guess)

    return trial


def write_search(
    place: Path, asked: RunSpec, trial: Runs, machine: dict[str, object] | None = None
) -> RunFolder:
    """Search to the end, and write the run as the runner does."""
    folder = RunFolder.create(place, asked, ["streamgauge", "run"], machine or {"cores": 2})
    experiment = load_experiment(asked)
    while (spec := experiment.next_trial(folder.trials())) is not None:
        folder.trial_folder(spec.number).mkdir(exist_ok=True)
        folder.write_trial(trial(spec))
    answer = experiment.answer(folder.trials()).model_dump(mode="json")
    folder.write(folder.record().model_copy(update={"status": "done", "answer": answer}))
    return folder


def _figures(spec: TrialSpec, engine: Engine, line: LagTrend | None) -> dict[str, float]:
    instances = spec.resources.instances or 1
    return {
        "rate.offered": spec.rate,
        "resources.instances": float(instances),
        "resources.cores": float(instances * spec.resources.instance_cores),
        "cpu.engine": min(1.0, spec.rate / engine.capacity) * instances,
    } | ({} if line is None else {"lag.trend": line.slope, "lag.sawtooth": line.sawtooth})


def _timeline(
    spec: TrialSpec, ends_s: npt.NDArray[np.float64], reached: npt.NDArray[np.float64]
) -> list[dict[str, float]]:
    at_s = np.arange(0.37, spec.load_s, 1.0)
    newest = np.searchsorted(ends_s, at_s, side="right") - 1
    finished = np.where(newest >= 0, reached[newest], 0.0)
    return [
        {"at": EPOCH_S + at, "log_end": spec.rate * at, "finished": done}
        for at, done in zip(at_s.tolist(), finished.tolist(), strict=True)
    ]


def _looks(
    spec: TrialSpec, ends_s: npt.NDArray[np.float64], reached: npt.NDArray[np.float64], span: Span
) -> sustained.Looks | None:
    at_s = np.arange(0.37, spec.load_s, 1.0)
    newest = np.searchsorted(ends_s, at_s, side="right") - 1
    finished = np.where(newest >= 0, reached[newest], 0.0).astype(np.int64)
    found = lag(EPOCH_S + at_s, spec.rate * at_s, finished.astype(np.float64), span)
    inside = (EPOCH_S + at_s >= span.start_ms / 1000) & (EPOCH_S + at_s < span.end_ms / 1000)
    if found is None:
        return None
    return sustained.Looks(EPOCH_S + at_s[inside], found, finished[inside].astype(np.float64))


def _latencies(
    spec: TrialSpec, ends_s: npt.NDArray[np.float64], reached: npt.NDArray[np.float64]
) -> pa.Table:
    at_s = np.arange(0.0, spec.load_s, OUTPUT_EVERY_S)
    batch = np.searchsorted(reached, spec.rate * at_s, side="left")
    at_s, batch = at_s[batch < len(ends_s)], batch[batch < len(ends_s)]
    intended_ms = (1000 * (EPOCH_S + at_s)).astype(np.int64)
    emitted_ms = (1000 * (EPOCH_S + ends_s[batch])).astype(np.int64)
    empty = pa.nulls(len(at_s))
    columns = {"intended": intended_ms, "appended": intended_ms, "emitted": emitted_ms}
    return pa.table(
        [pa.array(columns.get(field.name, empty)).cast(field.type) for field in LATENCIES],
        schema=LATENCIES,
    )


def _outputs(table: pa.Table, span: Span) -> sustained.Outputs:
    intended_ms, emitted_ms = table["intended"].to_numpy(), table["emitted"].to_numpy()
    counted = (intended_ms >= span.start_ms) & (intended_ms < span.end_ms)
    latency_s = (emitted_ms - intended_ms)[counted] / 1000
    return sustained.Outputs(behind(table, span), intended_ms[counted], latency_s)
