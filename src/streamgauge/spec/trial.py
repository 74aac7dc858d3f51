"""One trial: what was asked for and what resulted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from streamgauge.units import format_size

MOST_SENDERS = 64
LEAST_MEMORY = 512 << 20
"""Of an instance: Spark refuses less."""

Status = Literal["done", "failed", "invalid", "interrupted"]


class Model(BaseModel):
    """Base of all that is written to files: frozen, and nothing unknown gets in."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _as_text(value: object) -> object:
    """Write a whole number as text: YAML reads the acks 1 as a number."""
    return str(value) if type(value) is int else value


class LoadSpec(Model):
    """How the sender produces to the broker."""

    acks: Annotated[Literal["0", "1", "all"], BeforeValidator(_as_text)] = "all"
    batch: int = Field(default=65_536, gt=0)
    """Bytes per batch at most."""
    linger_s: float = Field(default=0.001, ge=0)
    buffer: int = Field(default=64 * 1024 * 1024, gt=0)
    """Bytes waiting in the producer at most."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    idempotence: bool = True
    """Keeps the order of sending in the log; needs acks=all."""
    senders: int | None = Field(default=1, ge=1, le=MOST_SENDERS)
    """How many senders share the load; None for a task on each core of the Spark cluster."""
    spark: str | None = None
    """Master of the Spark cluster whose tasks send; None for processes of this machine."""
    source: Literal["memory", "stream"] = "memory"
    """Where payloads come from: rendered into memory, or streamed from a file."""
    queue: int = Field(default=2 * 1024 * 1024 * 1024, gt=0)
    """Bytes in the harness's own queues at most (transport flight); more is unsustainable."""
    min_sent: float = Field(default=0.99, gt=0, le=1)
    """Share of the due records that must be sent for a valid trial."""
    max_lateness_s: float = Field(default=0.1, gt=0)
    """Bound on the 99th percentile of append time − intended time for a valid trial."""


class ResourceSpec(Model):
    """What a trial gives the engine."""

    cores: int | None = Field(default=None, ge=1)
    """CPUs of this machine for an engine in one process; None for all."""
    instances: int | None = Field(default=None, ge=1)
    """How many instances do the engine's work; None for one process on this machine."""
    instance_cores: int = Field(default=1, ge=1)
    """CPUs that each instance may use."""
    instance_memory: int = Field(default=2 << 30, ge=LEAST_MEMORY)
    """Bytes of memory of each instance."""

    def sizes(self, cpus: int) -> dict[str, float]:
        """Return the metrics of what was given, on a machine with that many CPUs."""
        instances = self.instances or 1
        each = self.instance_cores if self.instances else self.cores or cpus
        return {"resources.cores": float(instances * each), "resources.instances": float(instances)}

    def told(self) -> str:
        """Write how the engine is divided: one process, or a number of instances."""
        if self.instances is None:
            return "one process"
        memory = format_size(self.instance_memory)
        return f"{self.instances} x {self.instance_cores} cores, {memory}"


class ActSpec(Model):
    """Something the harness does at a set time of a trial."""

    at_s: float = Field(allow_inf_nan=False)
    """Seconds after the load began."""
    service: str
    """Name of the service that it acts on."""
    name: str
    """The function that does it, by the name of its entry point in `streamgauge.acts`."""
    arguments: dict[str, JsonValue] = {}

    def __str__(self) -> str:
        """Write it in one line."""
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"at {self.at_s:g} s: {self.name} ({arguments}) on {self.service}"


class TrialSpec(Model):
    """One engine or none, one query, one load, once."""

    number: int
    """Position in the run, from 1."""
    workload: str
    query: str
    parameters: dict[str, JsonValue]
    """The workload's parameters, complete."""
    engine: str | None
    """None for a trial without a job, which measures only the broker."""
    mode: str | None = None
    engine_options: dict[str, str] = {}
    transport: str = "kafka"
    rate: float
    """Records per second and input stream; with a schedule the mean of the measured time."""
    shape: str | None = None
    """The load's shape (--load); None for a constant rate."""
    duration_s: float
    warmup_s: float
    tail_s: float = 2.0
    """The load runs on for this long after the measured span."""
    backlog: bool = False
    """Whether the whole load is sent before the engine starts: a backlog without a schedule."""
    partitions: int = 1
    resources: ResourceSpec = ResourceSpec()
    seed: int = 1
    repeat: int = 1
    factors: dict[str, str] = {}
    """What the run varies, with this trial's values as they were asked for."""
    acts: tuple[ActSpec, ...] = ()
    """What is done while the load lasts."""
    profile: str | None = None
    """Name of the profiler that looks at the engine in the measured span."""
    cut_by: str | None = None
    """An objective on lag.trend that cuts the trial short, once half of the measured time is over
    and the lag certainly grows twice as fast as it allows; None for a trial of full length."""
    notes: tuple[str, ...] = ()
    """What planning changed in the request, and why."""
    quick: bool = False
    keep: bool = False
    load: LoadSpec = LoadSpec()

    @property
    def gathers(self) -> bool:
        """Whether the load begins before the engine, so that a backlog waits for it."""
        return not self.backlog and (self.shape or "").partition(":")[0].strip() == "backlog"

    @property
    def load_s(self) -> float:
        """Length of the whole load."""
        return self.warmup_s + self.duration_s + self.tail_s


