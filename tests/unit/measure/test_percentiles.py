import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.percentiles import curve
from streamgauge.measure.statistics import percentile


@given(st.lists(st.floats(-1, 1e3), min_size=1, max_size=3000).map(np.array))
def test_the_curve_rises_from_the_smallest_value_to_where_the_sample_ends(values):
    at, found = curve(values)
    assert (np.diff(at) > 0).all()
    assert (np.diff(found) >= 0).all()
    assert found[0] == values.min()
    assert found[-1] == np.sort(values)[max(len(values) - 2, 0)]  # nearest rank of 1 − 1/n
    assert at[-1] == pytest.approx(math.log10(len(values)))


@pytest.mark.parametrize(("nines", "per_mille"), [(1, 900), (2, 990), (3, 999)])
def test_it_agrees_with_the_percentiles_of_the_tables(nines, per_mille):
    values = np.random.default_rng(1).lognormal(0, 1, 12_345)
    at, found = curve(values)
    (place,) = np.flatnonzero(np.isclose(at, nines))
    assert found[place] == percentile(values, per_mille)


def test_an_empty_sample_has_no_curve():
    at, found = curve(np.array([]))
    assert len(at) == len(found) == 0
