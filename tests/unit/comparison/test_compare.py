import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runs import MACHINE, NO, make_trial

from streamgauge.comparison.comparability import Side
from streamgauge.comparison.compare import Comparison, Pair, compare
from streamgauge.comparison.limits import check_limits, exit_code, parse_limit
from streamgauge.errors import UsageError
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult

QUIET = (0.100, 0.101, 0.102)


def a_side(name: str, trials: list[TrialResult], **changes: object) -> Side:
    fields: dict[str, object] = {
        "name": name,
        "spec": RunSpec(workload="espbench", queries=("q3",)),
        "machine": MACHINE,
        "workload_version": "1",
        "status": "done",
        "trials": tuple(trials),
    }
    return Side(**(fields | changes))  # type: ignore[arg-type]  # fields by name


def repeats(values: tuple[float, ...] = QUIET, name: str = "latency.p99", **changes: object):
    return [make_trial(n, {name: value}, **changes) for n, value in enumerate(values, start=1)]


def only_pair(comparison: Comparison) -> Pair:
    (pair,) = comparison.pairs
    return pair


def against(others: list[TrialResult], **changes: object) -> Pair:
    return only_pair(compare(a_side("base", repeats()), a_side("other", others, **changes)))


@pytest.mark.parametrize(
    ("name", "factor", "word", "improves"),
    [
        ("latency.p99", 0.8, "faster", True),
        ("latency.p99", 1.3, "slower", False),
        ("latency.p99", 1.0, "no difference", None),
        ("cpu.engine", 0.8, "lower", True),
        ("cpu.engine", 1.3, "higher", False),
        ("rate.emitted", 1.3, "higher", None),
    ],
)
def test_the_verdict_follows_the_interval_and_the_better_direction(name, factor, word, improves):
    others = tuple(value * factor for value in QUIET)
    pair = only_pair(
        compare(a_side("base", repeats(name=name)), a_side("other", repeats(others, name)))
    )
    (found,) = pair.metrics
    assert (found.word, found.improves) == (word, improves)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(factor)
    assert found.base is not None
    assert (found.base.median, found.base.low, found.base.high) == (0.101, 0.1, 0.102)


def test_two_trials_are_too_few_and_claim_no_interval():
    (found,) = against(repeats((0.3, 0.3))).metrics
    assert found.word == "too few trials"
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high) == (None, None)


def test_a_metric_that_one_side_lacks_is_not_measured():
    pair = against(repeats(name="cpu.engine"))
    assert {each.metric: each.word for each in pair.metrics} == {
        "latency.p99": "not measured",
        "cpu.engine": "not measured",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rate": 2000.0}, "the rate differs (1k/s, 2k/s)"),
        ({"shape": "poisson:1k/s"}, "the load's shape differs (constant, poisson:1k/s)"),
        ({"seed": 2}, "the seed differs (1, 2)"),
        ({"parameters": {"warehouses": 7}}, "the parameter warehouses differs (3, 7)"),
        ({"partitions": 4}, "the number of partitions differs (1, 4)"),
        ({"duration_s": 60.0}, "the measured time differs (20 s, 60 s)"),
        ({"resources": {"cores": 1}}, "the engine's number of cores differs (all, 1)"),
        ({"quick": True}, "other was a quick run, not a measurement"),
        ({"valid": NO, "status": "invalid"}, f"no trial of other counts: {NO.reason}"),
        ({"correct": NO}, f"no trial of other counts: {NO.reason}"),
        ({"status": "failed", "cause": "it died\nlog"}, "no trial of other counts: it died"),
    ],
)
def test_what_must_be_the_same_is_named_when_it_is_not(changes, reason):
    pair = against(repeats(**changes))
    assert reason in pair.obstacles
    assert all(each.word == "not comparable" and each.ratio is None for each in pair.metrics)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"workload_version": "2"}, "the workload's version differs (1, 2)"),
        ({"workload_version": None}, "the workload's version differs (1, not recorded)"),
        ({"machine": {**MACHINE, "host": "elsewhere"}}, "the machine's host differs"),
        ({"machine": {**MACHINE, "cpu": "a slow one"}}, "the machine's cpu differs"),
        ({"machine": {**MACHINE, "memory_bytes": 4 << 30}}, "the machine's memory differs"),
        (
            {
                "spec": RunSpec(
                    workload="espbench", queries=("q3",), services={"kafka": "host:9092"}
                )
            },
            "the kafka that was used differs (embedded, host:9092)",
        ),
    ],
)
def test_runs_of_other_machines_and_versions_are_not_comparable(changes, reason):
    assert any(each.startswith(reason) for each in against(repeats(), **changes).obstacles)


