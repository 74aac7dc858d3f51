import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge import units
from streamgauge.errors import UsageError


@pytest.mark.parametrize(
    ("text", "per_s"),
    [
        ("20k/s", 20_000),
        ("1k/s", 1000),
        ("0.5/s", 0.5),
        ("1M/s", 1e6),
        ("1.5M", 1.5e6),
        ("250", 250),
        (" 3 k / s ", 3000),
        ("90/min", 1.5),
        ("1e3/s", 1000),
    ],
)
def test_rates_as_people_write_them(text, per_s):
    assert units.parse_rate(text) == per_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5m", 300),
        ("90s", 90),
        ("250ms", 0.25),
        ("1h30m", 5400),
        ("1h 30min 5s", 5405),
        ("12", 12),
        ("5sec", 5),
        ("0.5", 0.5),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("2d", 172_800),
        ("0s", 0),
    ],
)
def test_durations_as_people_write_them(text, seconds):
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MiB", 64 * 2**20),
        ("16384", 16384),
        ("16384B", 16384),
        ("1GB", 10**9),
        ("1.5KiB", 1536),
        ("32 MiB", 32 * 2**20),
        ("2k", 2000),
        ("1TiB", 2**40),
    ],
)
def test_sizes_as_people_write_them(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_rate, "fast"),
        (units.parse_rate, ""),
        (units.parse_rate, "-1k/s"),
        (units.parse_rate, "1k/fortnight"),
        (units.parse_rate, "nan"),
        (units.parse_rate, "1e999"),
        (units.parse_duration, "5 parsecs"),
        (units.parse_duration, "m"),
        (units.parse_duration, ""),
        (units.parse_duration, "5m-3s"),
        (units.parse_duration, "-5s"),
        (units.parse_size, "64XiB"),
        (units.parse_size, "0.3B"),
        (units.parse_size, "1iB"),
        (units.parse_size, "lots"),
        (units.parse_count, "10k/s"),
    ],
)
def test_nonsense_is_refused_by_name_with_an_example(parse, text):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert repr(text) in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0012, "1.2 ms"),
        (0.345, "345 ms"),
        (0.99999, "1 s"),
        (1.5, "1.5 s"),
        (90, "90 s"),
        (300, "5 min"),
        (5400, "1 h 30 min"),
        (125, "2 min 5 s"),
        (3e-6, "3 µs"),
        (0, "0 s"),
        (-0.002, "-2 ms"),
    ],
)
def test_durations_for_people(seconds, text):
    assert units.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (999_999, "1M"),
        (1500, "1.5k"),
        (20_000, "20k"),
        (1_234_567, "1.235M"),
    ],
)
def test_counts_for_people(count, text):
    assert units.format_count(count) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (512, "512 B"), (64 * 2**20, "64 MiB"), (1.5 * 2**30, "1.5 GiB")],
)
def test_sizes_for_people(size, text):
    assert units.format_size(size) == text


@given(st.floats(min_value=1e-3, max_value=1e12))
def test_a_formatted_rate_reads_back(per_s):
    assert units.parse_rate(units.format_rate(per_s)) == pytest.approx(per_s, rel=1e-3)


@given(st.floats(min_value=1e-3, max_value=1e12))
def test_a_formatted_count_reads_back(count):
    assert units.parse_count(units.format_count(count)) == pytest.approx(count, rel=1e-3)


@given(st.floats(min_value=1e-5, max_value=1e7))
def test_a_formatted_duration_reads_back(seconds):
    # Above an hour the seconds are left out.
    assert units.parse_duration(units.format_duration(seconds)) == pytest.approx(seconds, rel=2e-2)


@given(st.integers(min_value=0, max_value=2**50))
def test_a_formatted_size_reads_back(size):
    text = units.format_size(size)
    number, unit = text.split()
    assert units.parse_size(f"{round(float(number) * 1000)}{unit}") == pytest.approx(
        size * 1000, rel=1e-2
    )


@given(
    st.integers(min_value=0, max_value=10**12), st.sampled_from(["", "B", "k", "MB", "KiB", "GiB"])
)
def test_whole_sizes_are_exact(number, unit):
    factor = {"": 1, "B": 1, "k": 1000, "MB": 10**6, "KiB": 1024, "GiB": 2**30}[unit]
    assert units.parse_size(f"{number}{unit}") == number * factor
