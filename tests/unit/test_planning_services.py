"""Which services a run uses, and where they are."""

import pytest

from streamgauge.errors import UsageError
from streamgauge.planning import Asked, choose_services, plan_run
from streamgauge.services.kafka.endpoint import JmxEndpoint
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.postgres.endpoint import parse_postgres
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.spec.addresses import Given


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