def test_a_new_kernel_leaves_a_machine_the_same():
    machine = {**MACHINE, "memory_bytes": (8 << 30) - (20 << 20), "system": "Linux 7"}
    pair = against(repeats(), machine=machine)
    assert pair.obstacles == ()
    assert pair.differences == ("system: Linux 6 → Linux 7",)


def test_what_was_changed_is_told_and_does_not_hinder():
    others = repeats(mode="microbatch", settings={"trigger": "1s"})
    pair = against(others)
    assert pair.obstacles == ()
    assert pair.differences == ("mode: realtime → microbatch", "trigger: none → 1s")


def test_the_same_over_another_transport_is_compared():
    pair = against(repeats(transport="flight"))
    assert pair.obstacles == ()
    assert pair.differences == ("transport: kafka → flight",)


def test_a_setting_of_a_service_that_was_changed_is_told():
    spec = RunSpec(
        workload="espbench", queries=("q3",), service_settings={"kafka.replication": "3"}
    )
    pair = against(repeats(), spec=spec)
    assert pair.obstacles == ()
    assert pair.differences == ("kafka.replication: none → 3",)


def test_a_spoiled_trial_is_left_out_and_that_is_told():
    others = [*repeats(), make_trial(4, {"latency.p99": 99.0}, valid=NO, status="invalid")]
    pair = against(others)
    assert pair.trials == ((1, 2, 3), (1, 2, 3))
    assert pair.metrics[0].word == "no difference"
    assert pair.notes == ("1 of 4 trials of other do not count",)


def test_a_trial_that_died_before_its_mode_was_known_is_one_of_the_repeats():
    died = make_trial(4, {}, mode=None, status="failed", cause="it died")
    assert against([*repeats(), died]).notes == ("1 of 4 trials of other do not count",)


def test_an_engine_that_did_not_keep_up_is_told():
    (note,) = against(repeats(kept_up=NO)).notes
    assert "other did not keep up" in note


@pytest.mark.parametrize(
    ("status", "said"), [("running", "is still running"), ("interrupted", "was interrupted")]
)
def test_an_unfinished_run_is_told(status, said):
    (note,) = against(repeats(), status=status).notes
    assert f"other {said}" in note


def test_trials_are_paired_by_query_and_rate():
    bases = [*repeats(rate=1000.0), *repeats(rate=10_000.0), *repeats(query="q1")]
    others = [*repeats(rate=10_000.0), *repeats(query="q2")]
    found = compare(a_side("base", bases), a_side("other", others)).pairs
    assert [(pair.query, pair.rate, pair.obstacles) for pair in found] == [
        ("q3", 10_000.0, ()),
        ("q2", 1000.0, ("base has no finished trial of espbench/q2 at 1k/s",)),
        ("q3", 1000.0, ("other has no finished trial of espbench/q3 at 1k/s",)),
        ("q1", 1000.0, ("other has no finished trial of espbench/q1 at 1k/s",)),
    ]


def test_ways_to_send_are_told_apart():
    trials = [*repeats(load={"acks": "all"}), *repeats(load={"acks": "1", "idempotence": False})]
    found = compare(a_side("base", trials), a_side("other", trials[::-1])).pairs
    assert [pair.name for pair in found] == [
        "q3 at 1k/s · acks=1, idempotence=False",
        "q3 at 1k/s · acks=all, idempotence=True",
    ]
    assert all(pair.obstacles == () and pair.differences == () for pair in found)


def varied(value: float, **asked: Any) -> list[TrialResult]:
    """Make trials of a variant: what was asked of it, and its name of each factor."""
    values = tuple(value * each for each in QUIET)
    return repeats(values, **asked)


