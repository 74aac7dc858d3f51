"""What profiling costs, from segments with it on and off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.profilers.alternating import is_on
from streamgauge.profiling.overhead import Outputs, Segment, cost, overhead


def segments(pairs: int, factor: float, drift: float = 1.0) -> list[Segment]:
    """20 s each; with the profiler on the engine uses `factor` times as much.

    In each segment it uses `drift` times as much as in the one before.
    """
    return [
        Segment(
            start_ms=20_000 * place,
            end_ms=20_000 * (place + 1),
            on=is_on(place),
            cpu_s=10.0 * drift**place * (factor if is_on(place) else 1),
        )
        for place in range(2 * pairs)
    ]


def test_the_ratio_is_that_of_neighbours() -> None:
    due_ms = np.arange(0, 200_000, 100.0)
    took_s = np.where(np.isin(due_ms // 20_000 % 4, (1, 2)), 0.3, 0.2)
    found = overhead(segments(5, 1.02), Outputs(due_ms, took_s), ["py-spy"], "ysb/topic at 10k/s")
    assert found.pairs == 5
    assert found.cpu is not None
    assert (found.cpu.ratio, found.cpu.low, found.cpu.high) == pytest.approx((1.02,) * 3)
    assert found.latency is not None
    assert found.latency.ratio == pytest.approx(1.5)
    assert str(found) == (
        "py-spy cost CPU ×1.020 (1.020–1.020), mean latency ×1.500 (1.500–1.500) here,"
        " in 5 pairs of ysb/topic at 10k/s"
    )


def test_what_drifts_is_no_cost_of_profiling() -> None:
    found = overhead(segments(6, 1.02, drift=0.95), None, ["perf"], "q3").cpu
    assert found is not None
    assert found.ratio == pytest.approx(1.02)


def test_too_few_pairs_or_outputs_tell_nothing() -> None:
    found = overhead(segments(2, 1.5), None, ["perf"], "q3")
    assert (found.pairs, found.cpu, found.latency) == (2, None, None)
    none = Outputs(np.array([]), np.array([]))
    assert overhead(segments(9, 1.5), none, ["perf"], "q3").latency is None


def test_a_last_segment_without_a_neighbour_does_not_count() -> None:
    assert overhead(segments(4, 1.1)[:-1], None, ["perf"], "q3").pairs == 3


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=30))
def test_the_interval_holds_the_ratio(log_ratios: list[float]) -> None:
    found = cost(log_ratios)
    assert found is not None
    assert found.low <= found.ratio * (1 + 1e-9)
    assert found.ratio <= found.high * (1 + 1e-9)
