"""OSPBench as a workload: its parameters, streams and stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, tee
from typing import ClassVar

from pydantic import BaseModel

from streamgauge.errors import UsageError
from streamgauge.load import arrivals
from streamgauge.load.shapes import Steady
from streamgauge.spec.answers import Answers
from streamgauge.spec.form import JSON
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.values import Json
from streamgauge.units import format_duration
from streamgauge.workloads import state
from streamgauge.workloads.ospbench import answers, data
from streamgauge.workloads.ospbench.parameters import Parameters

SECOND_MS = 1000
OUT_OF_STEP_S = 2.0
IN_WINDOWS = ("stage100", "stage101")
IN_SECONDS = ("stage3", "stage4")
"""Whose answers are final when a second is over."""


def _second_and_point(lane: str, marker: bytes) -> str:
    """Return the key of the output that answers a marker."""
    second_ms, point = data.place_of(marker)
    return f"{second_ms},{point}{lane}"


def _since_end(length_ms: int, emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(value.partition(b",")[0]) - length_ms) / 1000


def _stage(name: str, title: str, answers: Answers, *functions: str) -> Query:
    """Describe a stage: those that do not answer markers close windows, by sentinels at the end."""
    windowed = name in (*IN_WINDOWS, *IN_SECONDS)
    streams = data.STREAMS[:1] if name in IN_WINDOWS else data.STREAMS
    return Query(
        name=name,
        title=title,
        streams=streams,
        output="topic",
        answers=answers,
        functions=functions,
        answers_markers=not windowed,
        whole_seconds=True,
        window_ms=SECOND_MS if windowed else None,
        needs_sentinels=windowed,
        sample=partial(_since_end, SECOND_MS) if name in IN_SECONDS else None,
        forms=dict.fromkeys(streams, JSON),
    )


_PARSE, _JOIN, _SUM = "deserialization", "join of two streams", "aggregation"
_WINDOW, _COMPARE, _STATE = "windowing", "comparison with the past", "state of its own"

_STAGES = (
    _stage("stage0", "both streams passed on", answers.Copies(), "projection"),
    _stage("stage1", "both streams parsed", answers.Parsed(), _PARSE),
    _stage("stage2", "flow and speed of each lane joined", answers.Joined(), _PARSE, _JOIN),
    _stage(
        "stage3",
        "the lanes of each point, summed up by second",
        answers.Summed(complete=False),
        *(_PARSE, _JOIN, _WINDOW, _SUM),
    ),
    _stage(
        "stage4",
        "how those sums changed",
        answers.Changes(complete=False),
        *(_PARSE, _JOIN, _WINDOW, _SUM, _COMPARE),
    ),
    _stage(
        "stage5",
        "the lanes of each point, summed up as soon as all are there",
        answers.Summed(complete=True),
        *(_PARSE, _JOIN, _SUM, _STATE),
    ),
    _stage(
        "stage6",
        "how those sums changed, as soon as all are there",
        answers.Changes(complete=True),
        *(_PARSE, _JOIN, _SUM, _COMPARE, _STATE),
    ),
    _stage(
        "stage100",
        "flow of each point in hopping windows, added up as it comes",
        answers.Windows(),
        *(_PARSE, _WINDOW, _SUM),
    ),
    _stage(
        "stage101",
        "flow of each point in hopping windows, added up at their end",
        answers.Windows(),
        *(_PARSE, _WINDOW, _SUM),
    ),
)
_MARKER_KEYS = {
    "stage2": partial(_second_and_point, ",lane1"),
    "stage5": partial(_second_and_point, ""),
    "stage6": partial(_second_and_point, ""),
}


class Ospbench:
    """Traffic on a road, lane by lane (van Dongen and Van den Poel, 2020 and 2021)."""

    name: ClassVar[str] = "ospbench"
    version: ClassVar[str] = "1"
    title: ClassVar[str] = "traffic: flow and speed of each lane joined, summed up and compared"
    parameters: ClassVar[type[BaseModel]] = Parameters
    queries: ClassVar[Mapping[str, Query]] = {
        stage.name: replace(stage, marker_key=_MARKER_KEYS.get(stage.name)) for stage in _STAGES
    }
    default_queries: ClassVar[tuple[str, ...]] = tuple(queries)
    quick: ClassVar[Mapping[str, Json]] = {"ring": 100_000, "window": "10s", "slide": "2s"}

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Refuse nothing more: each parameter checks itself."""

    def shaped(self, query: Query, parameters: Mapping[str, Json]) -> Query:
        """Give the query the size of its windows, and the sample of its outputs."""
        chosen = Parameters.model_validate(parameters)
        if query.name in IN_WINDOWS:
            size_ms = chosen.size_ms
            return replace(query, window_ms=size_ms, sample=partial(_since_end, size_ms))
        if query.name == "stage4":
            return replace(query, window_ms=(chosen.long + 1) * SECOND_MS)
        return query

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Give every lane one record a second, and let windows wait for senders out of step."""
        spec, delayed = _delayed(spec)
        spec, rounded = _rounded(spec)
        _refuse_nothing_bad(spec, self.queries[spec.query].streams)
        notes = [*delayed, *rounded, *_remarks_on_state(spec)]
        return spec, [note for note in notes if note not in spec.notes]

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:  # noqa: ARG002
        """Render flow or speed of the lanes."""
        parameters = Parameters.model_validate(spec.parameters)
        back = (parameters.long, parameters.short, 0) if spec.query == "stage6" else (0,)
        blocks, keys = _records(spec, parameters, stream, before=len(back) * spec.partitions)
        return Payloads(
            blocks,
            sentinel=data.sentinel(stream),
            keys=keys,
            partition="key",
            marker_key=data.MARKER,
            markers=partial(data.markers, stream, seconds_back=back),
            dated=data.written,
        )


def _rounded(spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
    """Make a constant rate a multiple of the lanes of a road."""
    shape = None if spec.shape is None else arrivals.parse_shape(spec.shape)
    rate = float(data.roads(spec.rate) * data.LANES_OF_ROAD)
    if rate == spec.rate or not isinstance(shape, Steady | None):
        return spec, []
    note = (
        f"{spec.rate:,.10g}/s became {rate:,.0f}/s: each of {data.roads(rate):,} ×"
        f" {data.LANES_OF_ROAD} lanes has a record a second"
    )
    constant = None if shape is None else f"constant:{rate}/s"
    return spec.model_copy(update={"rate": rate, "shape": constant}), [note]


def _delayed(spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
    """Let windows wait where several senders may overtake each other."""
    if spec.load.senders == 1 or Parameters.model_validate(spec.parameters).delay is not None:
        return spec, []
    parameters = {**spec.parameters, "delay": OUT_OF_STEP_S}
    note = f"delay={OUT_OF_STEP_S:g}s: several senders may overtake each other"
    return spec.model_copy(update={"parameters": parameters}), [note]


def _refuse_nothing_bad(spec: TrialSpec, streams: Sequence[str]) -> None:
    """Refuse bad records that this trial would not have."""
    parameters = Parameters.model_validate(spec.parameters)
    if parameters.bad is None:
        return
    counts = [parameters.unparsable(stream) for stream in streams]
    if not any(records for records, _ in counts):
        raise UsageError(
            f"-P bad={parameters.bad}: {spec.query} reads only {' and '.join(streams)}",
            "Leave the stream out, or choose a stage that reads it.",
        )
    _, at_ms = counts[0]
    if arrivals.schedule(spec).due(at_ms - 1) >= arrivals.records(spec):
        raise UsageError(
            f"-P bad={parameters.bad}: by then the load is over, after"
            f" {format_duration(spec.load_s)} with its warm-up",
            "Choose an earlier time, or a longer --duration.",
        )


def _remarks_on_state(spec: TrialSpec) -> list[str]:
    """Report how much the windows may have to remember, if that is a lot."""
    if spec.query not in IN_WINDOWS:
        return []
    windows = Parameters.model_validate(spec.parameters).hopping
    method = state.method_of(spec, windows, data.LANES_OF_ROAD / len(data.LANES))
    on_disk = state.is_on_disk(spec, method)
    if spec.query == "stage101":
        note = state.remark_on_values(state.values_kept(spec, windows, method), on_disk=on_disk)
    else:
        points = data.roads(spec.rate) * len(data.LANES)
        note = state.remark_on_groups(points * (windows.overlap + 1), on_disk=on_disk)
    return [] if note is None else [note]


def _records(
    spec: TrialSpec, parameters: Parameters, stream: str, before: int
) -> tuple[Iterator[list[bytes]], Iterator[list[bytes]]]:
    """Return payloads and keys: a ring, or second by second where seconds differ."""
    counts = _counts(spec)
    lanes = data.lanes(max(counts), spec.seed)
    ring = data.Ring(stream, lanes, spec.seed, min(parameters.ring, sum(counts)))
    if parameters.bad is None and min(counts[:-1], default=0) == len(lanes):
        return data.gathered(ring.payloads()), data.gathered(ring.keys())
    records, at_ms = parameters.unparsable(stream)
    first = arrivals.schedule(spec).due(at_ms - 1)
    pairs, again = tee(data.second_by_second(ring, counts, before, range(first, first + records)))
    return (
        data.gathered(payloads for payloads, _ in pairs),
        data.gathered(keys for _, keys in again),
    )


def _counts(spec: TrialSpec) -> list[int]:
    """Count the records of each second of the load; the last may be over before its end."""
    planned, total_ms = arrivals.schedule(spec), arrivals.spans_of(spec).total
    due = [planned.due(min(at_ms, total_ms) - 1) for at_ms in _edges(total_ms)]
    return [later - earlier for earlier, later in pairwise(due)]


def _edges(total_ms: int) -> range:
    return range(0, total_ms + SECOND_MS, SECOND_MS)