def test_variants_of_a_run_are_told_apart_and_each_is_compared_with_its_like():
    def side(name: str, factor: float) -> Side:
        ways = [(trigger, count) for trigger in ("0s", "1s") for count in (1, 3)]
        trials = [
            each
            for number, (trigger, count) in enumerate(ways, 1)
            for each in varied(
                factor * number,
                engine_options={"trigger": trigger},
                parameters={"warehouses": count},
                factors={"E.trigger": trigger, "P.warehouses": str(count)},
            )
        ]
        return a_side(name, trials)

    found = compare(side("base", 1.0), side("other", 2.0)).pairs
    assert [pair.name for pair in found] == [
        "q3 at 1k/s · P.warehouses=1, trigger=0s",
        "q3 at 1k/s · P.warehouses=3, trigger=0s",
        "q3 at 1k/s · P.warehouses=1, trigger=1s",
        "q3 at 1k/s · P.warehouses=3, trigger=1s",
    ]
    assert all(pair.obstacles == () and pair.differences == () for pair in found)
    ratios = [metric.ratio.value for pair in found for metric in pair.metrics if metric.ratio]
    assert ratios == pytest.approx([2.0] * 4)


def test_how_a_trial_was_asked_for_makes_no_difference():
    asked = {"factors": {"rate": "1k/s"}, "notes": ["W raised from 1 to 3"]}
    pair = only_pair(compare(a_side("base", repeats()), a_side("other", repeats(**asked))))
    assert (pair.variant, pair.obstacles, pair.differences) == ("", (), ())


def test_what_is_done_to_a_trial_must_be_the_same_and_a_profiler_is_told():
    act = {"at_s": 5, "service": "postgres", "name": "a.b", "arguments": {"c": 1}}
    pair = against(repeats(acts=[act], profile="perf"))
    told = "what is done during the trial differs (nothing, at 5 s: a.b (c=1) on postgres)"
    assert (pair.obstacles, pair.differences) == ((told,), ("profiler: none → perf",))


def test_without_trials_there_is_nothing_to_compare():
    assert compare(a_side("base", []), a_side("other", [])).pairs == ()


@given(st.lists(st.floats(0.01, 10), min_size=3, max_size=6))
def test_a_run_does_not_differ_from_itself(values):
    base = a_side("base", repeats(tuple(values)))
    assert [each.word for each in only_pair(compare(base, base)).metrics] == ["no difference"]


def limited(text: str, others: list[TrialResult]) -> tuple[str, int]:
    comparison = compare(a_side("base", repeats()), a_side("other", others))
    checked = check_limits([parse_limit(text)], [comparison])
    return checked[0].outcome, exit_code(checked)


@pytest.mark.parametrize(
    ("text", "factor", "expected"),
    [
        ("latency.p99:+5%", 1.2, ("exceeded", 1)),
        ("latency.p99:+5%", 1.05, ("held", 0)),  # the interval reaches back below the limit
        ("latency.p99:+5%", 0.5, ("held", 0)),
        ("latency.p99:+50%", 1.2, ("held", 0)),
        ("latency.p99:-10%", 0.8, ("exceeded", 1)),
        ("latency.p99:-10%", 0.95, ("held", 0)),
    ],
)
def test_a_limit_is_exceeded_when_the_whole_interval_is_beyond(text, factor, expected):
    assert limited(text, repeats(tuple(value * factor for value in QUIET))) == expected


@pytest.mark.parametrize(
    "others",
    [repeats((0.5, 0.5)), repeats(seed=2), repeats(name="cpu.engine"), repeats(query="q1"), []],
    ids=["too few", "other input", "not measured", "other query", "nothing"],
)
def test_what_cannot_be_told_is_neither_held_nor_exceeded(others):
    assert limited("latency.p99:+5%", others) == ("unknown", 4)


def test_two_runs_without_trials_cannot_be_told():
    nothing = compare(a_side("base", []), a_side("other", []))
    assert exit_code(check_limits([parse_limit("latency.p99:+5%")], [nothing])) == 4


@pytest.mark.parametrize(
    "text", ["latency.p99", "latency.p99:5%", "latency.p99:+5", "latency.p99:+%", ":+5%", "a:-100%"]
)
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(UsageError):
        parse_limit(text)


def test_a_limit_on_an_unknown_metric_names_the_nearest():
    with pytest.raises(UsageError) as raised:
        parse_limit("latency.p98:+5%")
    assert raised.value.remedy is not None
    assert "latency.p9" in raised.value.remedy


@given(st.floats(0, 1000), st.sampled_from("+-"))
def test_a_limit_reads_as_it_was_written(percent, sign):
    if sign == "-" and percent >= 100:
        return
    limit = parse_limit(f"latency.p99:{sign}{percent:.6f}%")
    assert math.isclose(limit.factor, 1 + float(f"{sign}{percent:.6f}") / 100)
