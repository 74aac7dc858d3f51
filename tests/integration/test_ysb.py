"""The Yahoo streaming benchmark with a real Redis, and on a real Spark."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamgauge.services.redis import EmbeddedRedis, RedisEndpoint, connect
from streamgauge.services.running import RunningService
from streamgauge.spec.trial import TrialResult
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.workloads.ysb import ads as lookup
from streamgauge.workloads.ysb import data, partial_windows
from streamgauge.workloads.ysb.ads import Ads
from streamgauge.workloads.ysb.answers import Views
from streamgauge.workloads.ysb.partial_windows import PartialWindows
from streamgauge.workloads.ysb.store import Store
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration]

BEGIN = 1_700_000_000_000
OWNERS = data.campaign_of_each(3, 1)
FIRST, SECOND, _ = (campaign.decode() for campaign in data.campaigns(3, 1))
KNOWN = [ad.decode() for ad in OWNERS]


@pytest.fixture(scope="module")
def redis() -> Iterator[RunningService[RedisEndpoint]]:
    with EmbeddedRedis().up() as running:
        yield running


@pytest.fixture
def store(redis: RunningService[RedisEndpoint]) -> Iterator[Store]:
    """A store with three campaigns; nothing that was asked for before is remembered."""
    lookup._known.clear()
    with Store(redis.endpoint) as found:
        found.reset(OWNERS)
        yield found


def counts(store: Store) -> list[tuple[str, str]]:
    rows = store.windows().to_pylist()
    return sorted((f"{row['window']},{row['counted']}", row["value"]) for row in rows)


def outputs(store: Store) -> list[tuple[str, bytes]]:
    found = Views().table_outputs({"windows": store.windows()}).to_pylist()
    return sorted((row["key"], row["value"]) for row in found)


def test_a_batch_that_comes_again_counts_nothing_twice_and_changes_no_time(store: Store) -> None:
    """Flaws 2 and 3 of the original."""
    rows = [(BEGIN, FIRST, 5, BEGIN + 9, 4.0), (BEGIN, SECOND, 7, BEGIN + 8, None)]
    store.write("batch-3", rows)
    written = counts(store)
    assert len(written) == 2
    store.write("batch-3", rows)
    assert counts(store) == written


def test_a_window_that_is_touched_again_is_seen_twice(store: Store) -> None:
    """Flaw 2: the first write keeps its time, and the second one is a duplicate."""
    store.write("batch-3", [(BEGIN, FIRST, 5, BEGIN + 9, None)])
    written = counts(store)
    store.write("batch-9", [(BEGIN, FIRST, 1, BEGIN + 2, None)])
    assert counts(store)[:1] == written
    key = f"{BEGIN},{FIRST}"
    assert [found for found, _ in outputs(store)] == [key, key]


def test_the_time_of_a_count_is_that_of_the_server(store: Store) -> None:
    before_ms = time.time_ns() // 1_000_000
    store.write("batch-1", [(BEGIN, FIRST, 1, BEGIN, 0.5)])
    ((_, value),) = counts(store)
    assert value.startswith(f"1,{BEGIN},0.500,")
    assert before_ms <= int(value.rpartition(",")[2]) <= time.time_ns() // 1_000_000


def test_very_many_counts_are_written_and_forgotten(store: Store) -> None:
    campaigns = [f"c{number}" for number in range(16_000)]
    store.write("batch-1", [(BEGIN, each, 1, BEGIN, None) for each in campaigns])
    assert len(store.windows()) == 16_000
    store.reset(OWNERS)
    assert len(store.windows()) == 0
    assert store.ads() == OWNERS


def asked(redis: RunningService[RedisEndpoint]) -> int:
    with connect(redis.endpoint) as client:
        return int(client.info("commandstats").get("cmdstat_hmget", {}).get("calls", 0))


@pytest.mark.parametrize(("remembers", "questions"), [(True, 1), (False, 50)])
def test_what_an_engine_may_remember_lasts_longer_than_an_event(
    store: Store, redis: RunningService[RedisEndpoint], remembers: bool, questions: int
) -> None:
    """Flaw 4: the original's port to Spark made its cache anew for every event."""
    ads, before = Ads(redis.endpoint, remembers), asked(redis)
    for _ in range(50):
        found = ads.campaigns(pa.array([KNOWN[0], KNOWN[10], KNOWN[1]]))
        assert found.to_pylist() == [FIRST, SECOND, FIRST]
    assert asked(redis) - before == questions


@pytest.mark.parametrize("remembers", [True, False])
def test_an_ad_that_nobody_knows_has_no_campaign(
    store: Store, redis: RunningService[RedisEndpoint], remembers: bool
) -> None:
    column = pa.array(["nobody's", KNOWN[0], None])
    assert Ads(redis.endpoint, remembers).campaigns(column).to_pylist() == [None, FIRST, None]


