from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.workloads.ospbench import Ospbench, data, reference
from streamgauge.workloads.ospbench.parameters import Parameters

T0 = 1_700_000_000_000
PARAMETERS = Parameters(window=4.0, slide=1.0).model_dump(mode="json")
CONTEXT = AnswerContext(PARAMETERS, 2**62, {})


def lines(stage: str, seconds: range) -> list[list[bytes]]:
    """Return the records of each second, at last the sentinels."""
    streams = Ospbench.queries[stage].streams
    lanes, found = data.lanes(19, 1), []
    rings = {stream: data.Ring(stream, lanes, 1, 19) for stream in streams}
    number = 0
    for second in seconds:
        at_ms, now = T0 + 1000 * second, []
        sides = [rings[stream].first(second, 19)[0] for stream in streams]
        for payloads in zip(*sides, strict=True):
            for payload in payloads:
                now.append(JSON.value(number, at_ms, payload % data.written(at_ms)))
                number += 1
        found.append(now)
    found.append(
        [JSON.value(number + n, 0, data.sentinel(stream)) for n, stream in enumerate(streams)]
    )
    return found


def table(values: list[bytes], first: int) -> pa.Table:
    return pa.table(
        {
            "partition": pa.array(np.zeros(len(values)), pa.int32()),
            "offset": pa.array(np.arange(first, first + len(values))),
            "timestamp": pa.array([T0] * len(values)),
            "value": pa.array(values, pa.binary()),
        }
    ).cast(RECORDS)


@pytest.mark.parametrize("stage", [*Ospbench.queries])
def test_every_answer_is_given_once_as_soon_as_it_is_final(stage: str) -> None:
    query = Ospbench().shaped(Ospbench.queries[stage], PARAMETERS)
    job = JobSpec(
        workload="ospbench",
        query=stage,
        parameters=PARAMETERS,
        partitions=1,
        seed=1,
        options={},
    )
    buffer = reference.buffer(job, query)
    by_second = lines(stage, range(40))
    given: list[tuple[str, bytes]] = []
    first = 0
    for now in by_second:
        for part in (now[: len(now) // 3], now[len(now) // 3 :]):
            rows = buffer.answer(table(part, first), CONTEXT)
            first += len(part)
            given += zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)
    everything = table([line for now in by_second for line in now], 0)
    wanted = query.answers.merge(query.answers.expected(everything, CONTEXT), CONTEXT)
    assert sorted(given) == sorted(
        zip(wanted["key"].to_pylist(), wanted["value"].to_pylist(), strict=True)
    )
