import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.lateness import Lateness

STEP_S = 10.001e-6


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 50)), min_size=1))
def test_statistics_are_those_of_every_single_record(groups: list[tuple[int, int]]) -> None:
    lateness = Lateness()
    for late_ns, records in groups:
        lateness.add(late_ns, records)
    every = sorted(late_ns / 1e9 for late_ns, records in groups for _ in range(records))
    found = lateness.statistics()
    assert found["max"] == pytest.approx(every[-1], abs=STEP_S)
    assert found["min"] == pytest.approx(every[0], abs=STEP_S)
    for name, p in (("p50", Fraction(1, 2)), ("p90", Fraction(9, 10)), ("p99", Fraction(99, 100))):
        if len(every) * (1 - p) >= 1:
            assert found[name] == pytest.approx(every[math.ceil(p * len(every)) - 1], abs=STEP_S)
        else:
            assert name not in found


def test_nothing_sent_has_no_statistics() -> None:
    assert Lateness().statistics() == {}
