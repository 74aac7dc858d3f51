"""Several values of settings: which trials they make, and what is refused."""

from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.experiments.fixed_rate import FixedRate
from streamgauge.planning import Asked, load_experiment, plan_run
from streamgauge.planning.factors import MOST_TRIALS, combinations
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec


def plan(target: str | None = "espbench/q3", **asked: object) -> RunSpec:
    given = {"engine": "reference", **asked}
    return plan_run(target, {name: Asked(value) for name, value in given.items()})


def trials(**asked: object) -> list[TrialSpec]:
    return list(load_experiment(plan(**asked)).plan())


_names = st.sampled_from(["rate", "partitions", "seed", "E.a", "E.b", "P.c", "L.d"])
_values = st.lists(st.integers(), min_size=1, max_size=4, unique=True)


@given(st.dictionaries(_names, _values, max_size=4))
def test_every_combination_is_there_once_the_last_factor_the_fastest(
    vary: dict[str, list[int]],
) -> None:
    found = [tuple(each.values()) for each in combinations(vary)]
    assert len(found) == len(set(found)) == prod(map(len, vary.values()))
    places = [
        tuple(values.index(value) for values, value in zip(vary.values(), each, strict=True))
        for each in found
    ]
    assert places == sorted(places)


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["1k/s", "2k/s", "500/s"]), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
)
def test_a_plan_has_the_full_product_in_a_stable_order(
    seeds: list[int], partitions: list[int], rates: list[str], repeats: int
) -> None:
    vary = {"seed": seeds, "partitions": partitions}
    planned = trials(vary=vary, rates=rates, repeats=repeats)
    found = [(t.seed, t.partitions, t.rate, t.repeat) for t in planned]
    assert len(set(found)) == len(found) == len(seeds) * len(partitions) * len(rates) * repeats
    assert [t.number for t in planned] == list(range(1, len(found) + 1))
    assert trials(vary=vary, rates=rates, repeats=repeats) == planned


def test_all_kinds_of_factors_reach_their_trials() -> None:
    vary = {
        "rate": "1k/s,10k/s",
        "E.fault": "drop,drop:4",
        "P.warehouses": "2,4",
        "L.batch": "16KiB,64KiB",
        "duration": "1m,2m",
        "cores": "1,2",
    }
    planned = trials(vary=vary)
    assert len(planned) == 64
    first, last = planned[0], planned[-1]
    assert first.factors == {
        "rate": "1k/s",
        "E.fault": "drop",
        "P.warehouses": "2",
        "L.batch": "16KiB",
        "duration": "1m",
        "cores": "1",
    }
    assert (first.rate, first.duration_s, first.resources.cores) == (1000, 60, 1)
    assert (last.rate, last.engine_options, last.load.batch) == (10_000, {"fault": "drop:4"}, 65536)
    assert (last.parameters["warehouses"], last.duration_s, last.resources.cores) == (4, 120, 2)


def test_values_with_commas_are_parted_by_semicolons() -> None:
    planned = trials(vary={"P.workplaces": "1,2;1,3"})
    assert [t.parameters["workplaces"] for t in planned] == [[1, 2], [1, 3]]
    assert [t.factors for t in planned] == [{"P.workplaces": "1,2"}, {"P.workplaces": "1,3"}]


def test_one_value_is_a_setting_and_no_factor() -> None:
    spec = plan(vary={"partitions": "4", "E.fault": "drop", "rate": "5k/s"})
    assert (spec.partitions, spec.engine_options, spec.rates) == (4, {"fault": "drop"}, (5000.0,))
    assert (spec.vary, spec.variants) == ({}, ())


def test_lists_lead_to_the_same_as_vary() -> None:
    lists = plan(partitions="1,2", load={"acks": "1,all", "idempotence": "false"})
    varied = plan(vary={"partitions": "1,2", "L.acks": "1,all"}, load={"idempotence": "false"})
    assert lists.variants == varied.variants
    assert load_experiment(lists).plan() == load_experiment(varied).plan()
    ways = [(t.partitions, t.load.acks) for t in load_experiment(lists).plan()]
    assert ways == [(1, "1"), (1, "all"), (2, "1"), (2, "all")]


def test_a_preset_varies_and_what_was_typed_wins(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "workload: espbench\nqueries: [q3]\npartitions: 8\n"
        "vary: {seed: [1, 2], P.workplaces: [[1, 2], '1,3']}\n"
    )
    asked = {"preset": str(file)}
    assert [t.factors for t in trials(target=None, **asked)] == [
        {"seed": "1", "P.workplaces": "1,2"},
        {"seed": "1", "P.workplaces": "1,3"},
        {"seed": "2", "P.workplaces": "1,2"},
        {"seed": "2", "P.workplaces": "1,3"},
    ]
    fixed = trials(target=None, **asked, seed=7)
    assert [(t.seed, t.factors) for t in fixed] == [
        (7, {"P.workplaces": "1,2"}),
        (7, {"P.workplaces": "1,3"}),
    ]
    more = trials(target=None, **asked, vary={"partitions": "1,2", "seed": "3"})
    assert [(t.seed, t.partitions) for t in more] == [(3, 1), (3, 2), (3, 1), (3, 2)]


