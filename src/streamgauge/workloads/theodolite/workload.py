"""Theodolite as a workload: its parameters, streams, queries, and the table of uc1."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

from streamgauge.errors import UsageError
from streamgauge.load import arrivals
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Services
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json, Span
from streamgauge.units import format_duration, format_rate
from streamgauge.workloads.theodolite import attributes, data, queries, store
from streamgauge.workloads.theodolite.parameters import MOST_SENSORS, Parameters
from streamgauge.workloads.theodolite.state import remark_on_state

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_GROWING = ("uc3-update", "uc3-every")
_OUT_OF_STEP_S = 2.0
_CLOSING_S = 3.0
"""How much longer the load goes on than windows of the root take to close."""


class Theodolite:
    """Power consumption of many sensors (Henning and Hasselbring, 2021 and 2024)."""

    name: ClassVar[str] = "theodolite"
    version: ClassVar[str] = "1"
    title: ClassVar[str] = "power consumption: stored, summarized, and summed up in groups"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = queries.BY_NAME
    default_queries: ClassVar[tuple[str, ...]] = ("uc1-topic", "uc2", "uc3-final", "uc4-single")
    quick: ClassVar[Mapping[str, Json]] = {
        "window": 2.0,
        "slide": 0.5,
        "attribute": "cycle:12:5s",
        "levels": 2,
        "ring": 100_000,
    }

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Refuse nothing more: the parameters check themselves that they fit together."""

    def shaped(self, query: Query, parameters: Mapping[str, Json]) -> Query:
        """Give the query the size of its windows, and the keys of its markers."""
        return queries.shaped(query, Parameters.model_validate(parameters))

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Note how many sensors there are, and let the load go on until the root has its sums."""
        spec, note = _delayed(spec)
        parameters = Parameters.model_validate(spec.parameters)
        _refuse_contradiction(parameters, spec)
        sensors = parameters.sensors_of(spec.query, spec.rate)
        notes = [note, _rounded(parameters, spec, sensors)]
        notes.append(remark_on_state(spec, parameters, sensors))
        if self.queries[spec.query].internal:
            spec, note = _with_time_for_the_root(parameters, spec)
            notes.append(note)
            _refuse_pauses(parameters, spec)
        return spec, [note for note in notes if note is not None and note not in spec.notes]

    def remarks(self, spec: TrialSpec, measured: Span) -> list[str]:
        """Report when the number of keys grew."""
        if queries.case(spec.query) != "uc3":
            return []
        parameters = Parameters.model_validate(spec.parameters)
        begin, end = measured.start_ms - round(spec.warmup_s * 1000), measured.end_ms
        found = [attributes.remark(parameters.attribute, parameters.zone, begin, end)]
        slide_ms = parameters.slide_ms
        change_ms = (begin // slide_ms + 1) * slide_ms
        if end - begin < slide_ms and change_ms < end:
            after = format_duration((change_ms - begin) / 1000)
            found.append(
                f"a window began {after} after the beginning of the load, where most trials have"
                " none: each sensor was in one more window"
            )
        return [remark for remark in found if remark is not None]

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        """Render records, or the hierarchy of the groups."""
        parameters = Parameters.model_validate(spec.parameters)
        if stream == queries.CONFIGURATION:
            hierarchy = data.hierarchy(parameters.children, parameters.levels)
            return Payloads([[hierarchy]], keys=[[data.EVENT_CHANGED]])
        sensors = parameters.sensors_of(spec.query, spec.rate)
        size = data.size(sensors, parameters, count)
        return Payloads(
            data.payloads(parameters, sensors, spec.seed, size),
            markers=data.markers,
            sentinel=data.sentinel(),
            keys=data.keys(sensors, spec.seed, size),
            partition="key",
            marker_key=b"s_marker",
            shifts=[0] * size,
        )

    def load_tables(
        self,
        spec: TrialSpec,  # noqa: ARG002
        services: Services,
        cache: Path,  # noqa: ARG002
        spark: Callable[[], SparkSession],  # noqa: ARG002
    ) -> None:
        """Make the table of records again."""
        store.reset(_postgres(services))

    def record_tables(
        self,
        spec: TrialSpec,  # noqa: ARG002
        services: Services,
        cache: Path,  # noqa: ARG002
    ) -> Mapping[str, pa.Table]:
        """Read the records that were stored."""
        return {"records": store.read(_postgres(services))}

    def table_answered(self, services: Services, markers: Sequence[bytes]) -> bool:
        """Return whether every marker is stored."""
        return store.has(_postgres(services), [json.loads(marker)["id"] for marker in markers])


def _postgres(services: Services) -> PostgresEndpoint:
    return PostgresEndpoint.of(services["postgres"])


def _refuse_contradiction(parameters: Parameters, spec: TrialSpec) -> None:
    """Refuse sensors, period and rate that do not fit together, or too many sensors."""
    if spec.query in _GROWING and parameters.aggregate != "stats":
        raise UsageError(
            f"{spec.query} emits statistics, not only {parameters.aggregate}",
            "Leave -P aggregate out, or use uc3-final or uc3-sliding.",
        )
    sensors, period_s = _sensors_asked_for(parameters, spec.query), parameters.period
    if sensors is not None and period_s is not None:
        fitting = sensors / period_s
        if abs(fitting - spec.rate) > 1e-3 * spec.rate:
            raise UsageError(
                f"{sensors:,} sensors that send every {format_duration(period_s)} send"
                f" {format_rate(fitting)}, not {format_rate(spec.rate)}",
                f"Use --rate {format_rate(fitting)}, or leave -P period out.",
            )
    wanted = spec.rate * (period_s or 1.0)
    if sensors is None and wanted > MOST_SENSORS:
        raise UsageError(
            f"{format_rate(spec.rate)} from sensors that send every"
            f" {format_duration(period_s or 1.0)} needs {wanted:,.0f} sensors, but at most"
            f" {MOST_SENSORS:,} are allowed",
            "Use -P sensors=…, or a shorter -P period.",
        )


def _sensors_asked_for(parameters: Parameters, query: str) -> int | None:
    """Return how many sensors there have to be; None where that follows from the rate."""
    if queries.case(query) != "uc4":
        return parameters.sensors
    if parameters.sensors not in (None, parameters.group_sensors):
        raise UsageError(
            f"{query} has {parameters.group_sensors:,} sensors, children ^ levels, not"
            f" {parameters.sensors:,}",
            "Leave -P sensors out, or choose other -P children and levels.",
        )
    return parameters.group_sensors


def _rounded(parameters: Parameters, spec: TrialSpec, sensors: int) -> str | None:
    """Note how many sensors there are where rate and period do not give their number."""
    in_groups = queries.case(spec.query) == "uc4"
    wanted = spec.rate * (parameters.period or 1.0)
    fits = abs(wanted - sensors) <= 1e-6 * wanted
    if fits or (parameters.sensors is not None and not in_groups):
        return None
    each = format_duration(sensors / spec.rate)
    if in_groups:
        return f"the {sensors:,} sensors of the groups send every {each}"
    return (
        f"{format_rate(spec.rate)} would need {wanted:g} sensors: here {sensors:,} send every"
        f" {each}"
    )


def _delayed(spec: TrialSpec) -> tuple[TrialSpec, str | None]:
    """Let windows wait where several senders may overtake each other."""
    waits = Parameters.model_validate(spec.parameters).delay is not None
    if waits or spec.load.senders == 1 or queries.case(spec.query) == "uc1":
        return spec, None
    parameters = {**spec.parameters, "delay": _OUT_OF_STEP_S}
    note = f"delay={_OUT_OF_STEP_S:g}s: several senders may overtake each other"
    return spec.model_copy(update={"parameters": parameters}), note


def _refuse_pauses(parameters: Parameters, spec: TrialSpec) -> None:
    """Refuse a load with pauses in which only sums that are fed back would come in."""
    quarter_ms = parameters.window_ms("uc4") // 4
    if arrivals.fewest(spec, quarter_ms) < 1:
        raise UsageError(
            f"the load {spec.shape or format_rate(spec.rate)} has no record for"
            f" {format_duration(quarter_ms / 1000)} at a time, a quarter of a window: sums that"
            f" {spec.query} feeds back would then be too late, and dropped",
            "Raise the lowest rate, lengthen -P window, or use uc4-single, which feeds nothing"
            " back. -X rested=false leaves out the pause of the experiment efficiency.",
        )


def _with_time_for_the_root(
    parameters: Parameters, spec: TrialSpec
) -> tuple[TrialSpec, str | None]:
    """Let the load go on after the measured time: a level is a window behind the one below."""
    windows_s = parameters.levels * parameters.window_ms("uc4") / 1000
    tail_s = windows_s + parameters.delay_ms / 1000 + _CLOSING_S
    if spec.tail_s >= tail_s or spec.backlog:
        return spec, None
    note = (
        f"the load goes on for {format_duration(tail_s)} after the measured time, until the root"
        " of the groups has its sums"
    )
    return spec.model_copy(update={"tail_s": tail_s}), note
