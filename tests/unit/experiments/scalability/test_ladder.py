import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability.ladder import MOST_STEPS, read_ladder
from streamgauge.units import parse_rate


@pytest.mark.parametrize(
    ("text", "factor", "values"),
    [
        ("rate:1k/s..4k/s*1.4", "rate", ("1k/s", "1.4k/s", "1.96k/s", "2.74k/s", "3.84k/s")),
        ("rate:50k/s,1k/s", "rate", ("1k/s", "50k/s")),
        ("P.sensors:100, 1000,10000", "P.sensors", ("100", "1000", "10000")),
        ("P.sensors:100..10000*10", "P.sensors", ("100", "1000", "10000")),
        ("P.window:1m,10s", "P.window", ("10s", "1m")),
        ("P.window:5s..20s*2", "P.window", ("5s", "10s", "20s")),
        ("P.window:100ms..400ms*2", "P.window", ("0.1s", "0.2s", "0.4s")),
        ("instances:1..4", "instances", ("1", "2", "3", "4")),
        ("instances:2..9+3", "instances", ("2", "5", "8")),
        ("cores:2,1", "cores", ("1", "2")),
        ("instance_memory:1GiB,512MiB", "instance_memory", ("512MiB", "1GiB")),
        ("instances:3", "instances", ("3",)),
        ("P.levels:1..3", "P.levels", ("1", "2", "3")),
    ],
)
def test_ladders_as_people_write_them(text, factor, values):
    found = read_ladder(text)
    assert (found.factor, found.values) == (factor, values)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no factor"),
        ("rate", "names no factor"),
        ("rate:", "names no factor"),
        (":1k/s", "names no factor"),
        ("rate:1k/s,,2k/s", "a value is empty"),
        ("rate:1k/s,1000/s", "are the same"),
        ("rate:1k/s..1/s", "ends below"),
        ("rate:1k/s..2k/s*1", "does not climb"),
        ("rate:1k/s..2k/s*0.5", "does not climb"),
        ("rate:1/s..2k/s*1.0001", "more than 100 steps"),
        ("instances:1..1000", "more than 100 steps"),
        ("P.attribute:hour-of-day", "is not a number"),
        ("instances:0..4", "not above 0"),
        ("rate:0/s,1k/s", "not above 0"),
        ("instances:1..4+0", "not above 0"),
    ],
)
def test_what_is_no_ladder_is_refused(text, reason):
    with pytest.raises(UsageError) as caught:
        read_ladder(text)
    assert reason in caught.value.message
    assert caught.value.remedy


@given(st.floats(1, 1e6), st.floats(1.05, 100), st.floats(1.05, 10))
def test_a_ladder_climbs_by_its_factor_up_to_its_end(low, ratio, by):
    try:
        found = read_ladder(f"rate:{low}/s..{low * ratio}/s*{by}")
    except UsageError as error:
        assert "steps" in error.message
        return
    assert list(found.sizes) == sorted(set(found.sizes))
    assert found.sizes[0] == pytest.approx(low, rel=0.006)
    assert found.sizes[-1] <= low * ratio * 1.006
    assert found.sizes[-1] * by >= low * ratio * 0.99
    assert [parse_rate(value) for value in found.values] == list(found.sizes)
    steps = zip(found.sizes, found.sizes[1:], strict=False)
    assert all(after / before == pytest.approx(by, rel=0.012) for before, after in steps)


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=20), st.randoms())
def test_listed_values_are_put_in_order(numbers, random):
    shuffled = sorted(numbers)
    random.shuffle(shuffled)
    found = read_ladder("P.sensors:" + ",".join(map(str, shuffled)))
    assert found.values == tuple(map(str, sorted(numbers)))
    assert len(found.values) <= MOST_STEPS
