from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.load import arrivals
from streamgauge.spec.trial import TrialSpec


def make_spec(schedule: str | None, **changes: object) -> TrialSpec:
    fields: dict[str, object] = {
        "number": 1,
        "workload": "espbench",
        "query": "q3",
        "parameters": {},
        "engine": "noop",
        "rate": 1000.0,
        "shape": schedule,
        "warmup_s": 1.0,
        "duration_s": 4.0,
        "tail_s": 1.0,
    }
    return TrialSpec.model_validate(fields | changes)


def test_without_a_shape_the_rate_is_constant() -> None:
    assert arrivals.records(make_spec(None)) == 6000
    assert arrivals.profile(make_spec(None), 2) == [1000.0, 1000.0]


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("constant:2k/s", [2000, 2000, 2000, 2000]),
        ("steps:10k/s@1s,50k/s@2s", [10_000, 50_000, 50_000, 50_000]),
        ("steps:60/min@1s, 0/s@1s, 2/s@1s", [1, 0, 2, 2]),
        ("ramp:0..8k/s@4s", [1000, 3000, 5000, 7000]),
        ("ramp:8k/s..0/s@4s", [7000, 5000, 3000, 1000]),
        ("sine:1k/s..3k/s@1s", [2000, 2000, 2000, 2000]),
        ("bursts:1k/s,5k/s@500ms/1s", [3000, 3000, 3000, 3000]),
        ("bursts:1k/s,5k/s@2s", [1000, 5000, 5000, 1000]),
        ("fluctuate:3k/s", [3000, 1667, 1667, 3000]),
        ("burst:1k/s,34x/2s", [1000, 34_000, 1000, 34_000]),
        ("burst:1k/s, 0.5x/3s", [1000, 1000, 500, 1000]),
        ("burst:1k/s,34x", [1000, 1000, 1000, 1000]),
        ("backlog:6k/s@1s,2k/s", [2000, 2000, 2000, 2000]),
    ],
)
def test_shapes_as_they_are_written(text: str, profile: list[float]) -> None:
    assert arrivals.profile(make_spec(text), 4) == pytest.approx(profile, abs=1)


