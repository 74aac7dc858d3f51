from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.planning import load_engine, settle, trial_job
from streamgauge.spec.form import JSON
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.spec.workload import HasTables, PlansTrials, RemarksOnTrials, ShapesQueries
from streamgauge.workloads.theodolite import Theodolite, data
from streamgauge.workloads.theodolite.parameters import Parameters
from streamgauge.workloads.theodolite.spark import QUERIES
from streamgauge.workloads.theodolite.spark_facts import FACTS
from streamgauge.workloads.theodolite.state import open_groups


def spec(
    query: str = "uc2", rate: float = 1000.0, changes: Any = None, **parameters: Any
) -> TrialSpec:
    fields: dict[str, Any] = {
        "number": 1,
        "workload": "theodolite",
        "query": query,
        "parameters": Parameters(**parameters).model_dump(mode="json"),
        "engine": "reference",
        "rate": rate,
        "duration_s": 60.0,
        "warmup_s": 0.0,
    }
    return TrialSpec(**{**fields, **(changes or {})})


def resolve(
    query: str, partitions: int = 1, rate: float = 1000.0, quarter: int = 0, **options: str
) -> JobSpec:
    job = JobSpec(
        workload="theodolite",
        query=query,
        parameters=Parameters().model_dump(mode="json"),
        partitions=partitions,
        seed=1,
        least_rate=rate / partitions,
        quarter_records=quarter,
        options=options,
    )
    return load_engine("spark").resolve(job)


