"""What is made of what Spark tells of its executors."""

import pytest

from streamgauge.services.spark.executors import host_of


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("127.0.0.1:41873", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),  # as long as it has only called in
        ("worker-1.example:7", "worker-1.example"),
        ("[::1]:7", "[::1]"),
        ("[::1]", "[::1]"),
    ],
)
def test_the_host_of_an_executor_is_known_before_its_port(address: str, host: str) -> None:
    assert host_of(address) == host
