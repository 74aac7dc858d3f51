from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import chain, islice
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.load import arrivals
from streamgauge.load.payloads import rendered
from streamgauge.planning import load_engine, settle
from streamgauge.spec.form import JSON
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.workloads.ospbench import Ospbench, data
from streamgauge.workloads.ospbench.parameters import Parameters
from streamgauge.workloads.ospbench.spark import QUERIES
from streamgauge.workloads.ospbench.spark_facts import FACTS

T0 = 1_700_000_000_000


def spec(query: str = "stage2", **changes: Any) -> TrialSpec:
    parameters = Parameters(**changes.pop("parameters", {})).model_dump(mode="json")
    fields: dict[str, Any] = {
        "number": 1,
        "workload": "ospbench",
        "query": query,
        "parameters": parameters,
        "engine": "reference",
        "rate": 100.0,
        "duration_s": 5.0,
        "warmup_s": 1.0,
    }
    return TrialSpec(**{**fields, **changes})


def resolve(query: str, partitions: int = 1, **options: str) -> JobSpec:
    job = JobSpec(
        workload="ospbench",
        query=query,
        parameters={},
        partitions=partitions,
        seed=1,
        options=options,
    )
    return load_engine("spark").resolve(job)


def test_every_stage_is_there() -> None:
    stages = [f"stage{n}" for n in (0, 1, 2, 3, 4, 5, 6, 100, 101)]
    assert list(Ospbench.queries) == list(QUERIES) == list(FACTS) == stages


@pytest.mark.parametrize(
    ("rate", "became", "told"),
    [
        (1000.0, 1007.0, "1,000/s became 1,007/s: each of 53 × 19 lanes"),
        (100_000.0, 99_997.0, "100,000/s became 99,997/s: each of 5,263 × 19 lanes"),
        (2.5, 19.0, "2.5/s became 19/s: each of 1 × 19 lanes"),
    ],
)
def test_a_rate_that_is_no_multiple_of_the_lanes_is_rounded_and_told(
    rate: float, became: float, told: str
) -> None:
    settled = settle(spec(rate=rate))
    assert settled.rate == became
    assert told in settled.notes[0]
    assert settle(settled) == settled


def test_a_constant_shape_is_rounded_as_well_and_others_stay() -> None:
    settled = settle(spec(shape="constant:100/s"))
    assert (settled.rate, settled.shape) == (95.0, "constant:95.0/s")
    shaped = spec(shape="burst:100/s,34x/2s")
    assert settle(shaped) == shaped.model_copy(update={"mode": "plain"})


@pytest.mark.parametrize(("senders", "delay"), [(1, None), (2, 2.0), (None, 2.0)])
def test_windows_wait_for_senders_that_may_overtake_each_other(
    senders: int | None, delay: float | None
) -> None:
    asked = spec("stage3", load=LoadSpec(senders=senders))
    settled = settle(asked)
    assert settled.parameters["delay"] == delay
    assert any("overtake" in note for note in settled.notes) == (senders != 1)
    assert settle(settled) == settled


def test_a_multiple_of_the_lanes_is_left_alone() -> None:
    assert settle(spec(rate=190.0)).notes == ()


def load(asked: TrialSpec, stream: str) -> list[dict[str, Any] | None]:
    """Return what the records of the load say, in their order; None for what is no JSON."""
    payloads = Ospbench().payloads(asked, stream, arrivals.payloads(asked))
    assert payloads.markers is not None
    assert payloads.dated is not None
    before = asked.partitions * len(payloads.markers(0, 0))
    blocks = rendered(payloads, JSON, asked.partitions)
    ring = [pair for block in blocks for pair in zip(block.payloads, block.keys, strict=True)]
    planned, said = arrivals.schedule(asked), []
    for record in range(arrivals.records(asked)):
        payload, key = ring[(before + record) % len(ring)]
        at_ms = T0 + planned.intended_ms(record)
        try:
            told = json.loads(JSON.value(record, at_ms, payload % payloads.dated(at_ms)))
        except ValueError:
            said.append(None)
            continue
        assert told["measurementId"].encode() == key
        assert told["timestamp"].encode() == data.written(at_ms)
        said.append(told)
    return said


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("query", ["stage2", "stage6"])
@pytest.mark.parametrize("shape", [None, "burst:95/s,4x/2s", "ramp:19/s..190/s@5s"])
def test_a_lane_has_at_most_one_record_a_second_and_the_same_in_both_streams(
    partitions: int, query: str, shape: str | None
) -> None:
    asked = settle(spec(query, partitions=partitions, shape=shape))
    flow, speed = (load(asked, stream) for stream in data.STREAMS)
    names = ("measurementId", "internalId", "timestamp")
    places = [
        [tuple(each[name] for name in names) for each in side if each] for side in (flow, speed)
    ]
    assert places[0] == places[1]
    assert max(Counter(places[0]).values()) == 1
    lanes: dict[Any, set[str]] = defaultdict(set)
    for point, lane, second in places[0]:
        lanes[point, second].add(lane)
    complete = sum(
        len(lanes[e["measurementId"], e["timestamp"]]) == e["num_lanes"] for e in flow if e
    )
    seconds = len({second for *_, second in places[0]})
    assert complete >= len(flow) - 2 * seconds, "but for the last point of a second"