def test_every_query_is_there() -> None:
    assert set(QUERIES) == set(FACTS) == set(Theodolite.queries)
    abilities = (HasTables, PlansTrials, RemarksOnTrials, ShapesQueries)
    assert all(isinstance(Theodolite(), ability) for ability in abilities)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"window": "30d"}, r"2,592,000 windows of uc3 \(at most 1,000 are"),
        ({"window": "1s", "slide": "2s"}, "records between two windows would have no answer"),
        ({"window": "0s"}, "greater than 0"),
        ({"window": "41d", "slide": "1d"}, "less than or equal to 3456000"),
        ({"window": "1.5ms"}, "whole milliseconds"),
        ({"levels": 8}, "65,536 sensors and 21,845 groups"),
        ({"children": 64, "levels": 16}, "lower levels or children"),
        ({"children": 2, "levels": 14}, "16,384 sensors and 16,383 groups"),
        ({"value": 0.1}, "multiple of 0.25"),
        ({"zone": "Paris"}, "write it like Europe/Paris"),
        ({"attribute": "hours"}, "hour-of-day"),
        ({"bad": 1.5}, "less than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Parameters(**given)


def test_published_sizes_are_allowed() -> None:
    for window, slide in (("30d", "1d"), ("5m", "1m"), ("20m", "1m"), ("30s", "1s")):
        assert Parameters(window=window, slide=slide).slide_ms
    assert Parameters(levels=7).group_sensors == 16_384
    assert len(data.hierarchy(4, 7)) < 1_000_000
    assert len(data.hierarchy(2, 13)) < 1_000_000


def test_windows_have_the_length_of_their_use_case_unless_one_is_given() -> None:
    assert [Parameters().window_ms(case) for case in ("uc2", "uc3", "uc4")] == [
        10_000,
        30_000,
        5_000,
    ]
    assert Parameters(window="1m").window_ms("uc4") == 60_000


@pytest.mark.parametrize(
    ("query", "parameters", "sensors"),
    [
        ("uc2", {}, 1000),
        ("uc2", {"period": "500ms"}, 500),
        ("uc2", {"sensors": 10_000}, 10_000),
        ("uc2", {"sensors": 100, "period": "100ms"}, 100),
        ("uc4-single", {"levels": 5}, 1024),
        ("uc4-single", {"levels": 5, "sensors": 1024, "period": "1024ms"}, 1024),
    ],
)
def test_sensors_follow_from_two_of_three(
    query: str, parameters: dict[str, Any], sensors: int
) -> None:
    chosen = Parameters(**parameters)
    settle(spec(query, **parameters))
    assert chosen.sensors_of(query, 1000.0) == sensors


def test_a_rate_that_sensors_and_period_do_not_give_is_refused() -> None:
    with pytest.raises(UsageError, match="100 sensors that send every 1 s send 100/s, not 1k/s"):
        settle(spec(sensors=100, period="1s"))
    with pytest.raises(UsageError, match="at most 1,000,000 are allowed"):
        settle(spec(rate=100_000, period="1m"))
    with pytest.raises(UsageError, match=r"256 sensors, children \^ levels, not 7"):
        settle(spec("uc4-single", sensors=7))
    with pytest.raises(UsageError, match="256 sensors that send every 500 ms send 512/s"):
        settle(spec("uc4-single", rate=10.0, period="500ms"))


def test_a_rate_that_is_no_multiple_of_the_sensors_is_rounded_and_said() -> None:
    settled = settle(spec(rate=10.0, period="333ms"))
    (note,) = settled.notes
    assert "3.33 sensors: here 3 send every 300 ms" in note
    assert settle(settled).notes == settled.notes
    assert settle(spec()).notes == ()


def test_how_often_the_sensors_of_groups_send_is_told() -> None:
    settled = settle(spec("uc4-single", rate=10.0))
    assert settled.notes == ("the 256 sensors of the groups send every 25.6 s",)
    assert settle(settled).notes == settled.notes
    assert settle(spec("uc4-single", rate=256.0)).notes == ()


@pytest.mark.parametrize(
    ("query", "senders", "delay_ms"),
    [("uc2", 1, 0), ("uc2", 2, 2000), ("uc4-feedback", None, 2000), ("uc1-topic", 2, 0)],
)
def test_windows_wait_for_senders_that_may_overtake_each_other(
    query: str, senders: int | None, delay_ms: int
) -> None:
    settled = settle(spec(query, changes={"load": LoadSpec(senders=senders)}))
    assert Parameters.model_validate(settled.parameters).delay_ms == delay_ms
    assert any("overtake" in note for note in settled.notes) == (delay_ms > 0)
    assert settle(settled) == settled
    asked = settle(spec(query, changes={"load": LoadSpec(senders=senders)}, delay="0s"))
    assert asked.parameters["delay"] == 0


def test_state_that_may_not_fit_into_memory_is_told_before() -> None:
    in_memory = {"engine": "spark", "engine_options": {"method": "bucket"}}
    (note,) = settle(spec("uc3-final", 50_000.0, in_memory)).notes
    assert "1.5M groups" in note
    assert "rocksdb" in note
    hour = Parameters(window="30d", slide="1d")
    assert open_groups("uc3", hour, 10_000, 300.0) == 10_000 * 30 * 1
    assert open_groups("uc3", hour, 10_000, 7200.0) == 10_000 * 30 * 3
    changes = {"engine": "spark", "engine_options": {"store": "rocksdb"}}
    (note,) = settle(spec("uc3-final", 50_000.0, changes)).notes
    assert "1.5M groups" in note
    assert "rocksdb" not in note
    cycle = Parameters(attribute="cycle:7:1s")
    assert open_groups("uc3", cycle, 100, 60.0) == 100 * 30 * 7


@pytest.mark.parametrize(
    ("query", "parameters", "method", "told"),
    [
        ("uc3-sliding", {}, None, "up to 1.5M values"),
        ("uc3-final", {"aggregate": "median"}, "bucket", "up to 45M values"),
        ("uc3-final", {"aggregate": "median"}, "slices", "up to 1.5M values"),
        ("uc3-sliding", {"window": "1h", "slide": "1m"}, None, "up to 3.1M values"),
    ],
)
def test_where_values_are_kept_they_are_counted(
    query: str, parameters: dict[str, Any], method: str | None, told: str
) -> None:
    options = {} if method is None else {"method": method}
    asked = spec(query, 50_000.0, {"engine_options": options, "engine": "spark"}, **parameters)
    (note,) = settle(asked).notes
    assert told in note
    assert ("rocksdb" in note) == (query != "uc3-sliding")


@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        ("steps:1k/s@20s,0/s@10s,1k/s@20s", 800.0),
        ("steps:1k/s@20s,0/s@1250ms,1k/s@20s", 900.0),
        (None, 0.1),
    ],
)
def test_sums_are_not_fed_back_while_no_record_comes(shape: str | None, rate: float) -> None:
    changes = {"shape": shape}
    with pytest.raises(UsageError, match=r"no record for 1.25 s at a time, a quarter"):
        settle(spec("uc4-feedback", rate, changes))
    settle(spec("uc4-single", rate, changes))
    settle(spec("uc4-feedback", rate, changes, window="60s"))


