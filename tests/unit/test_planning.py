from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.planning import Asked, load_experiment, plan_run, preset_names, trial_job
from streamgauge.spec.form import JSON
from streamgauge.spec.run import RunSpec
from streamgauge.workloads.rovio import Rovio


def plan(target: str | None = "espbench", **asked: object) -> RunSpec:
    given = {"engine": "reference", **asked}
    return plan_run(target, {name: Asked(value) for name, value in given.items()})


def test_defaults_are_those_of_a_measurement() -> None:
    spec = plan()
    assert spec.queries == ("q1", "q2", "q3", "q4", "q5")
    assert spec.rates == (1000.0,)
    assert (spec.duration_s, spec.warmup_s, spec.repeats) == (300, 90, 1)
    assert spec.parameters["warehouses"] == 3


def test_quick_is_small_and_an_option_wins_over_it() -> None:
    spec = plan(quick=True, duration="30s")
    assert (spec.duration_s, spec.warmup_s) == (30, 10)
    assert spec.parameters["warehouses"] == 1
    assert spec.origins["warmup"] == "quick"
    assert spec.origins["duration"] == "option"


def test_queries_of_the_target_in_their_order() -> None:
    assert plan("espbench/q4,q1").queries == ("q4", "q1")


def test_a_preset_is_complete_and_an_option_wins_over_it() -> None:
    spec = plan(None, preset="espbench-2021", rates=["2k/s"])
    assert spec.workload == "espbench"
    assert spec.rates == (2000.0,)
    assert spec.repeats == 3
    assert spec.load.acks == "1"
    assert spec.load.linger_s == 0
    assert spec.parameters["workplaces"] == [1, 2]
    assert spec.origins["repeats"] == "preset"


def test_every_preset_can_be_planned() -> None:
    for name in preset_names():
        assert plan_run(None, {"preset": Asked(name)}).preset == name


def test_a_users_preset_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("workload: espbench\nqueries: [q3]\nrates: [5k/s]\n")
    assert plan(None, preset=str(file)).rates == (5000.0,)


def test_parameters_are_parsed() -> None:
    assert plan(parameters={"workplaces": "1,2"}).parameters["workplaces"] == [1, 2]


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"rates": ["0"]}, "above 0"),
        ({"rates": ["-5/s"]}, "-5/s"),
        ({"rates": ["fast"]}, "fast"),
        ({"rates": [""]}, "'' is not a rate"),
        ({"rates": ["１k/s"]}, "is not a rate"),
        ({"partitions": "１"}, "is not a whole number"),
        ({"partitions": 999_999}, "partitions must be at most 1000"),
        ({"repeats": 99_999_999}, "a run can have at most 10,000"),
        ({"repeats": "many"}, "repeats: 'many' is not a whole number"),
        ({"kafka": ""}, "Kafka address ''"),
        ({"kafka": "foo"}, "Kafka address 'foo'"),
        ({"rates": ["1k/s", "1000000001/s"]}, "cannot be sent"),
        ({"rates": ["1e300/s"]}, "cannot be sent"),
        ({"rates": ["1M/s"], "duration": "30h"}, "records"),
        ({"shape": "constant:2000M/s"}, "cannot be sent"),
        ({"duration": "0s"}, "duration"),
        ({"repeats": 0}, "repeats"),
        ({"cores": 10_000}, "this machine has"),
        ({"parameters": {"warehouse": "3"}}, "warehouse"),
        ({"parameters": {"warehouses": "many"}}, "warehouses"),
        ({"parameters": {"workplaces": "1,999"}}, "no workplace 999"),
        ({"load": {"buffer": "1kB", "batch": "64KiB"}}, "buffer"),
        ({"load": {"ack": "1"}}, "ack"),
        ({"load": {"acks": "1"}}, "idempotent"),
        ({"load": {"acks": "2"}}, "acks"),
        ({"load": {"senders": "0"}}, "senders"),
        ({"load": {"source": "disc"}}, "source"),
        ({"load": {"min_sent": "0.5"}}, "only be made stricter"),
        ({"load": {"max_lateness": "1s"}}, "only be made stricter"),
        ({"engine_options": {"colour": "red"}}, "colour"),
        ({"engine": "flnk"}, "flnk"),
        ({"experiment": "fixed"}, "fixed"),
        ({"transport": "pigeon"}, "pigeon"),
        ({"load": {"queue": "1GiB"}}, "-L queue has no effect on --transport kafka"),
        ({"preset": "espbench-2020"}, "espbench-2020"),
        ({"preset": "no-such-file.yaml"}, "no-such-file.yaml"),
        ({"objectives": ("latency.p42<1s",)}, "p42"),
    ],
)
def test_bad_input_is_named(asked: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(**asked)
    assert part in raised.value.message


@pytest.mark.parametrize("experiment", ["sustainable", "ceiling"])
@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"vary": {"seed": "1,2"}}, "seed must have one value"),
        ({"repeats": 2}, "itself decides what to repeat"),
        ({"objectives": ("latency.p99<1s",)}, "an answer of its own"),
    ],
)
def test_what_an_experiment_would_ignore_is_refused(
    experiment: str, asked: dict[str, object], part: str
) -> None:
    with pytest.raises(UsageError, match=f"{experiment} .*{part}"):
        plan("espbench/q3", experiment=experiment, engine=None, **asked)