def test_a_shape_has_a_mean_rate_at_each_length() -> None:
    planned = trials(vary={"duration": "1m,2m"}, shape="steps:1k/s@30s,3k/s@30s")
    assert [(t.duration_s, t.rate) for t in planned] == [(60, 2000.0), (120, 2500.0)]


def test_it_tells_what_is_new_of_a_trial() -> None:
    spec = plan(vary={"seed": "1,2", "partitions": "1,2"}, rates=["1k/s", "2k/s"])
    experiment = FixedRate(spec)
    assert [experiment.why(trial, []) for trial in experiment.plan()[:5]] == [
        "the first of the plan",
        "the next rate",
        "now partitions=2",
        "the next rate",
        "now seed=2, partitions=1",
    ]


@pytest.mark.parametrize(
    ("vary", "part"),
    [
        ({"partition": "1,2"}, "unknown factor 'partition'"),
        ({"X.trigger": "1,2"}, "unknown factor 'X.trigger'"),
        ({"E.": "1,2"}, "unknown factor 'E.'"),
        ({"load": "small,large"}, "unknown factor 'load'"),
        ({"E.flt": "drop,dup"}, "unknown option of engine reference 'flt'"),
        ({"P.warehouse": "1,2"}, "unknown parameter of espbench 'warehouse'"),
        ({"L.ack": "1,all"}, "unknown option of the load 'ack'"),
        ({"L.acks": "1,all"}, "cannot be idempotent with acks=1"),
        ({"partitions": "0,1"}, "partitions"),
        ({"partitions": "one,two"}, "'one' is not a whole number"),
        ({"cores": "1,10000"}, "--cores 10000: this machine has"),
        ({"cores": "0,1"}, "cores"),
        ({"seed": "-1,1"}, "seed"),
        ({"rate": "0/s,1k/s"}, "rate"),
        ({"rate": "fast,1k/s"}, "'fast' is not a rate"),
        ({"duration": "0s,1m"}, "duration"),
        ({"P.workplaces": "1,2;1,999"}, "no workplace 999"),
        ({"rate": ""}, "one of its values is empty"),
        ({"rate": "1k/s,"}, "one of its values is empty"),
        ({"rate": []}, "one of its values is empty"),
        ({"seed": [1, None]}, "one of its values is empty"),
        ({"rate": "1k/s,1000/s"}, "rate=1k/s and rate=1000/s ask for the same"),
        (["rate"], "vary must be KEY: VALUE pairs"),
    ],
)
def test_what_cannot_be_varied_is_refused(vary: object, part: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(vary=vary)
    assert part in raised.value.message


@pytest.mark.parametrize(
    ("name", "nearest"), [("partition", "partitions"), ("warehouses", "P.warehouses")]
)
def test_the_nearest_factor_is_named(name: str, nearest: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(vary={name: "1,2"})
    assert f"Did you mean {nearest}?" in str(raised.value.remedy)


@pytest.mark.parametrize(
    "asked",
    [
        {"vary": {"rate": "1k/s,2k/s"}, "rates": ["5k/s"]},
        {"vary": {"rate": "1k/s,2k/s"}, "shape": "poisson:1k/s"},
        {"vary": {"E.fault": "drop,dup"}, "engine_options": {"fault": "drop"}},
        {"vary": {"L.acks": "1,all"}, "load": {"acks": "1", "idempotence": "false"}},
        {"vary": {"partitions": "1,2"}, "partitions": "1,4"},
    ],
)
def test_a_value_beside_several_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="is varied, but also has a fixed value"):
        plan(**asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"experiment": "sustainable"},
        {"experiment": "sustainable", "survey": True},
        {"experiment": "ceiling", "engine": "noop"},
    ],
)
def test_a_search_has_one_setting(asked: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="partitions and seed must have one value") as raised:
        plan(vary={"partitions": "1,2", "seed": "1,2"}, **asked)
    assert "fixed-rate" in str(raised.value.remedy)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"repeats": 99_999_999}, "99,999,999 trials"),
        ({"vary": {"seed": [*range(200)], "partitions": [*range(1, 102)]}}, "20,200 trials"),
        ({"vary": {"seed": [*range(5001)]}, "target": "espbench/q1,q3"}, "10,002 trials"),
    ],
)
def test_a_run_that_would_never_end_is_refused(asked: dict[str, object], count: str) -> None:
    with pytest.raises(UsageError, match=f"{count}: a run can have at most {MOST_TRIALS:,}"):
        plan(**asked)  # type: ignore[arg-type]  # arguments by name


def test_resources_that_are_not_varied_stay_as_they_were_asked_for() -> None:
    planned = trials(
        engine="spark",
        vary={"instances": "1,2", "instance_memory": "1GiB,2GiB"},
        instance_cores="3",
    )
    given = [each.resources for each in planned]
    assert [each.instances for each in given] == [1, 1, 2, 2]
    assert [each.instance_memory >> 30 for each in given] == [1, 2, 1, 2]
    assert {each.instance_cores for each in given} == {3}
    assert planned[0].factors == {"instances": "1", "instance_memory": "1GiB"}
