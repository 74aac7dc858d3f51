import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load import shapes
from streamgauge.load.schedule import Constant, Schedule, Share, Tabled
from streamgauge.load.shapes import Shape, Spans

rates = st.sampled_from([0.5, 1 / 3, 7.0, 999.9, 1000.0, 12_345.6, 250_000.0])
lengths_ms = st.integers(1, 3000)
spans = st.builds(Spans, st.integers(0, 500), st.just(5000), st.integers(0, 500))
arrivals = st.lists(st.integers(0, 4000), min_size=2, max_size=200).map(
    lambda times: np.array(sorted(times), dtype=np.int64) - min(times)
)
all_shapes: st.SearchStrategy[Shape] = st.one_of(
    st.builds(shapes.Steady, rates),
    st.builds(shapes.Poisson, st.sampled_from([500.0, 20_000.0])),
    st.lists(st.tuples(rates, st.integers(1, 1000)), min_size=1, max_size=5).map(shapes.steps),
    st.builds(shapes.ramp, rates, rates, lengths_ms),
    st.builds(shapes.sine, st.just(10.0), rates.map(lambda rate: rate + 10), lengths_ms),
    st.builds(shapes.bursts, rates, rates, st.integers(1, 500), st.integers(501, 2000)),
    st.builds(shapes.burst, rates, rates, lengths_ms),
    st.builds(shapes.fluctuate, rates),
    st.builds(shapes.Surges, rates, st.sampled_from([0.5, 34.0]), st.integers(2, 5)),
    st.builds(shapes.Backlog, rates, st.just(500), rates),
    st.builds(shapes.Rested, rates),
    arrivals.map(shapes.Replay),
)


def due_by(schedule: Schedule, times_ms: range) -> list[int]:
    return [schedule.due(at_ms) for at_ms in times_ms]


@given(all_shapes, spans, st.integers(0, 5999))
def test_due_counts_exactly_the_records_whose_time_has_come(
    shape: Shape, spans: Spans, at_ms: int
) -> None:
    schedule = shape.schedule(spans, 1)
    due = schedule.due(at_ms)
    total = schedule.due(spans.total - 1)
    assert schedule.due(at_ms - 1) <= due
    assert due == 0 or schedule.intended_ms(due - 1) <= at_ms
    if due < total:
        assert schedule.intended_ms(due) > at_ms
    many = np.arange(max(0, due - 3), due + 3)
    assert schedule.intended_ms(many).tolist() == [schedule.intended_ms(int(i)) for i in many]


@given(all_shapes, spans, st.integers(1, 7), st.integers(-1, 5999))
def test_shares_are_disjoint_and_leave_nothing_over(
    shape: Shape, spans: Spans, senders: int, at_ms: int
) -> None:
    whole = shape.schedule(spans, 1)
    shares = [Share(whole, number, senders) for number in range(senders)]
    due = [share.due(at_ms) for share in shares]
    assert sum(due) == whole.due(at_ms)
    assert max(due) - min(due) <= 1
    for number, share in enumerate(shares):
        for record in range(min(3, due[number])):
            assert share.intended_ms(record) == whole.intended_ms(number + record * senders)


@given(st.sampled_from([0.5, 7.0, 999.9, 12_345.67, 250_000.0]), spans)
def test_a_step_of_one_rate_is_a_constant_rate(rate: float, spans: Spans) -> None:
    stepped = shapes.steps([(rate, 100), (rate, 37)]).schedule(spans, 1)
    assert due_by(stepped, range(0, spans.total, 7)) == due_by(
        Constant(rate), range(0, spans.total, 7)
    )


def test_the_warm_up_has_the_first_rate_and_the_tail_the_last() -> None:
    schedule = shapes.steps([(1000.0, 100), (3000.0, 50)]).schedule(Spans(200, 150, 100), 1)
    assert due_by(schedule, range(99, 450, 50)) == [100, 150, 200, 250, 300, 450, 600, 750]


def test_a_pause_sends_nothing_and_then_goes_on() -> None:
    schedule = shapes.steps([(1000.0, 10), (0.0, 20), (1000.0, 10)]).schedule(Spans(0, 40, 0), 1)
    assert schedule.intended_ms(np.arange(21)).tolist() == [*range(10), *range(30, 41)]


