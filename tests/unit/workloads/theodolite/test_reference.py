from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from streamgauge.engines.reference.parts import BringsBuffer
from streamgauge.engines.reference.windows import Buffer
from streamgauge.jobfile import JobSpec
from streamgauge.spec.form import JSON
from streamgauge.workloads.theodolite import Theodolite, data, reference
from streamgauge.workloads.theodolite.parameters import Parameters
from tests.unit.workloads.theodolite.records import BEGIN, context, record, recorded

SIZE: dict[str, Any] = {"window": 2.0, "slide": 2.0, "attribute": "cycle:3:1h", "levels": 1}


def make(query: str, partitions: int = 1, **parameters: Any) -> Buffer:
    job = JobSpec(
        workload="theodolite",
        query=query,
        parameters=Parameters(**{**SIZE, **parameters}).model_dump(mode="json"),
        partitions=partitions,
        seed=1,
        options={},
    )
    return reference.buffer(job, Theodolite.queries[query])


def answer(buffer: Buffer, *values: bytes, partition: int = 0, **parameters: Any) -> list[str]:
    log = recorded(values, partition) if values else recorded([])
    found = buffer.answer(log, context(**{**SIZE, **parameters}))
    return sorted(value.decode() for value in found["value"].to_pylist())


def test_the_module_brings_its_own_buffer() -> None:
    assert isinstance(reference, BringsBuffer)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("uc2", f"{BEGIN},s_1,1,2,2,2,2,0"),
        ("uc3-final", f"{BEGIN},1,s_1,1,2,2,2,2,0"),
        ("uc4-single", f"{BEGIN},group_lvl_0,1,2,2"),
    ],
)
def test_windows_are_answered_once_when_every_partition_has_passed_them(
    query: str, line: str
) -> None:
    buffer = make(query, partitions=2)
    assert answer(buffer, record(0, 5, 1, 2.0), record(2, 2_100, 1, 3.0)) == []
    assert answer(buffer, record(1, 2_200, 2, 1.0), partition=1) == [line]
    assert answer(buffer) == []


def test_a_sentinel_closes_the_last_windows() -> None:
    sentinel = JSON.value(1, BEGIN + 6, data.sentinel())
    assert answer(make("uc2"), record(0, 5, 1, 2.0), sentinel) == [f"{BEGIN},s_1,1,2,2,2,2,0"]


def test_records_are_kept_until_the_root_has_its_sums() -> None:
    deep = {"children": 2, "levels": 2}
    buffer = make("uc4-feedback", **deep)
    assert answer(buffer, record(0, 5, 1, 2.0), record(1, 1_990, 3, 1.0), **deep) == []
    assert answer(buffer, record(2, 2_100, 0, 9.0), **deep) == [
        f"{BEGIN},g_1_0,1,2,2",
        f"{BEGIN},g_1_2,1,1,1",
    ]
    assert answer(buffer, record(3, 3_950, 0, 8.0), **deep) == []
    assert answer(buffer, record(4, 4_050, 0, 7.0), **deep) == [
        f"{BEGIN},group_lvl_0,2,3,1.5",
        f"{BEGIN + 2_000},g_1_0,1,8,8",
    ]


def test_what_has_grown_is_told_again() -> None:
    stepwise, every = make("uc3-update"), make("uc3-every")
    first, second, third = (record(n, 5 + n, 1, 2.0) for n in range(3))
    assert answer(stepwise, first, second) == [f"{BEGIN},1,s_1,2,4,2,2,2,0"]
    assert answer(stepwise) == []
    assert len(answer(every, first, second)) == 2
    grown = pa.concat_tables([recorded([first, second, third]).slice(2)])
    for buffer in (stepwise, every):
        found = buffer.answer(grown, context(**SIZE))
        assert found["value"].to_pylist() == [f"{BEGIN},1,s_1,3,6,2,2,2,0".encode()]


def test_a_record_is_answered_when_no_other_of_its_time_can_come() -> None:
    buffer = make("uc3-sliding")
    assert answer(buffer, record(0, 5, 1, 2.0), record(1, 200, 1, 4.0)) == [
        f"{BEGIN + 5},1,s_1,0,1,2,2,2,2,0"
    ]
    assert answer(buffer, record(2, 200, 1, 6.0), record(3, 400, 2, 1.0)) == [
        f"{BEGIN + 200},1,s_1,1,3,12,4,2,6,2.6666666666666665",
        f"{BEGIN + 200},1,s_1,2,3,12,4,2,6,2.6666666666666665",
    ]
