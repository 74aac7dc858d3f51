"""ESPBench as a workload: its parameters, streams, queries and what happens in the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamgauge.errors import UsageError
from streamgauge.load import arrivals
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Services
from streamgauge.spec.form import FRONT
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import ActSpec, TrialSpec
from streamgauge.spec.values import Json
from streamgauge.units import format_count
from streamgauge.workloads.espbench import answers, sensor_file, sensors, tables, times

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

DOWNTIME_LEAD_S = 10.0
"""How long before its beginning a downtime is written to the table."""
MOST_WAREHOUSES = 1000
MOST_ORDER_LINES = 250_000_000
"""The greatest number of warehouses is sure to have this many order lines."""
_NEVER_DOWN, _ALWAYS_DOWN = 1, 2


def _numbers(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


class Parameters(BaseModel):
    """The parameters (-P)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sensors: str | None = Field(default=None, examples=["sensors=DEBS2012.txt"])
    """A DEBS 2012 file instead of the synthetic sensor lines."""
    warehouses: int = Field(default=3, ge=1, le=MOST_WAREHOUSES, examples=["warehouses=10"])
    """Scale factor W of the business tables; q5 raises it to what its stream needs."""
    workplaces: Annotated[tuple[int, int], BeforeValidator(_numbers)] = Field(
        default=(1, 3), examples=["workplaces=1,2"]
    )
    """Workplaces of sensor1 and sensor2: 1 is never down, 2 always, any other during the run."""
    ring: int = Field(default=1_000_000, ge=1, le=1_000_000_000, examples=["ring=100000"])
    """Sensor lines per stream that are rendered before the load; then they repeat."""

    @model_validator(mode="after")
    def _has_so_many_lines(self) -> Self:
        if self.sensors is None and self.ring > sensors.MOST_LINES:
            raise ValueError(f"a ring of more than {sensors.MOST_LINES} lines needs a sensor file")
        return self


def _since_window_end(emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(value.partition(b",")[0])) / 1000 - 1


def _second(_value: bytes, appended_ms: int) -> str:
    return str(appended_ms - appended_ms % 1000)


QUERIES = (
    Query(
        name="q1",
        title="check sensor status: statistics of mf01 per second",
        streams=("sensor1",),
        output="topic",
        answers=answers.Statistics(),
        functions=("windowing", "transformation", "aggregation"),
        answers_markers=False,
        window_of=_second,
        window_ms=1000,
        sample=_since_window_end,
    ),
    Query(
        name="q2",
        title="determine outliers: stochastic outlier selection on 500 records",
        streams=("sensor1",),
        output="topic",
        answers=answers.Outliers(),
        functions=("windowing", "machine learning"),
        answers_markers=False,
        sample=FRONT.since_intended,
    ),
    Query(
        name="q3",
        title="identify errors: mf01 above its limit",
        streams=("sensor1",),
        output="topic",
        answers=answers.Errors(),
        functions=("filtering",),
        answers_markers=True,
        sample=FRONT.since_intended,
    ),
    Query(
        name="q4",
        title="check machine power: low mf03 outside the workplace's downtime",
        streams=("sensor1", "sensor2"),
        output="topic",
        answers=answers.MachinePower(),
        functions=("correlation and enrichment", "combination with historical data"),
        answers_markers=True,
        services=("postgres",),
        tables=("workplace",),
        sample=FRONT.since_intended,
    ),
    Query(
        name="q5",
        title="persist processing times: start and end of each order line",
        streams=("times",),
        output="table",
        answers=answers.ProcessingTimes(),
        functions=("filtering", "combination with historical data"),
        answers_markers=True,
        services=("postgres",),
        tables=("production_order_line",),
    ),
    Query(
        name="identity",
        title="pass through: every record as it came",
        streams=("sensor1",),
        output="topic",
        answers=answers.Identity(),
        functions=(),
        answers_markers=True,
        sample=FRONT.since_intended,
    ),
)


