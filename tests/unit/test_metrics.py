import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge import metrics
from streamgauge.errors import UsageError


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("latency.p99", "s", "lower"),
        ("window_latency.p99_9", "s", "lower"),
        ("lag.max", "records", "lower"),
        ("rate.emitted", "1/s", "none"),
        ("cpu.engine", "cores", "lower"),
        ("network.eth0", "B/s", "none"),
        ("packets.eth0", "1/s", "none"),
        ("load.1m", "1", "none"),
        ("validation.seconds", "s", "none"),
    ],
)
def test_lookup(name, unit, better):
    found = metrics.metric(name)
    assert (found.name, found.unit, found.better) == (name, unit, better)
    assert found.meaning.endswith(".")
    assert "<" not in found.meaning


def test_meaning_names_the_statistic_and_the_role():
    assert "99th percentile" in metrics.metric("latency.p99").meaning
    assert "broker" in metrics.metric("memory.broker").meaning


@pytest.mark.parametrize("role", ["cache", "engine.driver", "state-store", "engin", "n1.2-b"])
@pytest.mark.parametrize(("family", "unit"), [("cpu", "cores"), ("memory", "B"), ("disk", "B/s")])
def test_any_role_has_its_metrics(family, unit, role):
    found = metrics.metric(f"{family}.{role}")
    assert (found.name, found.unit, found.better) == (f"{family}.{role}", unit, "lower")
    assert f"the {role}" in found.meaning


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.-]*", fullmatch=True))
def test_an_objective_on_any_role_is_read_and_missed_where_it_was_not_measured(role):
    objective = metrics.parse_objective(f"cpu.{role}<0.5")
    assert objective.metric.name == f"cpu.{role}"
    assert objective.check({f"cpu.{role}": 0.4}).met
    assert not objective.check({}).met


def test_known_roles_come_first_and_the_others_by_name():
    found = metrics.in_order(["zoo", "sender", "engine.driver", "engine", "cache"])
    assert found == ["engine", "sender", "cache", "engine.driver", "zoo"]


@pytest.mark.parametrize(
    "name",
    [
        "latency.p98",
        "cpu.",
        "cpu.a role",
        "cpu.<role>",
        "cpu.-",
        "latency",
        "network.",
        "speed",
        "",
    ],
)
def test_unknown_metric_lists_the_known(name):
    with pytest.raises(UsageError) as caught:
        metrics.metric(name)
    assert repr(name) in caught.value.message
    assert "latency.<statistic>" in (caught.value.remedy or "")


def test_an_unknown_family_of_a_role_names_the_nearest():
    with pytest.raises(UsageError) as caught:
        metrics.metric("cpus.engine")
    assert "Did you mean cpu.engine?" in (caught.value.remedy or "")
    with pytest.raises(UsageError):
        metrics.parse_objective("cores.cache<0.5")


def test_unknown_metric_names_the_nearest():
    with pytest.raises(UsageError) as caught:
        metrics.metric("latencyp99")
    assert "Did you mean latency.p99?" in (caught.value.remedy or "")


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
    objective = metrics.parse_objective(text)
    assert (objective.metric.name, objective.operator, objective.bound) == (name, sign, bound)


@pytest.mark.parametrize(
    "text", ["latency.p99", "latency.p99=2s", "<2s", "latency.p99<", "", "a<b<c"]
)
def test_bad_objectives_are_refused(text):
    with pytest.raises(UsageError):
        metrics.parse_objective(text)


def test_objective_met_and_missed_tell_the_value():
    objective = metrics.parse_objective("latency.p99<2s")
    assert objective.check({"latency.p99": 1.5}) == metrics.ObjectiveResult(
        True, "latency.p99 is 1.5 s"
    )
    assert not objective.check({"latency.p99": 2.0}).met


def test_absent_metric_counts_as_missed():
    result = metrics.parse_objective("latency.p99<2s").check({"latency.p50": 0.1})
    assert not result.met
    assert "latency.p99 was not measured" in result.reason


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from(["<", "<=", ">", ">="]))
def test_exactly_one_of_an_objective_and_its_opposite_is_met(value, bound, sign):
    opposite = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}[sign]
    latency = metrics.metric("latency.p99")
    measured = {"latency.p99": value}
    assert (
        metrics.Objective(latency, sign, bound).check(measured).met
        != metrics.Objective(latency, opposite, bound).check(measured).met
    )


def test_a_written_objective_reads_back():
    objective = metrics.parse_objective("latency.p99<2s")
    assert metrics.parse_objective(str(objective)) == objective