@pytest.mark.parametrize(
    ("shape", "most"), [(None, 1250), ("burst:1k/s,34x", 275), ("ramp:2k/s..4k/s@60s", 2500)]
)
def test_batches_are_as_long_as_the_emptiest_quarter_of_a_window_allows(
    shape: str | None, most: int
) -> None:
    planned = settle(spec("uc4-feedback", changes={"shape": shape, "engine": "spark"}))
    found = trial_job(planned).settings["source.maxOffsetsPerTrigger"]
    assert int(found) == pytest.approx(most, rel=0.02)


def test_with_feedback_the_load_goes_on_until_the_root_has_its_sums() -> None:
    settled = settle(spec("uc4-feedback", levels=3))
    assert settled.tail_s == 18.0
    assert any("until the root" in note for note in settled.notes)
    assert settle(settled) == settled
    assert settle(spec("uc4-single")).tail_s == 2.0


def test_a_new_hour_or_window_in_the_measured_time_is_told() -> None:
    midnight = 1_700_006_400_000
    span = Span(midnight - 60_000, midnight + 60_000)
    workload, days = Theodolite(), {"window": "30d", "slide": "1d"}
    hours, windows = workload.remarks(spec("uc3-update", **days), span)
    assert "hour-of-day" in hours
    assert "each sensor was in one more window" in windows
    assert workload.remarks(spec("uc2", **days), span) == []
    after = Span(midnight + 5_000, midnight + 60_000)
    warmed_up = spec("uc3-update", **days).model_copy(update={"warmup_s": 6.0})
    assert [
        "1 s after the beginning of the load" in told for told in workload.remarks(warmed_up, after)
    ] == [True, True]
    assert workload.remarks(spec("uc3-final"), Span(midnight, midnight + 60_000)) == []


def test_each_period_every_sensor_sends_once_under_its_key() -> None:
    payloads = Theodolite().payloads(spec(sensors=30, ring=100), "records", 1000)
    assert payloads.keys is not None
    values = [value for block in payloads.blocks for value in block]
    keys = [key for block in payloads.keys for key in block]
    assert len(values) == len(keys) == 90
    assert len(payloads.shifts or ()) == 90
    for first in range(0, 90, 30):
        assert len(set(keys[first : first + 30])) == 30
    assert keys[:30] == keys[30:60] != sorted(keys[:30])
    for value, key in zip(values, keys, strict=True):
        found = json.loads(JSON.value(1, 2, value % 2))
        assert found["identifier"] == key.decode()
        assert found["timestamp"] == found["intended"]
        assert 0 <= found["valueInW"] < 1000
        assert found["valueInW"] * 4 == int(found["valueInW"] * 4)


def test_more_sensors_than_records_are_no_error() -> None:
    payloads = Theodolite().payloads(spec(sensors=5000), "records", 7)
    assert sum(map(len, payloads.blocks)) == 7


def test_the_published_power_is_that_of_every_record() -> None:
    payloads = Theodolite().payloads(spec(value=10), "records", 20)
    assert all(value.endswith(b'"valueInW":10.0}') for block in payloads.blocks for value in block)


def test_some_records_cannot_be_read() -> None:
    payloads = Theodolite().payloads(spec(bad=0.5), "records", 1000)
    bad = 0
    for value in (value for block in payloads.blocks for value in block):
        assert JSON.fits(value)
        try:
            bad += not isinstance(json.loads(JSON.value(1, 2, value % 2))["valueInW"], float)
        except json.JSONDecodeError:
            bad += 1
    assert 400 < bad < 600