class Espbench:
    """Enterprise stream processing (Hesse et al., 2021): five queries, streams and tables."""

    name: ClassVar[str] = "espbench"
    version: ClassVar[str] = tables.VERSION
    title: ClassVar[str] = "enterprise stream processing: sensor streams and business data"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = {query.name: query for query in QUERIES}
    default_queries: ClassVar[tuple[str, ...]] = ("q1", "q2", "q3", "q4", "q5")
    quick: ClassVar[Mapping[str, Json]] = {"warehouses": 1}

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Check the workplaces, and read the sensor file once to find a bad line."""
        chosen = Parameters.model_validate(parameters)
        last = 10 * chosen.warehouses + 1
        for workplace in chosen.workplaces:
            if not 1 <= workplace <= last:
                raise UsageError(
                    f"there is no workplace {workplace} in {chosen.warehouses} warehouses",
                    f"choose -P workplaces from 1 to {last}, or raise -P warehouses",
                )
        if chosen.sensors is not None:
            for _ in sensor_file.blocks(Path(chosen.sensors), 1, chosen.ring):
                pass

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        """Render sensor lines or production times."""
        parameters = Parameters.model_validate(spec.parameters)
        if stream == "times":
            orders = tables.each_order(parameters.warehouses, spec.seed)
            return Payloads(times.blocks(orders, count))
        workplace = parameters.workplaces[0 if stream == "sensor1" else 1]
        size = min(count, parameters.ring)
        if parameters.sensors is not None:
            blocks = sensor_file.blocks(Path(parameters.sensors), workplace, size)
        else:
            blocks = sensors.blocks(size, workplace, spec.seed)
        return Payloads(blocks, sensors.marker())

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Raise W so that no order line repeats; plan downtimes and a warm-up long enough."""
        if spec.query == "q5":
            return _with_enough_order_lines(spec)
        # A backlog has no times to act at; a study of the broker has no database.
        if spec.query == "q4" and not spec.backlog and spec.engine is not None:
            return _with_downtimes(spec)
        return spec, []

    def load_tables(
        self,
        spec: TrialSpec,
        services: Services,
        cache: Path,
        spark: Callable[[], SparkSession],
    ) -> None:
        """Load the tables if these are not there yet, and reset those of the query."""
        folder, postgres = _folder(spec, cache, spark), _postgres(services)
        if not tables.is_loaded(postgres, folder):
            tables.load(postgres, folder)
            tables.verify(postgres, folder)
        tables.reset(postgres, folder, self.queries[spec.query].tables)

    def record_tables(
        self, spec: TrialSpec, services: Services, cache: Path
    ) -> Mapping[str, pa.Table]:
        """Read the query's tables, and what they were before where the answer needs it."""
        names = self.queries[spec.query].tables
        recorded = {name: tables.read(_postgres(services), name) for name in names}
        if self.queries[spec.query].output == "table":
            folder = tables.folder(cache, _warehouses(spec), spec.seed)
            recorded |= {f"{name}.pristine": tables.pristine(folder, name) for name in names}
        return recorded

    def table_answered(self, services: Services, markers: Sequence[bytes]) -> bool:
        """Return whether the order lines of these markers have their times."""
        payloads = [marker.split(b";", 2)[2] for marker in markers]
        return tables.times_set(_postgres(services), payloads)


def _postgres(services: Services) -> PostgresEndpoint:
    return PostgresEndpoint.of(services["postgres"])


def _planned_downtimes(spec: TrialSpec) -> list[int]:
    workplaces = Parameters.model_validate(spec.parameters).workplaces
    return sorted(set(workplaces) - {_NEVER_DOWN, _ALWAYS_DOWN})


def _warehouses(spec: TrialSpec) -> int:
    return Parameters.model_validate(spec.parameters).warehouses


def _folder(spec: TrialSpec, cache: Path, spark: Callable[[], SparkSession]) -> Path:
    folder = tables.folder(cache, _warehouses(spec), spec.seed)
    if folder.exists():
        return folder
    return tables.generate(spark(), _warehouses(spec), spec.seed, cache)


def _with_enough_order_lines(spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
    """Cover the load, ten seconds more and the markers: two records per order line."""
    records = arrivals.records(spec) + 10 * spec.rate + 2 * spec.partitions
    asked, lines = _warehouses(spec), int(records / 2) + 1
    if lines > MOST_ORDER_LINES:
        raise UsageError(
            f"{spec.query} needs an order line for two records: {format_count(lines)} in all,"
            f" and {MOST_WAREHOUSES:,} warehouses have {format_count(MOST_ORDER_LINES)}",
            "Lower the rate, or shorten the trial.",
        )
    needed = tables.warehouses_for(lines, asked, spec.seed)
    if needed == asked:
        return spec, []
    parameters = {**spec.parameters, "warehouses": needed}
    reason = f"W raised from {asked} to {needed}: the stream must not repeat an order line"
    return spec.model_copy(update={"parameters": parameters}), [reason]


def _with_downtimes(spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
    """Write downtimes over the middle half of the measured time, shortly before they begin."""
    workplaces = _planned_downtimes(spec)
    spec, notes = _with_room_for_downtime(spec) if workplaces else (spec, [])
    from_s = spec.warmup_s + spec.duration_s / 4
    to_s = from_s + spec.duration_s / 2
    acts = [
        ActSpec(
            at_s=from_s - DOWNTIME_LEAD_S,
            service="postgres",
            name="espbench.downtime",
            arguments={"workplace": workplace, "from_s": from_s, "to_s": to_s},
        )
        for workplace in workplaces
    ]
    new = tuple(act for act in acts if act not in spec.acts)
    return spec.model_copy(update={"acts": (*spec.acts, *new)}), notes


def _with_room_for_downtime(spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
    needed_s = DOWNTIME_LEAD_S - spec.duration_s / 4
    if spec.warmup_s >= needed_s:
        return spec, []
    reason = (
        f"warm-up lengthened from {spec.warmup_s:g} s to {needed_s:g} s: "
        f"a downtime is written {DOWNTIME_LEAD_S:g} s before it begins"
    )
    return spec.model_copy(update={"warmup_s": needed_s}), [reason]
