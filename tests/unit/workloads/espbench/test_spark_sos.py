import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workloads.espbench.spark_sos import outlier_probabilities

Floats = npt.NDArray[np.float64]


def bisected(points: Floats, perplexity: float, steps: int = 50) -> Floats:
    """Follow the definition, point by point."""
    count = len(points)
    chosen = np.zeros((count, count))
    for i in range(count):
        others = np.arange(count) != i
        distances = np.linalg.norm(points[others] - points[i], axis=1)
        chosen[i, others] = affinities(distances, float(np.log(perplexity)), steps)
    result: Floats = np.prod(1 - chosen, axis=0)
    return result


def affinities(distances: Floats, target: float, steps: int) -> Floats:
    beta, low, high = 1.0, None, None
    for _ in range(steps):
        with np.errstate(all="ignore"):
            a = np.exp(-beta * distances)
            entropy = np.log(a.sum()) + beta * (distances * a).sum() / a.sum()
        if entropy > target:
            low, beta = beta, beta * 2 if high is None else (beta + high) / 2
        else:
            high, beta = beta, beta / 2 if low is None else (beta + low) / 2
    a = np.exp(-beta * distances)
    if a.sum() == 0:  # beyond the last β that left any affinity
        assert low is not None
        a = np.exp(-low * distances)
    result: Floats = a / a.sum()
    return result


def walk(seed: int, step: float, count: int = 200) -> Floats:
    rng = np.random.default_rng(seed)
    mf01 = np.round(13_049 + np.cumsum(rng.normal(0, step, count)))
    mf01[50:70] += np.round(3_000 * 0.5 ** np.arange(20))
    return np.column_stack([mf01, np.round(1.132 * mf01 - 398 + rng.normal(0, 31, count))])


def test_the_known_vector() -> None:
    points = np.array([[1, 1], [2, 1], [1, 2], [2, 2], [5, 8]], dtype=np.float64)
    expected = [0.2790094, 0.2577501, 0.2213613, 0.1270705, 0.9922780]
    assert outlier_probabilities(points, 3) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("step", [0.0, 0.1, 1.0, 20.0])
def test_newton_finds_what_bisection_finds(step: float) -> None:
    points = walk(1, step)
    assert outlier_probabilities(points, 30) == pytest.approx(bisected(points, 30), abs=1e-9)


def test_equal_points_are_no_outliers() -> None:
    points = np.full((500, 2), 7.0)
    assert outlier_probabilities(points, 30) == pytest.approx(bisected(points, 30), abs=1e-9)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=12, max_size=40))
def test_any_points_with_many_ties_agree_with_the_definition(
    pairs: list[tuple[int, int]],
) -> None:
    points = np.array(pairs, dtype=np.float64)
    ours, definition = outlier_probabilities(points, 5), bisected(points, 5)
    assert ours == pytest.approx(definition, abs=1e-6)


def test_points_far_from_a_dense_cluster_follow_the_definition() -> None:
    """Their affinities vanish in double precision, which the definition's bisection notices."""
    points = np.array([[13_000 + i % 20, 17_000] for i in range(500)], dtype=np.float64)
    points[[0, 499]] = [[15_500, 17_148], [6_000, 17_000]]
    ours, definition = outlier_probabilities(points, 30), bisected(points, 30)
    assert ours == pytest.approx(definition, abs=1e-9)
    assert np.flatnonzero(ours >= 0.5).tolist() == [0, 499]


@pytest.mark.parametrize("first", [352_000, 943_000])
def test_windows_on_which_plain_newton_leaps_to_and_fro(first: int) -> None:
    """One point of each lies between a dense and a sparse cluster."""
    from streamgauge.workloads.espbench import sensors

    rows = sensors.table(1_000_000, workplace=1, seed=1)
    columns = (rows.mf01[first : first + 500], rows.mf02[first : first + 500])
    points = np.column_stack(columns).astype(np.float64)
    assert outlier_probabilities(points, 30) == pytest.approx(bisected(points, 30), abs=1e-9)