def test_the_nearest_query_is_suggested() -> None:
    with pytest.raises(UsageError) as raised:
        plan("espbench/identiy")
    assert raised.value.remedy is not None
    assert "Did you mean identity?" in raised.value.remedy


def test_without_a_workload_the_known_ones_are_listed() -> None:
    with pytest.raises(UsageError) as raised:
        plan(None)
    assert raised.value.remedy is not None
    assert "espbench" in raised.value.remedy


def test_a_preset_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text("workload: espbench\ncolour: red\n")
    with pytest.raises(UsageError, match="colour"):
        plan(None, preset=str(file))


@pytest.mark.parametrize("text", ["- a list", "{", ""])
def test_a_preset_file_that_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match="preset"):
        plan(None, preset=str(file))


def test_a_refused_mode_says_why() -> None:
    with pytest.raises(UsageError) as raised:
        plan("espbench/q1", engine="spark", engine_options={"mode": "continuous"})
    assert "q1" in raised.value.message


def test_the_best_mode_is_the_default() -> None:
    from streamgauge.experiments.fixed_rate import FixedRate

    spec = plan("espbench/q1,q2,q3", engine="spark")
    modes = [trial_job(trial).mode for trial in FixedRate(spec).plan()]
    assert modes == ["realtime", "microbatch", "realtime"]


def test_bursts_are_too_sparse_for_records_to_close_windows() -> None:
    bursts = {"shape": "bursts:0/s,5k/s@1s/3s", "engine": "spark"}
    (trial,) = load_experiment(plan("espbench/q1", **bursts)).plan()
    assert trial_job(trial).mode == "microbatch"
    with pytest.raises(UsageError, match="fewer than 10 records of a partition"):
        plan("espbench/q1", engine_options={"mode": "realtime"}, **bursts)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\t".join([b"1"] * 55) + b"\n", "55"),
        (b"\t".join([b"2012-02-22T16:46:28.9670320+00:00"] + [b"x"] * 55) + b"\n", "line 1"),
        (bytes(range(256)) * 10, "line 1"),
    ],
)
def test_a_bad_sensor_file_is_found_before_anything_starts(
    tmp_path: Path, content: bytes | None, part: str
) -> None:
    file = tmp_path / "sensors.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        plan(parameters={"sensors": str(file)})
    assert str(file) in raised.value.message
    assert part in raised.value.message.lower()


