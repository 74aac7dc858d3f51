import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.metrics import metric
from streamgauge.objectives import Objective, ObjectiveResult, parse_objective


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.-]*", fullmatch=True))
def test_an_objective_on_any_role_is_read_and_missed_where_it_was_not_measured(role):
    objective = parse_objective(f"cpu.{role}<0.5")
    assert objective.metric.name == f"cpu.{role}"
    assert objective.check({f"cpu.{role}": 0.4}).met
    assert not objective.check({}).met


@pytest.mark.parametrize(
    ("text", "name", "sign", "bound"),
    [
        ("latency.p99<2s", "latency.p99", "<", 2.0),
        ("latency.p99 <= 250ms", "latency.p99", "<=", 0.25),
        ("rate.emitted>=10k/s", "rate.emitted", ">=", 10_000),
        ("memory.broker<1GiB", "memory.broker", "<", 2**30),
        ("network.eth0>1MB/s", "network.eth0", ">", 10**6),
        ("lag.max<10k", "lag.max", "<", 10_000),
    ],
)
def test_objectives_as_people_write_them(text, name, sign, bound):
    objective = parse_objective(text)
    assert (objective.metric.name, objective.operator, objective.bound) == (name, sign, bound)


@pytest.mark.parametrize(
    "text", ["latency.p99", "latency.p99=2s", "<2s", "latency.p99<", "", "a<b<c"]
)
def test_bad_objectives_are_refused(text):
    with pytest.raises(UsageError):
        parse_objective(text)


def test_objective_met_and_missed_tell_the_value():
    objective = parse_objective("latency.p99<2s")
    assert objective.check({"latency.p99": 1.5}) == ObjectiveResult(True, "latency.p99 is 1.5 s")
    assert not objective.check({"latency.p99": 2.0}).met


def test_absent_metric_counts_as_missed():
    result = parse_objective("latency.p99<2s").check({"latency.p50": 0.1})
    assert not result.met
    assert "latency.p99 was not measured" in result.reason


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from(["<", "<=", ">", ">="]))
def test_exactly_one_of_an_objective_and_its_opposite_is_met(value, bound, sign):
    opposite = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}[sign]
    latency = metric("latency.p99")
    measured = {"latency.p99": value}
    assert (
        Objective(latency, sign, bound).check(measured).met
        != Objective(latency, opposite, bound).check(measured).met
    )


def test_a_written_objective_reads_back():
    objective = parse_objective("latency.p99<2s")
    assert parse_objective(str(objective)) == objective


@pytest.mark.parametrize(
    ("text", "bound", "of"),
    [
        ("lag.trend<0.05*rate", 0.05, "rate"),
        ("cpu.engine <= 0.8 * cores", 0.8, "cores"),
        ("lag.max<2k*instances", 2000.0, "instances"),
    ],
)
def test_a_bound_may_be_a_multiple_of_the_trials_size(text, bound, of):
    objective = parse_objective(text)
    assert (objective.bound, objective.of) == (bound, of)
    assert parse_objective(str(objective)) == objective


def test_a_multiple_is_that_of_the_trial():
    objective = parse_objective("lag.trend<0.05*rate")
    met = objective.check({"lag.trend": 49.9, "rate.offered": 1000.0})
    assert met == ObjectiveResult(True, "lag.trend is 49.9/s, and 0.05 * rate is 50/s")
    assert not objective.check({"lag.trend": 50.0, "rate.offered": 1000.0}).met
    unknown = objective.check({"lag.trend": 0.0})
    assert not unknown.met
    assert unknown.reason.startswith("rate.offered was not measured")


@pytest.mark.parametrize("text", ["lag.trend<0.05*load", "cores.cache<0.5", "lag.trend<x*rate"])
def test_what_is_no_multiple_is_refused(text):
    with pytest.raises(UsageError):
        parse_objective(text)
