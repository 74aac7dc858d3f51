import pytest

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


def test_unknown_metric_names_the_nearest():
    with pytest.raises(UsageError) as caught:
        metrics.metric("latencyp99")
    assert "Did you mean latency.p99?" in (caught.value.remedy or "")
