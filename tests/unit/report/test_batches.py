import json
from pathlib import Path

import pytest

from streamgauge.report.batches import collections, describe, phases, read_batches
from streamgauge.report.frame import Frame

FRAME = Frame(origin_ms=1_794_848_000_000, start_s=-5, measured_s=20, end_s=24, bin_s=1)
BEGIN = "2026-11-16T16:53:{:06.3f}Z"  # 20 s past is the origin


def line(second: float, **durations: int) -> str:
    event = {"timestamp": BEGIN.format(second), "durationMs": durations}
    return json.dumps({"at": 1.0, "event": event})


def test_batches_are_read_and_everything_else_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    lines = [
        line(2, addBatch=5, triggerExecution=6),  # before the load
        json.dumps({"at": 2.0, "idle": True}),
        line(20.25, addBatch=80, walCommit=10, triggerExecution=95),
        line(20.75, addBatch=60, walCommit=30, triggerExecution=100),
        json.dumps({"event": {"timestamp": "?"}}),
        json.dumps({"event": 3}),
        line(22.5, addBatch=70, triggerExecution=75)[:-9],  # cut off
    ]
    file.write_text("\n".join(lines))
    found = read_batches(file, FRAME)
    assert [batch.at_s for batch in found] == [0.25, 0.75]
    assert phases(found, FRAME) == {"t": [0], "addBatch": [70.0], "walCommit": [20.0]}
    assert describe(found) == "2 batches, the median took 98 ms"


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
        '{"at": 1, "gc_ms": 3, "event": {"timestamp"',
        '"gc_ms" "event"',
        '["gc_ms", "event"]',
        '{"gc_ms": 3, "event": {"durationMs": {"addBatch": 1}}}',
        '{"at": "noon", "gc_ms": 3, "event": {"timestamp": "noon", "durationMs": {}}}',
        '{"at": null, "gc_ms": [], "event": {"timestamp": 7, "durationMs": [1]}}',
        json.dumps({"at": float("nan"), "gc_ms": 3, "event": None}),
        json.dumps(
            {"at": 1, "gc_ms": float("inf")}
            | {"event": {"timestamp": BEGIN.format(21), "durationMs": {"addBatch": float("nan")}}}
        ),
        line(21)[:-2] + ', "durationMs": {"addBatch": "long"}, "gc_ms": true}}',
        json.dumps({"event": {"timestamp": "2026-11-16T16:53:21", "durationMs": {}}, "gc_ms": {}}),
    ],
)
def test_a_complete_line_that_is_malformed_is_left_out(tmp_path: Path, malformed: str) -> None:
    file = tmp_path / "progress.jsonl"
    origin_s = FRAME.origin_ms / 1000
    good = [json.dumps({"at": origin_s + at_s, "gc_ms": ms}) for at_s, ms in ((0, 0), (1, 50))]
    file.write_text("\n".join([line(20, addBatch=5), good[0], malformed, good[1]]) + "\n")
    assert [batch.phases for batch in read_batches(file, FRAME)] == [{"addBatch": 5.0}]
    assert sum(collections(file, FRAME)["gc"]) == 50  # type: ignore[arg-type]
