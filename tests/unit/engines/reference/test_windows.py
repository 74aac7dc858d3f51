import pyarrow as pa

from streamgauge.engines.reference.windows import buffer_for
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.espbench.workload import Espbench

CONTEXT = AnswerContext(parameters={}, horizon_ms=2**62, tables={})
LINE = "2012-02-22T16:46:00.0000000+00:00\t{index}\t{mf01}\t14400\t8200\t" + "0\t" * 51 + "1"


def records(*rows: tuple[int, int, int, int]) -> pa.Table:
    """Make records from partition, offset, append time and mf01."""
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    partition, offset, timestamp, mf01 = (list(column) for column in columns)
    values = [
        f"{o};{t};{LINE.format(index=o, mf01=m)}".encode()
        for o, t, m in zip(offset, timestamp, mf01, strict=True)
    ]
    arrays = {"partition": partition, "offset": offset, "timestamp": timestamp, "value": values}
    return pa.table(arrays, schema=RECORDS)


def test_single_records_are_answered_at_once() -> None:
    buffer = buffer_for(Espbench.queries["q3"], 1)
    found = buffer.answer(records((0, 0, 5, 15_000), (0, 1, 6, 14_000)), CONTEXT)
    assert found["key"].to_pylist() == ["0"]
    assert buffer.empty


def test_a_time_window_waits_for_every_partition() -> None:
    buffer = buffer_for(Espbench.queries["q1"], 2, clock=lambda: 0.0)
    first = buffer.answer(records((0, 0, 1100, 10), (0, 1, 2100, 30), (1, 0, 1200, 20)), CONTEXT)
    assert len(first) == 0
    assert not buffer.empty
    second = buffer.answer(records((1, 1, 2000, 50)), CONTEXT)
    assert second["value"].to_pylist() == [b"1000,15.000000,10,20,2"]


def test_silence_completes_the_last_time_window() -> None:
    now = [0.0]
    buffer = buffer_for(Espbench.queries["q1"], 2, clock=lambda: now[0])
    assert len(buffer.answer(records((0, 0, 1100, 10)), CONTEXT)) == 0
    now[0] = 1.5
    assert len(buffer.answer(records(), CONTEXT)) == 0
    now[0] = 2.5
    assert buffer.answer(records(), CONTEXT)["key"].to_pylist() == ["1000"]
    assert buffer.empty


def test_a_count_window_waits_until_it_is_full() -> None:
    buffer = buffer_for(Espbench.queries["q2"], 2)
    rows = [(1, i, i, 13_000 + i % 7 + (4000 if i == 200 else 0)) for i in range(500)]
    assert len(buffer.answer(records(*rows[:400], (0, 0, 1, 13_000)), CONTEXT)) == 0
    assert "200" in buffer.answer(records(*rows[400:]), CONTEXT)["key"].to_pylist()


def test_a_shifted_count_window_begins_one_record_later() -> None:
    buffer = buffer_for(Espbench.queries["q2"], 1, shift=1)
    rows = [(0, i, i, 13_000 + i % 7 + (4000 if i == 200 else 0)) for i in range(501)]
    assert len(buffer.answer(records(*rows[:500]), CONTEXT)) == 0
    assert "200" in buffer.answer(records(rows[500]), CONTEXT)["key"].to_pylist()
