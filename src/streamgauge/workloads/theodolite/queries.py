"""The queries: four use cases, each in the forms that its answers can take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from streamgauge.spec.form import JSON
from streamgauge.spec.query import Query
from streamgauge.workloads.theodolite.answers import (
    EachStatistics,
    GroupSums,
    Rows,
    SlidingStatistics,
    Statistics,
    StepwiseStatistics,
    Stored,
)
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters

RECORDS, CONFIGURATION, FEEDBACK = "records", "configuration", "feedback"
_FORMS = {RECORDS: JSON, CONFIGURATION: JSON}
_STORING = ("deserialization", "serialization")
_SUMMARIZING = ("deserialization", "windowing", "aggregation")
_ADDING_UP = (*_SUMMARIZING, "join with a table")


def _since_timestamp(emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(json.loads(value)["timestamp"])) / 1000


def _since_window_end(size_ms: int, emitted_ms: int, value: bytes) -> float:
    return (emitted_ms - int(value.partition(b",")[0]) - size_ms) / 1000


QUERIES = (
    Query(
        name="uc1-postgres",
        title="each record stored as JSON in a database",
        streams=(RECORDS,),
        output="table",
        answers=Rows(),
        functions=(*_STORING, "writing to a database"),
        answers_markers=True,
        services=("postgres",),
        tables=("records",),
        forms=_FORMS,
    ),
    Query(
        name="uc1-topic",
        title="each record as JSON to a topic",
        streams=(RECORDS,),
        output="topic",
        answers=Stored(),
        functions=_STORING,
        answers_markers=True,
        sample=_since_timestamp,
        forms=_FORMS,
    ),
    Query(
        name="uc2",
        title="statistics of each sensor per window",
        streams=(RECORDS,),
        output="topic",
        answers=Statistics("uc2"),
        functions=_SUMMARIZING,
        answers_markers=False,
        needs_sentinels=True,
        forms=_FORMS,
    ),
    Query(
        name="uc3-final",
        title="statistics by sensor and time attribute per hopping window, when it is over",
        streams=(RECORDS,),
        output="topic",
        answers=Statistics("uc3"),
        functions=_SUMMARIZING,
        answers_markers=False,
        needs_sentinels=True,
        forms=_FORMS,
    ),
    Query(
        name="uc3-update",
        title="the same while windows are open, as often as the engine likes",
        streams=(RECORDS,),
        output="topic",
        answers=StepwiseStatistics("uc3"),
        functions=_SUMMARIZING,
        answers_markers=False,
        forms=_FORMS,
    ),
    Query(
        name="uc3-every",
        title="the same after every record",
        streams=(RECORDS,),
        output="topic",
        answers=EachStatistics("uc3"),
        functions=_SUMMARIZING,
        answers_markers=True,
        forms=_FORMS,
    ),
    Query(
        name="uc3-sliding",
        title="the same over the time before each record",
        streams=(RECORDS,),
        output="topic",
        answers=SlidingStatistics("uc3"),
        functions=_SUMMARIZING,
        answers_markers=False,
        needs_sentinels=True,
        forms=_FORMS,
    ),
    Query(
        name="uc4-single",
        title="sums over groups of groups of sensors per window, in one pass",
        streams=(RECORDS,),
        output="topic",
        answers=GroupSums(feedback=False),
        functions=_ADDING_UP,
        answers_markers=False,
        configuration=(CONFIGURATION,),
        needs_sentinels=True,
        forms=_FORMS,
    ),
    Query(
        name="uc4-feedback",
        title="the same, where sums of groups are fed back through a topic",
        streams=(RECORDS,),
        output="topic",
        answers=GroupSums(feedback=True),
        functions=(*_ADDING_UP, "feedback"),
        answers_markers=False,
        configuration=(CONFIGURATION,),
        internal=(FEEDBACK,),
        forms=_FORMS,
    ),
)
BY_NAME: Mapping[str, Query] = {query.name: query for query in QUERIES}


def shaped(query: Query, parameters: Parameters) -> Query:
    """Return the query as its parameters make it: windows that are waited for, keys of markers."""
    if isinstance(query.answers, EachStatistics):
        return replace(query, marker_key=partial(_first_output, parameters))
    if isinstance(query.answers, Stored | StepwiseStatistics):
        return query
    window_ms = parameters.window_ms(case(query.name))
    since_ms = 0 if isinstance(query.answers, SlidingStatistics) else window_ms
    return replace(query, window_ms=window_ms, sample=partial(_since_window_end, since_ms))


def case(query: str) -> str:
    """Return the use case that a query is a form of."""
    return query.partition("-")[0]


def _first_output(parameters: Parameters, marker: bytes) -> str:
    """Return the key of a marker's output in its newest window."""
    found = json.loads(marker)
    at_ms = found["timestamp"]
    times = np.array([at_ms], dtype=np.int64)
    (value,) = Attribute.parse(parameters.attribute).at(times, parameters.zone).tolist()
    return f"{at_ms - at_ms % parameters.slide_ms},{value},{found['identifier']},1"
