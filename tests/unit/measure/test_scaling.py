import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.scaling import BEYOND, Model, Seen, efficiencies, model
from tests.scaling import System, covered

STAGE3_CORES = {1: 38e3, 2: 152e3, 4: 304e3, 6: 342e3}
"""OSPBench, Structured Streaming, six workers: CPUs of each, messages per second."""
STAGE3_WORKERS = {1: 76e3, 2: 152e3, 4: 285e3, 6: 342e3}
STAGE101_WORKERS = {1: 133e3, 2: 304e3, 4: 589e3, 6: 912e3}


def seen_of(table: dict[int, float]) -> list[Seen]:
    return [Seen(size, capacity) for size, capacity in table.items()]


def at(found: Model, size: float) -> tuple[float, float, float]:
    return next(told for place, told in found.curve if place == pytest.approx(size))


@given(st.floats(1e3, 1e5), st.floats(0, 0.3), st.floats(0, 0.02))
def test_the_law_is_found_exactly_where_nothing_is_in_doubt(one, contention, coherence):
    system = System(one, contention, coherence)
    found = model([Seen(n, system.capacity(n)) for n in (1, 2, 4, 8)])
    assert found is not None
    assert found.kind == "usl"
    assert found.parameters["one"][1] == pytest.approx(one, rel=1e-4)
    assert found.parameters["contention"][1] == pytest.approx(contention, abs=1e-3)
    assert found.parameters["coherence"][1] == pytest.approx(coherence, abs=1e-3)
    assert at(found, 16)[1] == pytest.approx(system.capacity(16), rel=0.01)


@given(st.floats(0, 1e4), st.floats(1e3, 1e5))
def test_three_sizes_are_a_line(base, each):
    found = model([Seen(n, base + each * n) for n in (1, 2, 3)])
    assert found is not None
    assert (found.kind, found.peak) == ("linear", None)
    assert at(found, 6)[1] == pytest.approx(base + each * 6, rel=1e-6)


def test_two_sizes_are_no_model():
    assert model([]) is None
    assert model([Seen(1, 100.0), Seen(2, 200.0)]) is None
    assert model([Seen(1, 100.0), Seen(2, 200.0), Seen(2, 210.0)]) is None


@given(
    st.lists(st.floats(1.0, 1e6), min_size=4, max_size=6),
    st.floats(1.0, 2.0),
)
def test_any_capacities_have_a_model_with_ordered_intervals(capacities, step):
    found = model([Seen(n + 1, low, low * step) for n, low in enumerate(capacities)])
    assert found is not None
    for _, (low, middle, high) in [
        *found.curve,
        *((0, each) for each in found.parameters.values()),
    ]:
        assert 0 <= low <= middle <= high
        assert np.isfinite(high)
    assert found.curve[-1][0] == BEYOND * len(capacities)
    assert found.parameters["contention"][0] >= 0


def test_coherence_makes_a_peak():
    system = System(1000.0, 0.05, 0.01)
    found = model([Seen(n, system.capacity(n)) for n in (1, 2, 4, 8)])
    assert found is not None
    assert found.peak == pytest.approx(np.sqrt(0.95 / 0.01), rel=0.01)


def test_a_wider_step_of_the_ladder_makes_the_model_less_sure():
    system = System(9000.0, 0.1, 0.002)

    def width(step: float) -> float:
        capacities = {n: system.capacity(n) for n in (1, 2, 4, 8)}
        found = model([Seen(n, c / step**0.5, c * step**0.5) for n, c in capacities.items()])
        assert found is not None
        low, _, high = at(found, 16)
        return high / low

    assert width(1.1) < width(1.4) < width(2.0)


def test_the_interval_covers_the_truth_of_simulated_systems():
    """The full number of systems is in `make bench ONLY=scalability`."""
    assert 0.8 <= covered(40, sizes=(1, 2, 4, 8), noise=0.05) <= 1.0


def test_scaling_efficiency_is_that_of_the_published_table():
    told = [round(efficiency, 2) for _, _, efficiency in efficiencies(seen_of(STAGE3_CORES))]
    assert told == [2.0, 1.0, 0.75]
    told = [round(efficiency, 2) for _, _, efficiency in efficiencies(seen_of(STAGE3_WORKERS))]
    assert told == [1.0, 0.94, 0.8]
    told = [round(efficiency, 2) for _, _, efficiency in efficiencies(seen_of(STAGE101_WORKERS))]
    assert told == [1.14, 0.97, 1.03]


def test_the_published_join_has_contention_or_coherence_and_the_window_has_hardly_any():
    join, window = model(seen_of(STAGE3_WORKERS)), model(seen_of(STAGE101_WORKERS))
    assert join is not None
    assert window is not None
    assert join.peak is not None
    assert join.peak < 20
    assert at(window, 12)[1] > 1.6 * 912e3
