"""Which services a run uses, and where they are."""

import pytest

from streamgauge.errors import UsageError
from streamgauge.planning import Asked, choose_services, needed_services, plan_run
from streamgauge.services.addresses import Given
from streamgauge.services.kafka.endpoint import JmxEndpoint
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.postgres.endpoint import parse_postgres
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.spec.run import RunSpec


def test_only_trials_of_the_broker_alone_ask_for_its_counters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STREAMGAUGE_KAFKA_JMX", "h:9999")
    asked = {"kafka": Asked("h:9092"), "experiment": Asked("broker")}
    (kafka,) = choose_services(plan_run("espbench/q3", asked))
    assert isinstance(kafka, GivenKafka)
    assert kafka.endpoint.jmx == JmxEndpoint("h", 9999)
    (kafka,) = choose_services(
        plan_run("espbench/q3", {**asked, "experiment": Asked("fixed-rate")})
    )
    assert isinstance(kafka, GivenKafka)
    assert kafka.endpoint.jmx is None


def test_a_run_knows_its_user_but_does_not_write_it_down() -> None:
    given = "postgresql://somebody@db:5433/bench"
    spec = plan_run("espbench", {"postgres": Asked(given, "option")})
    assert "somebody" not in spec.model_dump_json()
    postgres = next(service for service in choose_services(spec) if service.name == "postgres")
    assert isinstance(postgres, GivenPostgres)
    assert postgres.endpoint.user == "somebody"


def test_a_run_planned_from_the_environment_keeps_no_secret_and_still_connects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = "postgresql://me:s3cret@db:5433/bench"
    monkeypatch.setenv("STREAMGAUGE_POSTGRES", given)
    spec = plan_run("espbench", {"postgres": Asked(given, "environment")})
    assert "s3cret" not in spec.model_dump_json()
    endpoint = parse_postgres(Given(spec.services["postgres"]))
    assert (endpoint.user, endpoint.password) == ("me", "s3cret")


def test_a_run_is_not_planned_with_a_password_on_the_command_line() -> None:
    with pytest.raises(UsageError, match="password on the command line"):
        plan_run("espbench", {"postgres": Asked("postgresql://me:s3cret@db/bench", "option")})


def plan(target: str, **asked: object) -> tuple[RunSpec, list[str]]:
    notes: list[str] = []
    given = {name: Asked(value) for name, value in asked.items()}
    return plan_run(target, given, notes.append), notes


def test_only_what_is_needed_is_started() -> None:
    assert needed_services(plan("espbench/q3", engine="noop")[0]) == ["kafka"]
    assert needed_services(plan("espbench/q3,q5", engine="noop")[0]) == ["kafka", "postgres"]
    assert needed_services(plan("espbench/q5", experiment="broker")[0]) == ["kafka"]
    assert needed_services(plan("rovio", engine="noop", transport="flight")[0]) == []


def test_a_given_address_that_nothing_needs_is_told_and_left_out() -> None:
    address = "postgresql://me@db/bench"
    spec, notes = plan("espbench/q3", engine="noop", kafka="h:1", postgres=address)
    assert spec.services == {"kafka": "h:1"}
    assert spec.accounts == {}
    assert notes == [
        "postgres at postgresql://db:5432/bench is given, but nothing here needs it: not used"
    ]
    spec, notes = plan("espbench/q5", engine="noop", postgres=address)
    assert spec.services == {"postgres": "postgresql://db:5432/bench"}
    assert notes == []


def test_a_setting_that_nothing_needs_is_told() -> None:
    _, notes = plan("espbench/q3", engine="noop", service_settings={"redis": {"maxmemory": "1GiB"}})
    assert notes == ["-S redis.… is given, but nothing here needs redis: not used"]


def test_given_services_come_first_since_they_may_be_unusable() -> None:
    spec, _ = plan("espbench/q5", engine="noop", postgres="postgresql://me@db/bench")
    assert [service.name for service in choose_services(spec)] == ["postgres", "kafka"]


def test_a_broker_of_our_own_is_one() -> None:
    spec, _ = plan("espbench/q3", engine="noop", service_settings={"kafka": {"replication": 3}})
    assert spec.service_settings == {"kafka.replication": 3}
    with pytest.raises(UsageError, match=r"-S kafka\.replication=3: there would be 1 broker"):
        choose_services(spec)


def test_an_address_that_makes_no_sense_is_refused_even_if_nothing_needs_it() -> None:
    with pytest.raises(UsageError, match="postgresql://"):
        plan("espbench/q3", engine="noop", postgres="db")


def test_settings_of_services_reach_them() -> None:
    settings = {"kafka.replication": "3", "kafka.topic.min.insync.replicas": "2"}
    spec, _ = plan("espbench/q3", engine="noop", kafka="h:1", service_settings=settings)
    (kafka,) = choose_services(spec)
    assert isinstance(kafka, GivenKafka)
    assert kafka.endpoint.replication == 3
    assert kafka.endpoint.topic_settings == {"min.insync.replicas": "2"}


@pytest.mark.parametrize(
    ("setting", "message", "remedy"),
    [
        ("kafak.replication", "unknown service 'kafak'", "Did you mean kafka?"),
        ("kafka.replicaton", "unknown setting of kafka 'replicaton'", "Did you mean replication?"),
        ("kafka", "-S kafka: no setting is named", "Write -S kafka.KEY=VALUE."),
        ("postgres.fsync", "unknown setting of postgres 'fsync'", None),
    ],
)
def test_a_setting_of_a_service_that_is_unknown_is_refused(
    setting: str, message: str, remedy: str | None
) -> None:
    with pytest.raises(UsageError) as raised:
        plan("espbench/q3", engine="noop", service_settings={setting: "1"})
    assert raised.value.message == message
    if remedy:
        assert remedy in (raised.value.remedy or "")


def test_a_value_that_a_setting_does_not_take_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"-S kafka\.replication must be a whole number, not 'many'"
    ):
        plan("espbench/q3", engine="noop", service_settings={"kafka.replication": "many"})
