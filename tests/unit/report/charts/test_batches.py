import json
from pathlib import Path

import pytest

from streamgauge.report.charts.data.batches import collections, describe, phases, read_batches
from streamgauge.report.charts.data.time_frame import Frame

FRAME = Frame(origin_ms=1_794_848_000_000, start_s=-5, measured_s=20, end_s=24, bin_s=1)


def line(at_s: float, took_ms: float, dropped: int | None = None, **phases: int) -> str:
    batch = {"began_ms": FRAME.origin_ms + round(at_s * 1000), "took_ms": took_ms, "phases": phases}
    told = {} if dropped is None else {"dropped": dropped}
    return json.dumps({"at": 1.0, "batch": {**batch, **told}})


def test_batches_are_read_and_everything_else_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    lines = [
        line(-18, 6, addBatch=5),  # before the load
        json.dumps({"at": 2.0, "idle": True}),
        line(0.25, 95, addBatch=80, walCommit=10),
        line(0.75, 100, addBatch=60, walCommit=30),
        json.dumps({"batch": {"began_ms": "?"}}),
        json.dumps({"batch": 3}),
        line(2.5, 75, addBatch=70)[:-9],  # cut off
        line(30, 75, addBatch=70),  # after the drain
    ]
    file.write_text("\n".join(lines))
    found = read_batches(file, FRAME)
    assert [batch.at_s for batch in found] == [0.25, 0.75]
    assert phases(found, FRAME) == {"t": [0], "addBatch": [70.0], "walCommit": [20.0]}
    assert describe(found) == "2 batches, the median took 98 ms"


def test_a_batch_needs_no_phases_and_a_phase_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    bare = json.dumps({"batch": {"began_ms": FRAME.origin_ms + 0.5, "took_ms": 7}})
    file.write_text("\n".join([bare, line(1, 5, t=3)]))
    found = read_batches(file, FRAME)
    assert [batch.phases for batch in found] == [{}, {"t": 3}]
    assert phases(found, FRAME) == {"t": [0, 1], "“t”": [0.0, 3.0]}


def test_what_came_too_late_for_the_batches_is_told(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    file.write_text("\n".join([line(1, 5, dropped=0), line(2, 5), line(3, 5, dropped=1200)]))
    told = describe(read_batches(file, FRAME))
    assert told.endswith("; 1,200 rows came after the watermark and were dropped")


def test_collections_are_told_by_second(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    origin_s = FRAME.origin_ms / 1000
    totals = {-5.0: 100, 0.0: 100, 1.0: 150, 2.0: 150, 30.0: 150}
    lines = [json.dumps({"at": origin_s + at_s, "gc_ms": ms}) for at_s, ms in totals.items()]
    file.write_text("\n".join([*lines, '{"at": 1, "gc_ms"']))
    found = collections(file, FRAME)
    told = dict(zip(found["t"], found["gc"], strict=True))  # type: ignore[arg-type]
    assert {at: ms for at, ms in told.items() if ms} == {0: 50.0}
    assert (min(told), max(told)) == (-5, 23)
    file.write_text(json.dumps({"at": 1.0, "idle": True}))
    assert collections(file, FRAME) == {}


@pytest.mark.parametrize(
    "malformed",
    [
        '{"at": 1, "gc_ms": 3, "batch": {"began_ms"',
        '"gc_ms" "batch"',
        '["gc_ms", "batch"]',
        '{"gc_ms": 3, "batch": {"phases": {"addBatch": 1}}}',
        '{"at": "noon", "gc_ms": 3, "batch": {"began_ms": "noon", "took_ms": 1}}',
        '{"at": null, "gc_ms": [], "batch": {"began_ms": 7, "took_ms": [1]}}',
        json.dumps({"at": float("nan"), "gc_ms": 3, "batch": None}),
        json.dumps(
            {"at": 1, "gc_ms": float("inf")}
            | {"batch": {"began_ms": FRAME.origin_ms, "took_ms": float("nan")}}
        ),
        line(1, -1),
        line(1, 5)[:-2] + ', "records": -1}, "gc_ms": true}',
        json.dumps(
            {"batch": {"began_ms": FRAME.origin_ms, "took_ms": 1, "phases": []}, "gc_ms": {}}
        ),
    ],
)
def test_a_complete_line_that_is_malformed_is_left_out(tmp_path: Path, malformed: str) -> None:
    file = tmp_path / "progress.jsonl"
    origin_s = FRAME.origin_ms / 1000
    good = [json.dumps({"at": origin_s + at_s, "gc_ms": ms}) for at_s, ms in ((0, 0), (1, 50))]
    file.write_text("\n".join([line(0, 5, addBatch=5), good[0], malformed, good[1]]) + "\n")
    assert [batch.phases for batch in read_batches(file, FRAME)] == [{"addBatch": 5.0}]
    assert sum(collections(file, FRAME)["gc"]) == 50  # type: ignore[arg-type]
