import pytest

from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.engines.spark.settings import Size, placed, resolve, slots
from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec

FILTER = QueryFacts(default="realtime", asynchronous=True, checkpoint_s=8)
AGGREGATE = QueryFacts(default="microbatch", stateful=True)
SIZE = Size(cpus=2, input_partitions=1)
SHUFFLE = "spark.sql.shuffle.partitions"


def job(**options: str) -> JobSpec:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return JobSpec(
        workload="espbench", query="q3", parameters={}, partitions=1, seed=1, options=named
    )


def settings_of(query: QueryFacts = FILTER, **options: str) -> dict[str, str]:
    return resolve(job(**options), query, SIZE)[2]


def test_the_default_mode_and_its_checkpoints_are_reported() -> None:
    mode, trigger_s, settings = resolve(job(), FILTER, SIZE)
    assert (mode, trigger_s) == ("realtime", None)
    assert (settings["mode"], settings["profile"]) == ("realtime", "tuned")
    assert settings["trigger"] == "checkpoint every 8 s"


def test_a_trigger_of_no_time_is_as_fast_as_possible() -> None:
    asked = resolve(job(mode="microbatch", trigger="0s"), FILTER, SIZE)
    assert asked == resolve(job(mode="microbatch"), FILTER, SIZE)


def test_a_trigger_interval_is_read() -> None:
    _, trigger_s, settings = resolve(job(mode="microbatch", trigger="4s"), FILTER, SIZE)
    assert trigger_s == 4.0
    assert settings["trigger"] == "every 4 s"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trigger": "4s"}, "a trigger interval needs micro-batches, and the mode is realtime"),
        ({"mode": "microbatch", "trigger": "-1s"}, "'-1s' is not a duration"),
        ({"mode": "microbatch", "trigger": "often"}, "'often' is not a duration"),
        ({"profile": "fast"}, "unknown profile of spark 'fast'"),
        ({"conf__linger": "5"}, "setting 'linger' has no known prefix"),
        ({"conf__spark.master": "spark://a:7077"}, "is not a setting of the session"),
        ({"conf__spark.master": "local-cluster[2,1,1024]"}, "is not a setting of the session"),
        ({"treshold": "5"}, "unknown option of spark 'treshold'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        settings_of(**options)
    assert caught.value.remedy


def test_an_unknown_option_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        settings_of(triger="4s")
    assert "Did you mean trigger?" in str(caught.value.remedy)
    assert "conf.KEY" in str(caught.value.remedy)


def test_the_profile_defaults_tunes_nothing() -> None:
    settings = settings_of(AGGREGATE, profile="defaults")
    assert SHUFFLE not in settings
    assert not [key for key in settings if key.startswith(("sink.", "spark.sql.streaming"))]
    assert settings["source.startingOffsets"] == "earliest"


def test_tuned_is_cut_for_the_cores() -> None:
    assert settings_of(AGGREGATE)[SHUFFLE] == "2"


def test_progress_is_written_asynchronously_only_where_spark_allows_it() -> None:
    name = "sink.asyncProgressTrackingEnabled"
    assert settings_of(FILTER, mode="microbatch")[name] == "true"
    assert name not in settings_of(FILTER)
    assert name not in settings_of(AGGREGATE)


PROVIDER = "spark.sql.streaming.stateStore.providerClass"
JOIN = QueryFacts(
    default="realtime",
    options={"join": ("union", "native"), "state": ("union", "custom")},
    rocksdb={"state": "custom"},
    unfit=lambda job, mode: (
        "no join" if mode == "realtime" and job.options.get("join") == "native" else None
    ),
    refused={"continuous": "it has no state"},
    stateful=True,
)


def test_options_of_a_query_are_reported_with_their_defaults() -> None:
    settings = settings_of(JOIN)
    assert (settings["join"], settings["state"]) == ("union", "union")
    assert settings_of(JOIN, state="custom")["state"] == "custom"
    with pytest.raises(UsageError, match="unknown value of -E join 'natve'") as caught:
        settings_of(JOIN, join="natve")
    assert "Did you mean native?" in str(caught.value.remedy)


def test_an_option_that_the_default_mode_does_not_allow_takes_another_mode() -> None:
    assert settings_of(JOIN, join="native")["mode"] == "microbatch"
    with pytest.raises(UsageError, match="no join") as caught:
        settings_of(JOIN, join="native", mode="realtime")
    assert caught.value.remedy == "Use -E mode=microbatch."


def test_state_lies_in_memory_unless_something_else_is_asked_for_or_needed() -> None:
    assert settings_of(JOIN, mode="microbatch")["store"] == "memory"
    assert PROVIDER not in settings_of(JOIN, mode="microbatch")
    for options in ({"store": "rocksdb", "mode": "microbatch"}, {"mode": "realtime"}):
        settings = settings_of(JOIN, **options)
        assert settings["store"] == "rocksdb"
        assert "RocksDB" in settings[PROVIDER]
    assert settings_of(JOIN, mode="microbatch", state="custom")["store"] == "rocksdb"


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (JOIN, {"store": "memory"}, "real-time mode can keep its state only in RocksDB"),
        (JOIN, {"store": "disk"}, "unknown store of spark 'disk'"),
        (
            JOIN,
            {"store": "memory", "mode": "microbatch", "state": "custom"},
            "state=custom can keep its state only in RocksDB",
        ),
        (FILTER, {"store": "rocksdb"}, "q3 has no state"),
    ],
)
def test_a_place_for_state_that_cannot_be_is_refused(
    query: QueryFacts, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        settings_of(query, **options)


def test_the_users_settings_win() -> None:
    settings = settings_of(**{"conf__spark.ui.enabled": "true", "conf__sink.kafka.acks": "1"})
    assert settings["spark.ui.enabled"] == "true"
    assert settings["sink.kafka.acks"] == "1"


@pytest.mark.parametrize(
    ("mode", "query", "inputs", "expected"),
    [
        ("microbatch", AGGREGATE, 8, 2),
        ("continuous", FILTER, 8, 8),
        ("realtime", FILTER, 1, 2),
        ("realtime", FILTER, 4, 4),
        ("realtime", AGGREGATE, 4, 7),
    ],
)
def test_long_running_modes_get_a_slot_for_every_task(
    mode: Mode, query: QueryFacts, inputs: int, expected: int
) -> None:
    assert slots(mode, query, Size(2, inputs), shuffle_partitions=3) == expected


def test_settings_go_to_their_place() -> None:
    settings = {"spark.a": "1", "source.kafka.b": "2", "sink.kafka.c": "3", "mode": "realtime"}
    assert placed(settings, "spark.") == {"spark.a": "1"}
    assert placed(settings, "source.") == {"kafka.b": "2"}
    assert placed(settings, "sink.") == {"kafka.c": "3"}
