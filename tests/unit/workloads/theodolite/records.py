"""Recorded records, made by hand, and answers to them as the validator brings them together."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext, Answers
from streamgauge.spec.form import JSON
from streamgauge.workloads.theodolite.parameters import Parameters

BEGIN = 1_700_000_000_000
"""A multiple of 10 s."""


def record(number: int, at_ms: int, sensor: int | str, watts: float) -> bytes:
    """Render what a sensor sent so long after the beginning."""
    name = sensor if isinstance(sensor, str) else f"s_{sensor}"
    rest = f'"identifier":"{name}","timestamp":{BEGIN + at_ms},"valueInW":{watts!r}}}'
    return JSON.value(number, BEGIN + at_ms, rest.encode())


def recorded(values: Sequence[bytes], partition: int = 0, appended_ms: int = 3) -> pa.Table:
    """Let records be appended a little after they were to be sent."""
    intended = [int(value.split(b'"intended":')[1].split(b",")[0]) for value in values]
    columns = {
        "partition": [partition] * len(values),
        "offset": range(len(values)),
        "timestamp": [each + appended_ms for each in intended],
        "value": values,
    }
    arrays = [pa.array(list(columns[field.name]), field.type) for field in RECORDS]
    return pa.table(arrays, schema=RECORDS)


def context(horizon_ms: int = 2**62, **parameters: object) -> AnswerContext:
    """Return what the answers know of the trial."""
    chosen = Parameters(**parameters)
    return AnswerContext(chosen.model_dump(mode="json"), horizon_ms, {}, seed=1)


def answered(
    answers: Answers, logs: Sequence[pa.Table], known: AnswerContext, cut: int = 3
) -> dict[str, str]:
    """Return what is expected, by key, where tasks read so many records each."""
    ranges = [log.slice(at, cut) for log in logs for at in range(0, max(1, len(log)), cut)]
    partials = pa.concat_tables([answers.expected(each, known) for each in ranges])
    found = answers.merge(partials, known).to_pylist()
    assert len({row["key"] for row in found}) == len(found)
    return {row["key"]: row["value"].decode() for row in found}


def written(*lines: str, at_ms: int = BEGIN) -> pa.Table:
    """Let lines be put out."""
    columns = {
        "partition": [0] * len(lines),
        "offset": range(len(lines)),
        "timestamp": [at_ms] * len(lines),
        "value": [line.encode() for line in lines],
    }
    arrays = [pa.array(list(columns[field.name]), field.type) for field in RECORDS]
    return pa.table(arrays, schema=RECORDS)
