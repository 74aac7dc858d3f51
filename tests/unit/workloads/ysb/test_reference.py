from __future__ import annotations

from streamgauge.engines.reference.parts import BringsBuffer
from streamgauge.jobfile import JobSpec
from streamgauge.spec.form import JSON
from streamgauge.workloads.ysb import Ysb, data, reference
from streamgauge.workloads.ysb.parameters import Parameters
from tests.unit.workloads.ysb.events import ADS, BEGIN, FIRST, SECOND, context, event, records


def make(partitions: int = 1) -> reference.EventTimeWindows:
    parameters = Parameters(campaigns=2).model_dump(mode="json")
    job = JobSpec(
        workload="ysb",
        query="topic",
        parameters=parameters,
        partitions=partitions,
        seed=1,
        options={},
    )
    return reference.buffer(job, Ysb.queries["topic"])


def lines(buffer: reference.EventTimeWindows, *values: bytes, partition: int = 0) -> list[bytes]:
    found = buffer.answer(records(*values, partition=partition), context())
    return sorted(found["value"].to_pylist())


def test_the_module_brings_its_own_buffer() -> None:
    assert isinstance(reference, BringsBuffer)


def test_two_windows_may_be_open_and_close_when_every_partition_has_passed_them() -> None:
    buffer = make(partitions=2)
    assert lines(buffer, event(0, 5), event(2, 10_001), event(4, 20_000)) == []
    assert lines(buffer, event(1, 9, ADS[10]), event(3, 10_000), partition=1) == [
        b"%d,%s,1,%d," % (BEGIN, owner.encode(), BEGIN + at)
        for owner, at in sorted([(FIRST, 5), (SECOND, 9)])
    ]
    assert lines(buffer, event(5, 20_000), partition=1) == [
        b"%d,%s,2,%d," % (BEGIN + 10_000, FIRST.encode(), BEGIN + 10_001)
    ]


def test_a_sentinel_closes_the_last_windows() -> None:
    closed = lines(make(), event(0, 5), JSON.value(1, BEGIN + 6, data.sentinel()))
    assert closed == [b"%d,%s,1,%d," % (BEGIN, FIRST.encode(), BEGIN + 5)]