def test_a_constant_load_has_each_lane_in_each_second() -> None:
    asked = settle(spec(rate=95.0))
    seconds: dict[str, set[Any]] = defaultdict(set)
    for told in load(asked, "flow"):
        assert told is not None
        seconds[told["timestamp"]].add((told["measurementId"], told["internalId"]))
    assert [len(lanes) for lanes in seconds.values()] == [95] * 8


@pytest.mark.parametrize("stream", data.STREAMS)
def test_what_cannot_be_parsed_comes_when_it_was_asked_for(stream: str) -> None:
    asked = settle(spec(rate=95.0, parameters={"bad": "3@2500ms"}))
    found = load(asked, stream)
    first = arrivals.schedule(asked).due(2499)
    broken = [record for record, told in enumerate(found) if told is None]
    assert broken == [first, first + 1, first + 2]


@pytest.mark.parametrize(
    ("stage", "bad", "reason"),
    [
        ("stage2", "1@10m", "by then the load is over, after 8 s"),
        ("stage100", "1@1s/speed", "stage100 reads only flow"),
    ],
)
def test_bad_records_that_no_trial_would_have_are_refused(
    stage: str, bad: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        settle(spec(stage, parameters={"bad": bad}))


@pytest.mark.parametrize("stage", Ospbench.queries)
def test_bad_records_that_a_short_trial_has_are_not_refused(stage: str) -> None:
    settle(spec(stage, parameters={"bad": "7@1s"}, warmup_s=0.5, duration_s=3.0))
    settle(spec("stage2", parameters={"bad": "1@1s/speed"}))


@pytest.mark.parametrize(
    ("stage", "rate", "options", "told"),
    [
        ("stage101", 100_000.0, {"method": "slices"}, "up to 6M values"),
        ("stage101", 100_000.0, {"method": "bucket"}, "up to 30M values"),
        ("stage100", 500_000.0, {}, "up to 1.895M groups"),
        ("stage100", 50_000.0, {}, None),
        ("stage3", 500_000.0, {}, None),
    ],
)
def test_state_that_may_not_fit_into_memory_is_told_before(
    stage: str, rate: float, options: dict[str, str], told: str | None
) -> None:
    changes: dict[str, Any] = {"engine": "spark", "duration_s": 60.0}
    settled = settle(spec(stage, rate=rate, engine_options=options, **changes))
    notes = [note for note in settled.notes if "at a time" in note]
    assert (notes == []) if told is None else (told in notes[0] and "rocksdb" in notes[0])
    assert settle(settled) == settled
    asked = settle(spec(stage, rate=rate, engine_options={"store": "rocksdb"}, **changes))
    assert not any("rocksdb" in note for note in asked.notes)


def test_the_values_are_those_of_a_ring_whose_size_can_be_chosen() -> None:
    def size(ring: int) -> int:
        asked = settle(spec(rate=950.0, duration_s=60.0, parameters={"ring": ring}))
        return sum(len(block) for block in Ospbench().payloads(asked, "flow", 10**6).blocks)

    assert (size(1), size(10_000), size(10**6)) == (7 * 950, 7 * 950, 61 * 950)


@pytest.mark.parametrize("stage", ["stage2", "stage5", "stage6"])
def test_both_markers_are_answered_by_one_output(stage: str) -> None:
    query = Ospbench.queries[stage]
    assert query.marker_key is not None
    for stream in query.streams:
        payloads = Ospbench().payloads(spec(stage), stream, 10)
        assert payloads.markers is not None
        value = JSON.value(1, 2, payloads.markers(4, T0 + 300)[-1])
        lane = ",lane1" if stage == "stage2" else ""
        assert query.marker_key(value) == f"{T0},marker/4{lane}"


@pytest.mark.parametrize("stage", ["stage0", "stage1"])
def test_markers_of_stages_without_state_are_answered_by_their_id(stage: str) -> None:
    query = Ospbench.queries[stage]
    assert query.answers_markers
    assert query.marker_key is None


@pytest.mark.parametrize("stage", ["stage3", "stage4", "stage100", "stage101"])
def test_what_the_watermark_lets_out_is_closed_by_sentinels(stage: str) -> None:
    query = Ospbench().shaped(Ospbench.queries[stage], {"window": 20.0, "slide": 5.0, "long": 4})
    assert query.needs_sentinels
    assert not query.answers_markers
    assert query.window_ms == {"stage3": 1000, "stage4": 5000}.get(stage, 20_000)
    assert query.sample is not None
    length_ms = 1000 if stage in ("stage3", "stage4") else 20_000
    assert query.sample(T0 + length_ms + 500, b"%d,0/P01,1" % T0) == 0.5


@pytest.mark.parametrize(
    ("stage", "options", "mode", "store"),
    [
        ("stage0", {}, "realtime", None),
        ("stage1", {}, "realtime", None),
        ("stage2", {}, "realtime", "rocksdb"),
        ("stage2", {"join": "native"}, "microbatch", "memory"),
        ("stage2", {"mode": "microbatch", "store": "rocksdb"}, "microbatch", "rocksdb"),
        ("stage3", {}, "microbatch", "memory"),
        ("stage4", {"join": "native"}, "microbatch", "memory"),
        ("stage5", {}, "realtime", "rocksdb"),
        ("stage5", {"state": "custom"}, "microbatch", "rocksdb"),
        ("stage6", {"state": "custom"}, "microbatch", "rocksdb"),
        ("stage100", {}, "microbatch", "memory"),
    ],
)
def test_stages_run_in_the_best_mode_that_can(
    stage: str, options: dict[str, str], mode: str, store: str | None
) -> None:
    job = resolve(stage, **options)
    assert (job.mode, job.settings.get("store")) == (mode, store)


@pytest.mark.parametrize(
    ("stage", "options", "reason"),
    [
        ("stage3", {"mode": "realtime"}, "never says which output is the last"),
        ("stage4", {"mode": "realtime"}, "never says which output is the last"),
        ("stage100", {"mode": "realtime"}, "never says which output is the last"),
        ("stage0", {"mode": "continuous"}, "no union"),
        ("stage2", {"mode": "continuous"}, "no aggregation"),
        ("stage2", {"mode": "realtime", "join": "native"}, "no join of two streams"),
        ("stage5", {"mode": "realtime", "state": "custom"}, "cannot run Python"),
        ("stage5", {"join": "native"}, "option"),
        ("stage2", {"mode": "realtime", "store": "memory"}, "RocksDB"),
        ("stage6", {"state": "custom", "store": "memory"}, "RocksDB"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(
    stage: str, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        resolve(stage, **options)


def test_windows_wait_for_partitions_that_are_out_of_step() -> None:
    assert resolve("stage3").watermark_delay_ms == 0
    assert resolve("stage3", partitions=3).watermark_delay_ms == 2000
    assert resolve("stage2").watermark_delay_ms == 2000


def test_records_that_are_streamed_from_a_file_are_the_same() -> None:
    asked = settle(spec(rate=95.0, parameters={"bad": "1@1s"}))
    first, again = (Ospbench().payloads(asked, "flow", 10).blocks for _ in range(2))
    assert list(islice(chain.from_iterable(first), 900)) == list(chain.from_iterable(again))[:900]


@pytest.mark.parametrize(
    ("stage", "options", "output"),
    [
        ("stage2", {}, "update"),
        ("stage2", {"mode": "microbatch"}, "update"),
        ("stage2", {"join": "native"}, "append"),
        ("stage5", {"state": "custom"}, "append"),
        ("stage3", {}, "append"),
        ("stage0", {"mode": "microbatch"}, "append"),
    ],
)
def test_what_is_joined_first_is_appended(stage: str, options: dict[str, str], output: str) -> None:
    """Spark lets an operator with state follow another one in that mode alone."""
    job = resolve(stage, **options)
    assert FACTS[stage].output(job.mode, job.settings) == output
