from __future__ import annotations

from typing import Any

import pyarrow as pa

from streamgauge.engines.reference.parts import BringsBuffer
from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.rovio import Rovio, data, reference
from streamgauge.workloads.rovio.parameters import Parameters

BEGIN = 1_700_000_000_000


def make(query: str, partitions: int = 1, **parameters: Any) -> reference.EventTimeWindows:
    chosen = Parameters(**{"window": "2s,1s", **parameters}).model_dump(mode="json")
    job = JobSpec(
        workload="rovio", query=query, parameters=chosen, partitions=partitions, seed=1, options={}
    )
    return reference.buffer(job, Rovio.queries[query])


def records(*rows: tuple[int, int, int, bytes]) -> pa.Table:
    """Make records from partition, id, seconds and payload."""
    columns = {
        "partition": [partition for partition, *_ in rows],
        "offset": list(range(len(rows))),
        "timestamp": [BEGIN + second * 1000 for _, _, second, _ in rows],
        "value": [b"%d;%d;%s" % (i, BEGIN + at * 1000, rest) for _, i, at, rest in rows],
    }
    return pa.table(columns, schema=RECORDS)


def printed(buffer: reference.EventTimeWindows, *rows: tuple[int, int, int, bytes]) -> list[bytes]:
    context = AnswerContext({"window": [2.0, 1.0]}, 2**62, {})
    exact = buffer.answer(records(*rows), context)["value"].to_pylist()
    return sorted(reference.printed("", value) or b"" for value in exact)


def test_the_module_brings_its_own_buffer() -> None:
    assert isinstance(reference, BringsBuffer)


def test_windows_are_summed_up_when_every_partition_has_passed_them() -> None:
    buffer = make("aggregation", partitions=2)
    assert printed(buffer, (0, 0, 10, b"0;1;7;100"), (0, 2, 12, b"0;1;7;20")) == []
    assert printed(buffer, (1, 1, 11, b"0;1;7;3")) == [b"%d,7,100" % (BEGIN + 9_000)]
    assert printed(buffer, (1, 3, 12, b"0;1;8;4")) == [b"%d,7,103" % (BEGIN + 10_000)]


def test_a_sentinel_closes_the_last_windows_and_is_in_none() -> None:
    buffer = make("aggregation")
    assert printed(buffer, (0, 0, 10, b"0;1;7;100")) == []
    closed = printed(buffer, (0, 1, 11, data.sentinel("purchases")))
    assert closed == [b"%d,7,100" % (BEGIN + second * 1000) for second in (9, 10)]
    assert printed(buffer) == []


def test_pairs_come_when_both_streams_have_passed_their_window() -> None:
    buffer = make("join")
    assert printed(buffer, (0, 0, 10, b"0;1;7;100"), (0, 2, 20, b"0;9;9;1")) == []
    assert printed(buffer, (0, 1, 11, b"0;1;7")) == []
    assert printed(buffer, (0, 3, 20, b"0;8;9")) == [b"%d,0,1,1,7,100" % (BEGIN + 10_000)]
