"""What lies in a queue that is generated when it is pulled."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.schedule import Constant
from streamgauge.planning import load_workload
from streamgauge.spec.payloads import Columns
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.flight.queue import Filling, Queue, Ticks, queue_of

FULL = Filling(first_ms=500, start_ms=1000, load=0, last_ms=90_000, sentinel_ms=91_000)


def make_queue(
    records: int = 10, partitions: int = 1, ring: int = 4, number: int = 0, of: int = 1
) -> Queue:
    rows = pa.table({"x": pa.array(range(100, 100 + ring), pa.int32())})
    return Queue(Columns(rows, {"x": -1}), number, of, partitions, Constant(1000.0), records)


def pull(queue: Queue, partition: int, *cuts: int, filling: Filling) -> pa.Table:
    batches = [
        batch
        for start, stop in itertools.pairwise(cuts)
        for batch in queue.batches(partition, start, stop, filling)
    ]
    return pa.Table.from_batches(batches, queue.schema)


def test_a_partition_holds_marker_load_marker_and_sentinel() -> None:
    queue = make_queue(records=3)
    filling = FULL.model_copy(update={"load": 3})
    assert queue.ends(filling) == [6]
    assert pull(queue, 0, 0, 6, filling=filling).to_pydict() == {
        "id": [0, 1, 2, 3, 4, 5],
        "intended": [500, 1000, 1001, 1002, 90_000, 91_000],
        "x": [100, 101, 102, 103, 100, -1],
    }


def test_nothing_is_there_before_it_was_put_in() -> None:
    queue = make_queue(records=3, partitions=2)
    assert queue.ends(Filling()) == [0, 0]
    assert queue.ends(Filling(first_ms=1)) == [1, 1]
    assert queue.ends(Filling(first_ms=1, start_ms=2, load=1)) == [2, 1]
    with pytest.raises(AssertionError, match="not in the queue"):
        list(queue.batches(0, 0, 1, Filling()))


@given(
    records=st.integers(0, 200),
    partitions=st.integers(1, 4),
    ring=st.integers(1, 50),
    cuts=st.lists(st.integers(0, 300), max_size=6),
)
def test_however_it_is_pulled_the_records_are_the_same(
    records: int, partitions: int, ring: int, cuts: list[int]
) -> None:
    queue = make_queue(records, partitions, ring)
    filling = FULL.model_copy(update={"load": records})
    ids: list[int] = []
    for partition, end in enumerate(queue.ends(filling)):
        whole = pull(queue, partition, 0, end, filling=filling)
        places = sorted({0, end, *(cut for cut in cuts if cut < end)})
        assert pull(queue, partition, *places, filling=filling) == whole
        assert len(whole) == end
        ids += whole["id"].to_pylist()
    assert len(set(ids)) == len(ids) == records + 3 * partitions


@given(records=st.integers(1, 200), partitions=st.integers(1, 4))
def test_the_load_is_all_of_the_schedule_in_turn(records: int, partitions: int) -> None:
    queue = make_queue(records, partitions)
    filling = FULL.model_copy(update={"load": records})
    found = []
    for partition in range(partitions):
        stop = queue.end(partition, filling) - 2
        load = pull(queue, partition, 1, stop, filling=filling)
        index = queue.load_index(partition, np.arange(1, stop))
        assert load["intended"].to_pylist() == [1000 + i for i in index]
        found += index.tolist()
    assert sorted(found) == list(range(records))


def test_a_record_is_there_from_the_first_tick_that_counts_it() -> None:
    ticks = Ticks(np.array([10, 15, 20]), np.array([0, 4, 5]))
    assert ticks.available_ms(np.array([0, 3, 4])).tolist() == [15, 15, 20]


@given(
    grown=st.lists(st.integers(0, 20), min_size=1, max_size=30).filter(any),
    partitions=st.integers(1, 3),
    share=st.floats(0, 1),
)
def test_availability_is_that_of_the_first_tick_beyond(
    grown: list[int], partitions: int, share: float
) -> None:
    load = np.cumsum(grown)
    ticks = Ticks(np.arange(len(load)) * 5, load)
    first = min(int(share * load[-1]), int(load[-1]) - 1)
    index = np.arange(first, load[-1], partitions)
    expected = [next(5 * k for k, there in enumerate(load) if there > i) for i in index]
    assert ticks.available_ms(index).tolist() == expected


@pytest.mark.parametrize("stream", ["purchases", "ads"])
def test_the_records_are_those_that_a_broker_would_carry(stream: str) -> None:
    workload = load_workload("rovio")
    parameters = workload.parameters(ring=1000).model_dump(mode="json")
    spec = TrialSpec(
        number=1,
        workload="rovio",
        query="join",
        parameters=parameters,
        engine="noop",
        rate=100.0,
        duration_s=1.0,
        warmup_s=0.0,
        tail_s=0.0,
    )
    payloads = workload.payloads(spec, stream, 102)
    queue = queue_of(spec, stream)
    filling = FULL.model_copy(update={"load": queue.records})
    table = pull(queue, 0, 0, *queue.ends(filling), filling=filling)
    columns = [table[name].to_pylist() for name in table.column_names]
    rows = [";".join(map(str, row)).encode() for row in zip(*columns, strict=True)]
    carried = [row.split(b";", 2)[2] for row in rows]
    assert carried == [*itertools.chain.from_iterable(payloads.blocks), payloads.sentinel]
    assert [row.split(b";")[0] for row in rows[:2]] == (
        [b"0", b"2"] if stream == "purchases" else [b"1", b"3"]
    )