def test_the_hierarchy_is_sent_as_it_was_published() -> None:
    payloads = Theodolite().payloads(spec("uc4-single", children=2, levels=2), "configuration", 9)
    ((hierarchy,),) = payloads.blocks
    assert json.loads(b"{" + hierarchy) == {
        "identifier": "group_lvl_0",
        "children": [
            {"identifier": "g_1_0", "children": [{"identifier": "s_0"}, {"identifier": "s_1"}]},
            {"identifier": "g_1_2", "children": [{"identifier": "s_2"}, {"identifier": "s_3"}]},
        ],
    }
    assert payloads.keys == [[b"\0\0\0\0"]]


@pytest.mark.parametrize(
    ("query", "mode", "reason"),
    [
        ("uc1-postgres", "realtime", "foreachBatch"),
        ("uc2", "realtime", "never says which output is the last"),
        ("uc2", "continuous", "no aggregation"),
        ("uc3-final", "realtime", "never says which output is the last"),
        ("uc3-update", "realtime", "use theodolite/uc3-every"),
        ("uc3-every", "microbatch", "use theodolite/uc3-update"),
        ("uc4-single", "realtime", "result of an aggregation"),
        ("uc4-feedback", "realtime", "result of an aggregation"),
    ],
)
def test_modes_that_cannot_give_the_answers_are_refused(query: str, mode: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        resolve(query, mode=mode)


@pytest.mark.parametrize("query", ["uc3-final", "uc3-update", "uc3-every", "uc3-sliding"])
def test_hours_are_taken_from_utc(query: str) -> None:
    zone = "conf.spark.sql.session.timeZone"
    with pytest.raises(UsageError, match=r"the session of uc3-.* must be in UTC") as refused:
        resolve(query, **{zone: "Asia/Tokyo"})
    assert "-P zone" in refused.value.message
    assert resolve(query, **{zone: "UTC"}).settings["spark.sql.session.timeZone"] == "UTC"
    assert resolve("uc2", **{zone: "Asia/Tokyo"}).options[zone] == "Asia/Tokyo"


def test_real_time_is_chosen_where_it_can_answer() -> None:
    real_time = {name for name in FACTS if resolve(name).mode == "realtime"}
    assert real_time == {"uc1-topic", "uc3-every"}
    assert resolve("uc3-every").settings["store"] == "rocksdb"


def test_no_batch_is_longer_than_a_part_of_a_window_where_sums_come_in_again() -> None:
    settings = resolve("uc4-feedback", partitions=2, quarter=12_500).settings
    assert settings["source.maxOffsetsPerTrigger"] == "12500"
    asked = resolve("uc4-feedback", **{"conf.source.maxOffsetsPerTrigger": "7"}).settings
    assert asked["source.maxOffsetsPerTrigger"] == "7"
    assert "source.maxOffsetsPerTrigger" not in resolve("uc4-single").settings
    plain = resolve("uc4-feedback", profile="defaults").settings
    assert "source.maxOffsetsPerTrigger" in plain, "it is no matter of speed"


def test_a_marker_of_a_query_that_answers_each_record_tells_its_key() -> None:
    parameters = Parameters(window="4s", slide="2s", attribute="cycle:12:5s")
    query = Theodolite().shaped(Theodolite.queries["uc3-every"], parameters.model_dump(mode="json"))
    assert query.marker_key is not None
    marker = JSON.value(7, 1_700_000_012_345, data.markers(7, 0)[0] % 1_700_000_012_345)
    assert query.marker_key(marker) == "1700000012000,6,s_marker_7,1"


def test_queries_with_windows_know_their_size() -> None:
    sizes = {
        name: Theodolite().shaped(query, Parameters().model_dump(mode="json")).window_ms
        for name, query in Theodolite.queries.items()
    }
    assert sizes == {
        "uc1-postgres": None,
        "uc1-topic": None,
        "uc2": 10_000,
        "uc3-final": 30_000,
        "uc3-update": None,
        "uc3-every": None,
        "uc3-sliding": 30_000,
        "uc4-single": 5_000,
        "uc4-feedback": 5_000,
    }
