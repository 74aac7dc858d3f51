import pytest

from streamgauge.errors import NotReady
from streamgauge.services.kafka.counters import BrokerCounters, service_url
from streamgauge.services.kafka.endpoint import JmxEndpoint
from streamgauge.services.runtime import free_port


def test_the_broker_is_asked_at_its_host() -> None:
    url = service_url(JmxEndpoint("broker1", 9999))
    assert url == "service:jmx:rmi:///jndi/rmi://broker1:9999/jmxrmi"


def test_a_broker_that_does_not_answer_is_told_without_its_password() -> None:
    endpoint = JmxEndpoint("127.0.0.1", free_port(), "reader", "s3cret")
    refused = pytest.raises(NotReady, match="own counters cannot be read")
    with BrokerCounters(endpoint) as counters, refused as raised:
        counters.sample(0.0)
    assert "s3cret" not in raised.value.message
