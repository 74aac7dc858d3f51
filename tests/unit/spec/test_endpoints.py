"""Secrets of an endpoint travel by the environment, and by no file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.services.endpoints import read_endpoints, secrets_of, write_endpoints
from streamgauge.services.kafka.endpoint import JmxEndpoint, KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Endpoint, Endpoints, places_in, secret, unwritten
from streamgauge.transports.flight.endpoint import FlightEndpoint


@dataclass(frozen=True)
class StoreEndpoint(Endpoint):
    service: ClassVar[str] = "my-store"

    host: str
    ports: tuple[int, ...] = ()
    labels: Mapping[str, str] = unwritten(default_factory=dict)
    password: str = secret()
    token: str = secret("token")

    @property
    def address(self) -> str:
        return f"store://{self.host}"


STORE = StoreEndpoint("h", (1, 2), {"a": "b"}, "pass-word", "to-ken")
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def test_secrets_are_never_in_what_is_written() -> None:
    assert STORE.written() == {"host": "h", "ports": [1, 2]}
    assert STORE.secrets() == {
        "STREAMGAUGE_MY_STORE_PASSWORD": "pass-word",
        "STREAMGAUGE_MY_STORE_TOKEN": "to-ken",
    }
    assert "pass-word" not in repr(STORE)
    assert replace(STORE, password="").secrets() == {"STREAMGAUGE_MY_STORE_TOKEN": "to-ken"}


def test_what_was_written_and_the_environment_give_it_back() -> None:
    written = json.loads(json.dumps(replace(STORE, ports=()).written()))
    found = StoreEndpoint.restored({**written, "ports": ()}, STORE.secrets())
    assert found == replace(STORE, ports=(), labels={})
    assert StoreEndpoint.restored(written, {}).password == ""


@given(texts, st.integers(1, 65535), texts, texts, texts)
def test_a_database_comes_back_as_it_was(
    host: str, port: int, name: str, user: str, password: str
) -> None:
    endpoint = PostgresEndpoint(host, port, name, user, password, "mine")
    written = json.loads(json.dumps(endpoint.written()))
    assert "password" not in written
    assert PostgresEndpoint.restored(written, endpoint.secrets()) == endpoint


def test_an_endpoint_of_another_kind_is_refused() -> None:
    assert StoreEndpoint.of(STORE) is STORE
    with pytest.raises(TypeError, match="is not a KafkaEndpoint"):
        KafkaEndpoint.of(STORE)


def make_endpoints(transport: str, via: Endpoint) -> Endpoints:
    return Endpoints(
        transport=transport,
        via=via,
        inputs={"sensor1": "t1"},
        output="out",
        partitions=2,
        group="g",
        configuration={"prices": "t2"},
        internal={"middle": "t3"},
        services={"postgres": PostgresEndpoint("db", 5432, "bench", "me", "pass-word")},
    )


@pytest.mark.parametrize(
    ("transport", "via"),
    [
        ("kafka", KafkaEndpoint("h:1")),
        ("flight", FlightEndpoint("h", 1, "to-ken")),
    ],
)
def test_endpoints_of_a_trial_come_back_with_their_secrets(transport: str, via: Endpoint) -> None:
    endpoints = make_endpoints(transport, via)
    written = json.dumps(write_endpoints(endpoints))
    assert "pass-word" not in written
    assert "to-ken" not in written
    assert read_endpoints(json.loads(written), secrets_of(endpoints)) == endpoints


def test_what_belongs_to_the_harness_alone_is_not_written() -> None:
    jmx = JmxEndpoint("h", 2, "reader", "jmx-word")
    kafka = KafkaEndpoint("h:1", {"sasl.password": "pass-word"}, jmx, 3, {"a": "b"})
    assert kafka.written() == {"bootstrap": "h:1"}
    assert kafka.secrets() == {}


def test_all_places_of_a_trial_are_known_by_what_is_in_them() -> None:
    endpoints = make_endpoints("kafka", KafkaEndpoint("h:1"))
    assert endpoints.read == {"sensor1": "t1", "prices": "t2"}
    assert endpoints.places == {"sensor1": "t1", "prices": "t2", "middle": "t3", "out": "out"}
    assert "out" not in replace(endpoints, output=None).places


def test_servers_are_read_from_an_address() -> None:
    assert places_in("a:1,b:2") == [("a", 1), ("b", 2)]
    assert places_in("postgresql://db.example:5432/bench") == [("db.example", 5432)]
    assert places_in("grpc://[::1]:7") == [("::1", 7)]
    assert places_in("yarn") == []