def test_windows_of_single_tasks_are_added_up_and_what_comes_again_replaces_what_was_there(
    store: Store, redis: RunningService[RedisEndpoint]
) -> None:
    counter = PartialWindows(Ads(redis.endpoint, remembers=True), lambda: BEGIN / 1000 + 0.1)

    def count(partition: int, first: int, *views: tuple[str, int]) -> None:
        ads = pa.array([ad for ad, _ in views], pa.string())
        times = pa.array([BEGIN + at_ms for _, at_ms in views], pa.int64())
        offsets = pa.array(range(first, first + len(views)), pa.int64())
        found = counter.count(ads, times, pa.array([partition] * len(views)), offsets)
        assert found.equals(offsets)

    def told() -> list[tuple[str, bytes]]:
        return [(key.split(",")[1], value.split(b",", 2)[2]) for key, value in outputs(store)]

    partial_windows._begun.clear()
    count(0, 40, (KNOWN[0], 60), (KNOWN[1], 70), ("nobody's", 5), (KNOWN[10], 10_000))
    count(0, 44, (KNOWN[0], 80))
    count(1, 7, (KNOWN[0], 20))
    count(1, 8)
    whole = [(FIRST, b"4,%d,42.500" % (BEGIN + 80)), (SECOND, b"1,%d,-9900.000" % (BEGIN + 10_000))]
    assert told() == whole
    partial_windows._begun.clear()  # another process goes on where the engine had come to
    count(0, 40, (KNOWN[0], 60), (KNOWN[1], 70), (KNOWN[10], 10_000), (KNOWN[0], 80))
    count(0, 44)
    assert told() == whole


@pytest.mark.spark
@pytest.mark.parametrize(
    ("engine", "query", "mode", "parameters"),
    [
        ("reference", "redis", None, {"skew": True}),
        ("reference", "topic", None, {"bad": 0.2}),
        ("spark", "redis", "microbatch", {"bad": 0.2, "skew": True, "cache": False}),
        pytest.param(
            *("spark", "topic", "realtime", {"bad": 0.2, "campaigns": 3}),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_every_count_is_right(
    bench: Bench,
    tmp_path: Path,
    engine: str,
    query: str,
    mode: str | None,
    parameters: dict[str, Any],
) -> None:
    spec = make_spec(
        query,
        workload_name="ysb",
        engine=engine,
        engine_options={} if mode is None else {"mode": mode},
        parameters=parameters,
        partitions=1 if mode is None else 2,
        rate=3000.0,
        duration_s=12.0 if mode == "realtime" else 3.0,  # so that views come after a window
    )
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= parameters.get("campaigns", 100)
    assert "cpu.redis" in result.metrics


@pytest.mark.parametrize(
    ("fault", "missing", "wrong", "unexpected"),
    [("early", 0, 1, 0), pytest.param("touch", 0, 0, 1, marks=pytest.mark.thorough)],
)
@pytest.mark.spark
def test_a_wrong_count_in_redis_is_found(
    bench: Bench, tmp_path: Path, fault: str, missing: int, wrong: int, unexpected: int
) -> None:
    spec = make_spec("redis", workload_name="ysb", engine_options={"fault": fault}, rate=2000.0)
    counts = run_trial(spec, bench, tmp_path / "001", lambda _: None).counts
    assert (counts.missing, counts.wrong, counts.unexpected) == (missing, wrong, unexpected)


def fill(redis: RunningService[RedisEndpoint]) -> None:
    with connect(redis.endpoint) as client:
        client.config_set("maxmemory", "1mb")


def pause(redis: RunningService[RedisEndpoint]) -> None:
    with connect(redis.endpoint) as client:
        client.client_pause(4_000)


def flush(redis: RunningService[RedisEndpoint]) -> None:
    with connect(redis.endpoint) as client:
        client.flushall()


def kill(redis: RunningService[RedisEndpoint]) -> None:
    for pid in redis.processes():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("harm", "cause"),
    [
        (fill, "redis does not work: it refuses a write"),
        (pause, "redis does not work: it did not answer within 2 s"),
        (flush, "the ads in Redis are not those that were written before the trial"),
        (kill, "redis died: "),
    ],
)
def test_a_redis_that_fails_is_never_a_verdict_on_the_engine(
    bench: Bench,
    tmp_path: Path,
    harm: Callable[[RunningService[RedisEndpoint]], None],
    cause: str,
) -> None:
    with EmbeddedRedis().up() as redis:

        def act(event: Any) -> None:
            if event.get("phase") == "measure":
                harm(redis)

        own = replace(bench, services={**bench.services, "redis": redis})
        spec = make_spec("redis", workload_name="ysb", rate=1000.0)
        result: TrialResult = run_trial(spec, own, tmp_path / "001", act)
    assert result.status == "invalid"
    assert cause in (result.cause or "")
    assert (result.correct.holds, result.kept_up.holds) == (None, None)
