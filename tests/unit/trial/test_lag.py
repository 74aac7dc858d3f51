"""When a trial whose lag grows is cut short: late enough, and only beyond doubt."""

import numpy as np
import pytest

from streamgauge.spec.values import Span
from streamgauge.trial.lag import Hopeless

SPAN = Span(1_000_000, 1_120_000)


def timeline(slope: float, noise: float = 0.0) -> list[dict[str, float]]:
    random = np.random.default_rng(1)
    return [
        {
            "at": at,
            "log_end": 5000.0 + slope * (at - 990) + noise * random.normal(),
            "finished": 0.0,
        }
        for at in np.arange(990.0, 1120.0).tolist()
    ]


def cut_after_s(limit: float, rows: list[dict[str, float]]) -> float | None:
    """Return after how long the trial is cut, looking at it ten times a second."""
    hopeless = Hopeless(limit, SPAN)
    for now_ms in range(SPAN.start_ms, SPAN.end_ms, 100):
        if hopeless.seen([row for row in rows if row["at"] * 1000 <= now_ms], now_ms):
            return (now_ms - SPAN.start_ms) / 1000
    return None


def test_a_lag_that_certainly_grows_too_fast_cuts_the_trial_at_half_of_its_time() -> None:
    assert cut_after_s(50, timeline(slope=101)) == 60.0


@pytest.mark.parametrize("slope", [-500, 0, 49, 99])
def test_a_lag_that_grows_less_than_twice_as_fast_as_allowed_does_not(slope: float) -> None:
    assert cut_after_s(50, timeline(slope)) is None


def test_what_is_not_certain_is_waited_for() -> None:
    certain = cut_after_s(50, timeline(slope=150, noise=2500))
    assert certain is None or certain > 60
    assert cut_after_s(50, timeline(slope=110, noise=4000)) is None


def test_without_offsets_nothing_is_seen() -> None:
    assert cut_after_s(50, []) is None
