"""Which services are used, in which order, with which settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from streamgauge import registry
from streamgauge.errors import NotReady, UsageError
from streamgauge.services import choice, detached
from streamgauge.services.kafka import Kafka, Settings
from streamgauge.services.postgres import Postgres
from tests.unit.services.toys import make_kind


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch):
    """Have these services and no others; each is told with what it needs."""

    def register(**needs: tuple[str, ...]) -> None:
        kinds = {name: make_kind(name, *needed) for name, needed in needs.items()}
        monkeypatch.setattr(registry, "load", lambda _group, name: kinds[name])
        monkeypatch.setattr(registry, "names", lambda _group: sorted(kinds))

    return register


def test_a_service_comes_after_what_it_needs(register) -> None:
    register(cache=("store", "broker"), store=("disk",), broker=(), disk=(), other=())
    assert choice.in_order(["cache"]) == ["disk", "store", "broker", "cache"]
    assert choice.in_order(["other", "broker", "cache"]) == [
        "other",
        "broker",
        "disk",
        "store",
        "cache",
    ]
    assert choice.in_order([]) == []


@pytest.mark.parametrize(
    ("needs", "named"),
    [
        ({"a": ("b",), "b": ("c",), "c": ("a",)}, "a and b and c need each other"),
        ({"a": ("b",), "b": ("c",), "c": ("b",)}, "b and c need each other"),
    ],
)
def test_services_that_need_each_other_are_refused(register, needs, named: str) -> None:
    register(**needs)
    with pytest.raises(UsageError, match=named):
        choice.in_order(["a"])


names = st.sampled_from("abcdef")


@given(st.data())
def test_any_order_without_a_cycle_holds(data: st.DataObject) -> None:
    below = {name: [each for each in "abcdef" if each < name] for name in "abcdef"}
    needs = {
        name: tuple(data.draw(st.lists(st.sampled_from(lower), unique=True))) if lower else ()
        for name, lower in below.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        kinds = {name: make_kind(name, *needed) for name, needed in needs.items()}
        patch.setattr(registry, "load", lambda _group, name: kinds[name])
        wanted = data.draw(st.lists(names, unique=True))
        ordered = choice.in_order(wanted)
    assert set(wanted) <= set(ordered)
    assert len(ordered) == len(set(ordered))
    for name in ordered:
        assert set(needs[name]) <= set(ordered[: ordered.index(name)])


def test_a_dot_leads_into_a_field_with_names_of_its_own() -> None:
    given_ = {
        "replication": "3",
        "topic.min.insync.replicas": "2",
        "topic.compression.type": "zstd",
    }
    assert choice.read_settings(Kafka(), given_) == Settings(
        replication=3, topic={"min.insync.replicas": "2", "compression.type": "zstd"}
    )
    assert choice.read_settings(Kafka(), {}) == Settings()


def test_an_unknown_setting_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        choice.read_settings(Kafka(), {"replicaton": "3"})
    assert raised.value.message == "unknown setting of kafka 'replicaton'"
    assert "Did you mean replication?" in (raised.value.remedy or "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replication": "many"}, r"-S kafka\.replication must be a whole number, not 'many'"),
        ({"replication": "0"}, r"-S kafka\.replication must be at least 1, not '0'"),
        ({"topic": "zstd"}, r"-S kafka\.topic must be KEY: VALUE pairs, not 'zstd'"),
        ({"replication.x": "1"}, r"-S kafka\.replication must be a whole number"),
        ({"topic": "zstd", "topic.a": "b"}, r"-S kafka\.topic: "),
        ({"topic.a": "b", "topic": "zstd"}, r"-S kafka\.topic: "),
    ],
)
def test_a_wrong_value_is_named_with_its_setting(values: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choice.read_settings(Kafka(), values)


@given(st.dictionaries(st.text(min_size=1, max_size=12), st.text(max_size=4), max_size=3))
def test_whatever_is_set_is_taken_or_refused(values: dict[str, str]) -> None:
    for kind in (Kafka(), Postgres()):
        try:
            assert isinstance(choice.read_settings(kind, values), BaseModel)
        except UsageError as error:
            assert kind.name in error.message


def test_unknown_services_are_named_and_none_means_all() -> None:
    assert choice.check_names([]) == ["kafka", "postgres", "redis", "spark"]
    assert choice.check_names(["postgres", "postgres"]) == ["postgres"]
    with pytest.raises(UsageError, match="unknown service 'kafak'") as raised:
        choice.check_names(["kafak"])
    assert "Did you mean kafka?" in (raised.value.remedy or "")


def test_addresses_of_the_environment_are_found_by_name() -> None:
    environ = {
        "STREAMGAUGE_KAFKA": "h:1",
        "STREAMGAUGE_POSTGRES": "",
        "STREAMGAUGE_KAFKA_CONFIG": "/x",
    }
    assert choice.from_environment(environ) == {"kafka": "h:1"}


@pytest.mark.parametrize("role", ["engine", "sender", "harness", "", "a b"])
def test_a_role_that_is_not_free_is_refused(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    kind = make_kind("cache")
    kind.role = role
    monkeypatch.setattr(registry, "load", lambda _group, _name: kind)
    with pytest.raises(NotReady, match="'cache' cannot be counted under the role"):
        choice.service("cache")


def test_what_needs_a_service_is_stopped_before_it(register) -> None:
    register(lamp=("beacon",), beacon=(), other=())
    assert detached._with_dependants(["beacon"]) == ["lamp", "beacon"]
    assert detached._with_dependants(["lamp"]) == ["lamp"]
    assert detached._with_dependants(["beacon", "other"]) == ["lamp", "beacon", "other"]