def test_a_shape_tells_the_rate_and_the_measured_time() -> None:
    spec = plan(shape="steps:10k/s@60s,50k/s@60s")
    assert (spec.duration_s, spec.rates) == (120, (30_000.0,))
    assert plan(shape="steps:10k/s@60s", quick=True).duration_s == 60
    longer = plan(shape="steps:10k/s@60s,50k/s@60s", duration="4m")
    assert (longer.duration_s, longer.rates) == (240, (40_000.0,))
    assert plan(shape="sine:1k/s..3k/s@10s").duration_s == 300
    gathered = plan(shape="backlog:6k/s@45s,1k/s", quick=True)
    assert (gathered.warmup_s, gathered.rates) == (45, (1000.0,))


def test_what_was_typed_wins_over_a_presets_rate_or_shape(tmp_path: Path) -> None:
    shaped = plan(None, preset="espbench-2021", shape="constant:5k/s")
    assert (shaped.shape, shaped.rates) == ("constant:5k/s", (5000.0,))
    file = tmp_path / "mine.yaml"
    file.write_text("workload: espbench\nshape: fluctuate:3k/s\n")
    steady = plan(None, preset=str(file), rates=["2k/s"])
    assert (steady.shape, steady.rates) == (None, (2000.0,))


def test_an_option_wins_over_the_environment() -> None:
    asked = {"rates": Asked(["2k/s"], "environment"), "shape": Asked("constant:5k/s")}
    assert plan_run("espbench", {"engine": Asked("noop"), **asked}).rates == (5000.0,)
    asked = {"rates": Asked(["2k/s"]), "shape": Asked("constant:5k/s", "environment")}
    assert plan_run("espbench", {"engine": Asked("noop"), **asked}).rates == (2000.0,)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"shape": "constant:1k/s", "rates": ["2k/s"]}, "--rate and --load"),
        ({"shape": "steps:1k/s@60s", "duration": "30s"}, "lasts 60 s"),
        ({"shape": "stps:1k/s@60s"}, "stps"),
        ({"shape": "backlog:6k/s@45s,1k/s", "warmup": "30s"}, "has no warm-up"),
        ({"shape": "poisson:0.000001/s", "duration": "1s"}, "nothing"),
    ],
)
def test_a_shape_that_cannot_be_sent_is_refused(asked: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(**asked)
    assert part in raised.value.message


def test_several_ways_to_send_are_all_combined() -> None:
    spec = plan_run(
        "espbench",
        {
            "experiment": Asked("broker"),
            "rates": Asked(["100k/s"]),
            "partitions": Asked("1,4"),
            "load": Asked({"acks": "0,1", "batch": "16KiB,64KiB", "idempotence": "false"}),
        },
    )
    ways = {(v.load.acks, v.load.batch, v.partitions) for v in spec.variants}
    assert ways == {(a, b, p) for a in ("0", "1") for b in (16_384, 65_536) for p in (1, 4)}
    assert (spec.engine, spec.queries) == (None, ("q1",))


def test_the_broker_presets_are_those_of_the_dissertation() -> None:
    def ways(preset: str) -> list[tuple[float, str, int, int | None, str]]:
        trials = load_experiment(plan_run(None, {"preset": Asked(preset)})).plan()
        return [(t.rate, t.load.acks, t.load.batch, t.load.senders, t.load.source) for t in trials]

    assert len(ways("kafka-100k")) == 6
    assert ways("kafka-250k") == [
        (250_000, "0", 16_384, 1, "memory"),
        (250_000, "1", 16_384, 1, "memory"),
        (250_000, "all", 16_384, 1, "memory"),
        (250_000, "0", 16_384, 1, "stream"),
    ]
    assert {batch for _, _, batch, _, _ in ways("kafka-1m")} == {16_384, 65_536}
    assert {(rate, senders) for rate, _, _, senders, _ in ways("kafka-2x250k")} == {(500_000, 2)}
    assert len(ways("append-time")) == 4


def searched(**asked: object) -> dict[str, object]:
    fields = {"preset": "karimov-overload", **asked}
    spec = plan_run(None, {name: Asked(value) for name, value in fields.items()})
    return dict(spec.experiment_options)


def test_parameters_of_the_experiment_are_merged_pair_by_pair() -> None:
    assert searched() == {"survey": False, "after": ["90%", "150%"]}
    asked = {"experiment_options": {"survey": "true"}}
    assert searched(**asked) == {"survey": True, "after": ["90%", "150%"]}
    assert searched(experiment_options={"after": "50%"})["after"] == ["50%"]


def test_a_survey_has_a_short_form() -> None:
    assert searched(survey=True) == {"survey": True, "after": ["90%", "150%"]}
    both = {"survey": True, "experiment_options": {"survey": "false"}}
    assert searched(**both)["survey"] is False, "the longer form says more"
    fields = {
        "experiment": Asked("sustainable"),
        "survey": Asked(True),
        "experiment_options": Asked({"survey": "false", "after": "50%"}, "environment"),
    }
    spec = plan_run("espbench/q3", fields)
    assert spec.experiment_options == {"survey": True, "after": ["50%"]}
    assert spec.origins["experiment_options"] == "option"


def test_another_experiment_takes_no_parameters_of_a_preset() -> None:
    assert searched(experiment="fixed-rate", rates=["1k/s"]) == {}


def test_an_experiment_with_an_engine_of_its_own_takes_no_other() -> None:
    with pytest.raises(UsageError, match="has its own engine, noop"):
        plan(experiment="ceiling", engine="reference")
    assert plan(experiment="ceiling", engine="noop").engine == "noop"


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"experiment_options": {"after": "50%"}}, "unknown parameter of fixed-rate 'after'"),
        ({"experiment": "broker", "survey": True}, "broker does not search"),
        (
            {"experiment": "sustainable", "experiment_options": {"after": "half"}},
            "-X after: 'half' is neither a share of the rate",
        ),
        (
            {"experiment": "sustainable", "experiment_options": {"survey": "so"}},
            "-X survey must be true or false, not 'so'",
        ),
        ({"engine": "none"}, "unknown engine"),
        ({"experiment": "broker", "engine": "reference"}, "has no engine"),
        ({"partitions": "many"}, "not a whole number"),
        ({"senders": "spark"}, "unknown kind of senders"),
        ({"senders": "spark="}, "not a Spark cluster"),
        ({"senders": "spark=spark://a"}, "not a Spark cluster"),
        ({"senders": "spark=spark://a:1", "load": {"source": "stream"}}, "cannot stream payloads"),
        ({"spark_master": "spark://a:1"}, "unknown setting"),
        ({"senders": "sprk"}, "sprk"),
        ({"instances": "2", "engine": "reference"}, "engine reference is one process"),
        (
            {"instances": "2", "cores": "1", "engine": "spark"},
            "--cores is for an engine in one process",
        ),
        ({"instance_cores": "2"}, "--instance-cores applies to each instance"),
        ({"instances": "2", "instance_memory": "100MiB"}, "at least"),
        ({"instances": "0"}, "instances"),
        ({"partitions": "0"}, "partitions"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(**asked)
    assert part in raised.value.message


def test_senders_on_spark_are_a_setting_of_the_load() -> None:
    spec = plan(senders="spark=spark://a:1", load={"senders": "4"})
    assert (spec.load.spark, spec.load.senders) == ("spark://a:1", 4)


def test_without_a_number_of_senders_spark_decides() -> None:
    spec = plan(senders="spark=spark://a:1", load={"acks": "all"})
    assert spec.load.senders is None
    assert plan(load={"acks": "all"}).load.senders == 1
    with pytest.raises(UsageError, match="senders is empty"):
        plan(load={"senders": None})


def test_records_with_a_form_of_their_own_need_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = replace(Rovio.queries["aggregation"], forms={"purchases": JSON})
    monkeypatch.setattr(Rovio, "queries", {**Rovio.queries, "aggregation": sums})
    assert plan("rovio/join", transport="flight").transport == "flight"
    with pytest.raises(UsageError, match="-L batch has no effect on --transport flight"):
        plan("rovio/join", transport="flight", load={"batch": "1MiB"})
    with pytest.raises(UsageError, match="rovio/aggregation cannot be sent without a broker"):
        plan("rovio", transport="flight")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("rates: 5000", "rates: 5000 is one value"),
        ("rates: 1k/s", "rates: 1k/s is one value"),
        ("rates: [fast]", "rates.0: 'fast' is not a rate"),
        ("rates: null", "rates must be a list"),
        ("rates: [1k/s, 1k/s]", "rates: 1k/s is named twice"),
        ("load: poisson:2k/s", "load: 'poisson:2k/s' must be KEY: VALUE pairs"),
        ("load: {batch: [1]}", "load: [1] is a list of one value"),
        ("load: {batch: big}", "load: 'big' is not a size"),
        ("load: {acks: 2}", "load: acks must be 0, 1 or all"),
        ("load: [{ack: 1}]", "load: unknown option of the load 'ack'"),
        ("parameters: [1]", "parameters must be KEY: VALUE pairs"),
        ("parameters: {warehouses: 2020-01-01}", "parameters.warehouses must be a text"),
        ("queries: [3]", "queries.0 must be a text"),
        ("queries: [[q3]]", "queries.0 must be a text"),
        ("queries: q3", "queries: q3 is one value"),
        ("queries: [q3, q3]", "queries: q3 is named twice"),
        ("1: 2", "unknown setting '1'"),
        ("preset: kafka-1m", "unknown setting 'preset'"),
        ("variants: 5", "unknown setting 'variants'"),
        ("partitions: {a: 1}", "partitions: {'a': 1} is not a whole number"),
        ("partitions: 1.5", "partitions: 1.5 is not a whole number"),
        ("partitions: true", "partitions: True is not a whole number"),
        ("duration: soon", "duration: 'soon' is not a duration"),
        ("repeats: yes", "repeats: True is not a whole number"),
        ("repeats: 0", "repeats must be at least 1, not 0"),
        ("cores: null", "cores: there is no value"),
        ("quick: maybe", "quick must be true or false"),
        ("objectives: latency.p99<2s", "objectives: latency.p99<2s is one value"),
        ("engine: [spark]", "engine must be a text"),
        ("engine_options: {trigger: [1]}", "engine_options.trigger must be a text"),
        ("acts: [{at_s: 1}]", "acts.0.service is missing"),
        ("kafka: 9092", "kafka must be an address"),
        ("title: 5", "title must be a text"),
        ("[" * 5000, "nested too deeply"),
        ("a: b: c", "is not YAML: mapping values are not allowed here in line 1"),
        ("a: 2020-99-99", "is not YAML"),
        (b"\x00\x01\xff", "not text in UTF-8"),
        ("workload: espbench".encode("utf-16"), "not text in UTF-8"),
    ],
)
def test_a_preset_with_a_bent_value_is_told_with_file_and_field(
    tmp_path: Path, content: str | bytes, place: str
) -> None:
    file = tmp_path / "bent.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UsageError) as raised:
        plan(preset=str(file))
    assert raised.value.message.startswith(f"preset {file}")
    assert place in raised.value.message
    assert "\n" not in raised.value.message


def test_numbers_of_yaml_are_taken_where_they_are_written_so(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text(
        "workload: espbench\nqueries: [q3]\nrates: [500]\nduration: 30\ntags: {issue: 5}\n"
        "load: {acks: 1, idempotence: false}\nengine_options: {fault: drop}\n"
    )
    spec = plan(None, preset=str(file))
    assert (spec.rates, spec.duration_s, spec.tags) == ((500.0,), 30.0, {"issue": "5"})
    assert spec.load.acks == "1"


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("espbench/", "the name of a query is empty"),
        ("espbench/q3,", "the name of a query is empty"),
        ("espbench/q3,q3", "q3 is named twice"),
    ],
)
def test_a_target_without_a_query_or_with_one_twice_is_refused(target: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        plan(target)
