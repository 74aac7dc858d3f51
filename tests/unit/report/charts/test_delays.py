"""How late batches begin when the ones before take longer than the trigger interval."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.report.charts.data.batches import Batch
from streamgauge.report.charts.data.delays import delays, describe, over_time
from streamgauge.report.charts.data.time_frame import Frame
from streamgauge.report.charts.data.trial import view_trial
from tests.unit.report.conftest import RunMaker

EPOCH_MS = 1_794_848_000_000  # a multiple of 4 s
FRAME = Frame(origin_ms=EPOCH_MS, start_s=0, measured_s=60, end_s=60, bin_s=1)


def batches(*begun_and_took_ms: tuple[int, float]) -> list[Batch]:
    return [
        Batch(EPOCH_MS + begun_ms, begun_ms / 1000, {}, took_ms)
        for begun_ms, took_ms in begun_and_took_ms
    ]


def scheduled(took_ms: Sequence[float], every_ms: int) -> tuple[list[Batch], list[float]]:
    """Begin batches as Spark does: at the next trigger, or at once where that has passed."""
    made, due, at = [], [], 0
    next_ms = 0
    for took in took_ms:
        at = max(at, next_ms)
        due.append(next_ms)
        made.append((at, took))
        next_ms = (at // every_ms + 1) * every_ms
        at += int(took)
    found = batches(*made)
    return found, [begun - expected for (begun, _), expected in zip(made, due, strict=True)]


@given(st.lists(st.integers(1, 20_000), min_size=2, max_size=30))
def test_a_delay_is_what_the_batch_before_took_too_long(took_ms: list[int]) -> None:
    found, expected = scheduled(took_ms, 4000)
    late = [late_ms for _, late_ms in delays(found, 4.0)]
    # A batch that ends exactly at a trigger may be said to begin there in time.
    ends_at_trigger = [(batch.began_ms + batch.whole_ms) % 4000 == 0 for batch in found]
    for told, right, unclear in zip(late, expected[1:], ends_at_trigger, strict=False):
        assert told == right or (unclear and told == 0)


def test_a_batch_that_waited_for_its_trigger_was_in_time() -> None:
    found = delays(batches((0, 3900), (4003, 100), (8001, 50)), 4.0)
    assert [late_ms for _, late_ms in found] == [3, 1]
    assert describe(found, 4.0) == "Batches were due every 4 s, and all began on time."


def test_idle_triggers_that_were_not_reported_are_no_delay() -> None:
    found = delays(batches((0, 6000), (20_002, 100)), 4.0)
    assert found == [(20.002, 2)]


def test_the_greatest_delay_of_each_bin_is_shown() -> None:
    late = delays(batches((0, 6000), (6010, 5000), (11_020, 100), (12_000, 10)), 4.0)
    assert [late_ms for _, late_ms in late] == [2010, 3020, 0]
    assert over_time(late, FRAME) == {"t": [6, 11, 12], "delay": [2010, 3020, 0]}
    assert describe(late, 4.0) == (
        "Batches were due every 4 s; 2 of 3 began later, by at most 3.02 s."
    )


@pytest.mark.parametrize("trigger_s", [1.0, None])
def test_delays_are_shown_where_a_trigger_was_asked_for(
    make: RunMaker, trigger_s: float | None
) -> None:
    folder = make(trials=1)
    (result,) = folder.trials()
    view = view_trial(folder, result.model_copy(update={"trigger_s": trigger_s}), 100)
    assert ("delay" in view.charts) == (trigger_s is not None)
    assert ("every 1 s" in json.dumps(view.said)) == (trigger_s is not None)