class Counts(Model):
    """How the outputs compare with the answers."""

    expected: int = 0
    correct: int = 0
    wrong: int = 0
    missing: int = 0
    duplicate: int = 0
    unexpected: int = 0
    intermediate: int = 0
    """Right, of answers that were still to grow."""

    @property
    def final(self) -> int:
        """All outputs that were compared, except the intermediate ones."""
        return self.correct + self.wrong + self.duplicate + self.unexpected

    @property
    def outputs(self) -> int:
        """All outputs that were compared."""
        return self.final + self.intermediate


class Verdict(Model):
    """True, false or unknown, with the evidence."""

    holds: bool | None
    reason: str
    """One sentence for people."""
    evidence: dict[str, JsonValue] = {}


class Growth(Model):
    """A slope in seconds per second with its 90 % interval, and what follows from it."""

    slope: float | None
    low: float | None
    high: float | None
    blocks: int
    decision: Literal["none", "trend", "undecided"]


class Pace(Model):
    """How the engine held its pace in the measured span: what a search decides by."""

    by: Literal["offsets", "outputs"]
    """What shows how far it was behind: its offsets if they are timely, otherwise its outputs."""
    consumed: float | None
    """Share of the offered rate that it worked off; None without timely offsets."""
    behind_p95_s: float | None
    """Of the last third; None where there are too few values."""
    bound_s: float
    """How far behind it may be."""
    behind_growth: Growth
    latency_growth: Growth
    """Of event_latency."""
    drain_s: float | None
    """How long it took to finish after the load; None when it did not."""


class LagTrend(Model):
    """How the lag changed in the measured span, by a line through it."""

    by: Literal["offsets", "outputs"]
    """Records between the log's end and the engine's offsets; or how far its outputs were behind,
    times the offered rate, where it reports them only at checkpoints."""
    slope: float
    """Records per second, by least squares."""
    low: float | None
    """Lower end of the 90 % interval; None, like the upper one, where there are too few points."""
    high: float | None
    sawtooth: float
    """From the lowest to the highest point around the line, in records."""
    step_s: float
    lags: tuple[float | None, ...]
    """Records, one per step from the beginning of the measured span; None where not known."""


class InstanceSeen(Model):
    """An instance of an engine, as the engine reports it."""

    name: str
    host: str
    slots: int
    """Tasks that it runs at once."""
    added_ms: int
    """Epoch milliseconds."""
    lost_ms: int | None = None
    """When the engine lost it; None for one that was there to the end."""
    reason: str | None = None
    """Why it was lost."""


class TrialResult(Model):
    """What is known about a trial when it is over: the content of trial.json."""

    spec: TrialSpec
    status: Status
    cause: str | None = None
    """What died or went wrong first, with its log tail; None for a trial that was done."""
    valid: Verdict
    correct: Verdict
    kept_up: Verdict
    pace: Pace | None = None
    """None where nothing was measured."""
    lag: LagTrend | None = None
    """None where the lag was not seen often enough, or where there is none."""
    cut_s: float | None = None
    """After how many seconds of the measured time it was cut short; None where it was not."""
    inputs: int = 0
    """Records in all input topics."""
    counts: Counts = Counts()
    metrics: dict[str, float] = {}
    warnings: list[str] = []
    started: str
    """ISO-8601, UTC."""
    phases: dict[str, float] = {}
    """Seconds spent in each phase."""
    measured_ms: tuple[int, int] | None = None
    """The measured span, epoch milliseconds of intended time."""
    checkpoints_ms: list[int] = []
    """When the engine paused for a checkpoint inside the measured span, epoch milliseconds."""
    window_ms: int | None = None
    """Size of the query's time windows, if it has any."""
    trigger_s: float | None = None
    """The interval at which batches were to begin; None for as fast as possible."""
    settings: dict[str, str] = {}
    """The engine's settings in force."""
    profiled_by: list[str] = []
    """The back ends that sampled stacks, the one with the most CPU time first."""
    instances: list[InstanceSeen] = []
    """Where the instances of the engine ran; empty for one process."""
    clock_offsets_s: dict[str, float] = {}
    """Clock of each host of a given cluster − our clock, in seconds."""
    topics: dict[str, str] = {}
    sender: dict[str, JsonValue] = {}
    """What the sender says about its load."""

    @property
    def usable(self) -> bool:
        """Whether its figures may be compared: finished, valid and not wrong."""
        done = self.status == "done"
        return done and self.valid.holds is True and self.correct.holds is not False