def test_a_ramp_sends_the_mean_of_its_ends() -> None:
    schedule = shapes.ramp(0.0, 2000.0, 10_000).schedule(Spans(0, 10_000, 0), 1)
    assert schedule.due(4999) == pytest.approx(2500, abs=1)
    assert schedule.due(9999) == 10_000


def test_a_sine_sends_its_mean_over_a_period_and_its_crest_first() -> None:
    schedule = shapes.sine(500.0, 1500.0, 1000).schedule(Spans(0, 2000, 0), 1)
    assert schedule.due(999) == pytest.approx(1000, abs=1)
    assert schedule.due(499) == pytest.approx(500 + 1000 / (2 * np.pi), abs=1)


def test_bursts_end_each_period_and_a_single_one_lies_in_the_middle() -> None:
    many = shapes.bursts(1000.0, 5000.0, 10, 100).schedule(Spans(0, 200, 0), 1)
    assert due_by(many, range(89, 200, 10)) == [
        90, 140, 150, 160, 170, 180, 190, 200, 210, 220, 230, 280,
    ]  # fmt: skip
    single = shapes.burst(1000.0, 5000.0, 10).schedule(Spans(0, 110, 0), 1)
    assert [single.due(t) for t in (49, 59, 109)] == [50, 100, 150]
    with pytest.raises(ValueError, match="longer than the measured time"):
        shapes.burst(1.0, 2.0, 100).schedule(Spans(0, 100, 0), 1)


def test_a_load_fluctuates_to_a_third_and_back() -> None:
    schedule = shapes.fluctuate(3000.0).schedule(Spans(0, 300, 0), 1)
    assert [schedule.due(t) for t in (99, 199, 299)] == [300, 400, 700]


def test_poisson_arrivals_follow_the_seed_and_have_the_variance_of_their_mean() -> None:
    span = Spans(0, 100_000, 0)
    schedule = shapes.Poisson(2000.0).schedule(span, 7)
    counts = np.diff(due_by(schedule, range(-1, span.total)))
    assert counts.mean() == pytest.approx(2.0, rel=0.02)
    assert counts.var() == pytest.approx(2.0, rel=0.05)
    again = shapes.Poisson(2000.0).schedule(span, 7)
    assert due_by(again, range(1000)) == due_by(schedule, range(1000))
    other = shapes.Poisson(2000.0).schedule(span, 8)
    assert due_by(other, range(1000)) != due_by(schedule, range(1000))


def test_a_recording_keeps_its_times_between_its_mean_rate() -> None:
    replay = shapes.Replay(np.array([0, 0, 5, 9], dtype=np.int64))
    schedule = replay.schedule(Spans(10, 20, 0), 1)
    assert schedule.due(9) == 4
    assert schedule.intended_ms(np.arange(4, 8)).tolist() == [10, 10, 15, 19]
    assert schedule.due(29) == 12


@pytest.mark.parametrize(
    ("counts", "part"),
    [([], "sends nothing"), ([0, 0], "sends nothing"), ([3, 2], "backward"), ([-1, 2], "backward")],
)
def test_tables_that_make_no_sense_are_refused(counts: list[int], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        Tabled(np.array(counts, dtype=np.int64))


@pytest.mark.parametrize("shape", [shapes.steps([(1e12, 60_000)]), shapes.Poisson(1e12)])
def test_more_records_than_can_be_counted_are_refused(shape: Shape) -> None:
    with pytest.raises(ValueError, match="records would be due"):
        shape.schedule(Spans(0, 60_000, 0), 1)


def test_a_rested_load_warms_up_at_half_of_it_and_pauses_before_it_is_measured() -> None:
    schedule = shapes.Rested(1000.0).schedule(Spans(30_000, 5000, 2000), 1)
    due = [schedule.due(at_ms - 1) for at_ms in (0, 20_000, 30_000, 35_000, 37_000)]
    assert due == [0, 10_000, 10_000, 15_000, 17_000]
    short = shapes.Rested(1000.0).schedule(Spans(3000, 5000, 2000), 1)
    assert [short.due(at_ms - 1) for at_ms in (2000, 3000, 4000)] == [1000, 1000, 2000]
    assert shapes.Rested(1000.0).schedule(Spans(0, 1000, 0), 1).due(999) == 1000