@pytest.mark.parametrize(
    ("text", "part", "remedy"),
    [
        ("stairs:10k/s@60s", "unknown shape of a load 'stairs'", "Known: backlog, burst, bursts"),
        ("step:10k/s@60s", "unknown shape", "Did you mean steps?"),
        ("", "unknown shape", "Known: backlog, burst, bursts"),
        ("steps", "is empty", "steps:10k/s@60s"),
        ("steps: ", "is empty", "steps:10k/s@60s"),
        ("steps:10k/s@1s,", "'' is not a rate", "20k/s"),
        ("steps:10k/s", "the length is missing", "steps:10k/s@60s"),
        ("steps:10k/s@0s", "too short", "steps:"),
        ("steps:10k/s@-5s", "-5s", "90s"),
        ("steps:-1k/s@5s", "-1k/s", "20k/s"),
        ("steps:0/s@5s", "sends nothing", "steps:"),
        ("steps:1k/s@5h", "too long", "steps:"),
        ("constant:0/s", "sends nothing", "constant:"),
        ("poisson:0", "sends nothing", "poisson:"),
        ("ramp:1k/s@4s", "two rates", "ramp:"),
        ("ramp:0..0@4s", "sends nothing", "ramp:"),
        ("sine:3k/s..1k/s@1s", "the lower rate comes first", "sine:"),
        ("bursts:1k/s", "rate of the burst is missing", "bursts:"),
        ("bursts:1k/s,5k/s@2s/1s", "no time between", "bursts:"),
        ("burst:1k/s", "a rate and a factor are needed", "burst:1k/s,34x"),
        ("burst:0/s,34x", "sends nothing", "burst:"),
        ("burst:1k/s,0x", "the factor must be above 0", "burst:"),
        ("burst:1k/s,34x/1s", "at least 2", "burst:"),
        ("burst:1k/s,34x/2500ms", "whole seconds", "burst:"),
        ("backlog:6k/s@5m", "the rate after the backlog is missing", "backlog:6k/s@5m,1k/s"),
        ("backlog:0/s@5m,1k/s", "the backlog is empty", "backlog:"),
        ("replay:nowhere.csv", "cannot read the recording nowhere.csv", "column `time`"),
        ("replay:trace.csv@0x", "the speed must be above 0", "replay:"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, part: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        arrivals.parse_shape(text)
    assert part in caught.value.message
    assert remedy in (caught.value.remedy or "")


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in arrivals.FORMS:
        if name != "replay":
            try:
                arrivals.parse_shape(f"{name}:{text}")
            except UsageError as error:
                assert error.message


@pytest.mark.parametrize(
    ("text", "changes", "part"),
    [
        ("steps:1k/s@3s,2k/s@3s", {}, "lasts 6 s, the measured time 4 s"),
        ("steps:1G/s@4s", {"warmup_s": 900.0}, "records would be due"),
        ("fluctuate:1k/s", {"duration_s": 20_000.0}, "at most 4 h"),
    ],
)
def test_what_does_not_fit_the_trial_is_refused(
    text: str, changes: dict[str, float], part: str
) -> None:
    with pytest.raises(UsageError, match=part):
        arrivals.schedule(make_spec(text, **changes))


@pytest.mark.parametrize(
    ("rate", "part"),
    [
        (0.00001, "below 0.0001/s"),
        (2e9, "above 1G/s"),
        (1e9, "at most 100G are possible"),
    ],
)
def test_rates_that_nobody_can_count_with_are_refused(rate: float, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        arrivals.check(make_spec(None, rate=rate, duration_s=1000.0))


@given(st.floats(arrivals.LOWEST_RATE, arrivals.HIGHEST_RATE))
def test_all_other_rates_have_a_schedule(rate: float) -> None:
    spec = make_spec(None, rate=rate)
    arrivals.check(spec)
    assert arrivals.records(spec) >= 1


def test_a_constant_rate_may_last_for_days() -> None:
    assert arrivals.records(make_spec("constant:10/s", duration_s=864_000.0)) == 8_640_020


def test_a_recording_is_found_from_every_folder(tmp_path: Path) -> None:
    settled = arrivals.settle("replay:trace.csv@10x")
    assert settled == f"replay:{Path.cwd() / 'trace.csv'}@10x"
    assert arrivals.settle("steps:1/s@1s") == "steps:1/s@1s"
    file = tmp_path / "trace@2.csv"
    file.write_text("time\n0\n10\n40\n")
    spec = make_spec(f"replay:{file}@10x", warmup_s=0.0, duration_s=4.001)
    assert arrivals.schedule(spec).due(999) == 1
    assert arrivals.schedule(spec).due(1000) == 2
    assert arrivals.schedule(spec).due(4000) == 3


@pytest.mark.parametrize(
    ("text", "least"),
    [
        (None, 500.0),
        ("constant:1k/s", 500.0),
        ("steps:1k/s@2s,30/s@2s", 15.0),
        ("bursts:0/s,5k/s@1s/3s", 0.0),
        ("bursts:20/s,5k/s@1s/3s", 10.0),
    ],
)
def test_the_slowest_second_of_a_partition(text: str | None, least: float) -> None:
    assert arrivals.least_rate(make_spec(text, partitions=2)) == pytest.approx(least)


def test_a_pause_of_a_second_is_found_wherever_it_begins() -> None:
    for begins_ms in range(1000, 1100, 7):
        text = f"steps:1k/s@{begins_ms}ms,0/s@1s,1k/s@{3000 - begins_ms}ms"
        assert arrivals.least_rate(make_spec(text)) == 0


@pytest.mark.parametrize(
    ("text", "span_ms", "fewest"),
    [
        (None, 1250, 1250.0),
        ("constant:1k/s", 1250, 1250.0),
        ("steps:1k/s@1s,0/s@1s,1k/s@1s", 1000, 0.0),
        ("steps:1k/s@1s,0/s@1s,1k/s@1s", 2500, 1500.0),
        ("constant:1k/s", 3_600_000, 6000.0),
    ],
)
def test_the_emptiest_span_of_a_load(text: str | None, span_ms: int, fewest: float) -> None:
    assert arrivals.fewest(make_spec(text), span_ms) == pytest.approx(fewest, abs=1)


def test_all_records_of_a_burst_are_due_with_its_second() -> None:
    spec = make_spec("burst:100/s,34x/2s")
    planned = arrivals.schedule(spec)
    before = planned.due(1999)
    assert planned.due(2000) - before == 3400
    assert planned.due(2999) - before == 3400
    assert planned.due(3999) - before == 3500


def test_the_seconds_of_bursts_are_counted_from_the_beginning_of_the_load() -> None:
    planned = arrivals.schedule(make_spec("burst:100/s,34x/2s", warmup_s=0.5))
    assert planned.due(2000) - planned.due(1999) == 3400


def test_a_backlog_gathers_in_place_of_the_warmup() -> None:
    spec = make_spec("backlog:6k/s@1s,2k/s")
    assert arrivals.backlog_s(spec.shape) == 1.0
    assert arrivals.schedule(spec).due(999) == 6000
    assert arrivals.records(spec) == 6000 + 5 * 2000
    assert arrivals.backlog_s("constant:1k/s") is None
    assert arrivals.backlog_s(None) is None
