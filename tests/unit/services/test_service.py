"""How far another clock is from ours."""

from collections.abc import Iterator

import pytest

from streamgauge.services.service import measure_offset


def test_the_quickest_answer_tells_the_offset() -> None:
    # Times of asking and of the answer; the other clock is 20 s ahead, read half way or late.
    ours: Iterator[float] = iter([0.0, 1.0, 10.0, 10.2, 20.0, 24.0])
    theirs: Iterator[float] = iter([20.9, 30.1, 43.9])
    found = measure_offset(lambda: next(theirs), lambda: next(ours), tries=3)
    assert found == pytest.approx(20.0)
