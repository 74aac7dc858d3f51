"""What a broker itself counts: incoming messages and bytes, over JMX."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from streamgauge.errors import NotReady
from streamgauge.services.java import ENVIRONMENT, find_java
from streamgauge.services.kafka.endpoint import JmxEndpoint

_COUNTERS = {"broker.messages": "MessagesInPerSec", "broker.bytes": "BytesInPerSec"}
_ANSWER_S = 5.0
_OPENED = "--add-opens=java.management.rmi/javax.management.remote.rmi=ALL-UNNAMED"


@contextmanager
def broker_counters(endpoint: JmxEndpoint) -> Iterator[Callable[[float], Mapping[str, float]]]:
    """Return what asks a broker; the Java that this needs starts now, not while measuring.

    Raises:
        NotReady: The counters cannot be read.
    """
    with BrokerCounters(endpoint) as counters:
        counters.sample(0.0)
        yield counters.sample


class BrokerCounters:
    """Asks a broker for its counters, through a small Java process; leaving the context ends it."""

    def __init__(self, endpoint: JmxEndpoint) -> None:
        self._endpoint = endpoint
        self._process: subprocess.Popen[bytes] | None = None
        self._gateway: JavaGateway | None = None
        self._server: Any = None

    def sample(self, _at_s: float) -> Mapping[str, float]:
        """Return what came in since the broker's start.

        Raises:
            NotReady: The counters cannot be read.
        """
        if self._server is None:
            try:
                self._connect()
            except (Py4JError, OSError, ValueError) as error:
                reason = str(error).partition("\n")[0]
                raise NotReady(f"the broker's own counters cannot be read: {reason}") from error
        assert self._gateway is not None
        names = {
            name: self._gateway.jvm.javax.management.ObjectName(
                f"kafka.server:type=BrokerTopicMetrics,name={counter}"
            )
            for name, counter in _COUNTERS.items()
        }
        return {name: float(self._server.getAttribute(at, "Count")) for name, at in names.items()}

    def close(self) -> None:
        """End the Java process."""
        if self._gateway is not None:
            self._gateway.shutdown()
            self._gateway = self._server = None
        if self._process is not None:
            self._process.communicate()  # it ends when its input does
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> None:
        # Java would wait for minutes on a host that does not answer.
        place = self._endpoint.host.strip("[]"), self._endpoint.port
        socket.create_connection(place, _ANSWER_S).close()
        (library,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
        patience = f"-Dsun.rmi.transport.tcp.responseTimeout={_ANSWER_S * 1000:.0f}"
        options = ["-Xmx64m", "-XX:+UseSerialGC", patience, _OPENED, "-cp", str(library)]
        server = ["py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"]
        self._process = subprocess.Popen(
            [find_java().executable, *options, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ENVIRONMENT},
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        token = self._process.stdout.readline().decode().strip()
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)
        )
        remote = self._gateway.jvm.javax.management.remote
        connector = remote.JMXConnectorFactory.connect(
            remote.JMXServiceURL(service_url(self._endpoint)), self._credentials(self._gateway)
        )
        self._server = connector.getMBeanServerConnection()

    def _credentials(self, gateway: JavaGateway) -> Any:
        environment = gateway.jvm.java.util.HashMap()
        if self._endpoint.user:
            credentials = gateway.new_array(gateway.jvm.java.lang.String, 2)
            credentials[0], credentials[1] = self._endpoint.user, self._endpoint.password
            environment.put("jmx.remote.credentials", credentials)
        return environment


def service_url(endpoint: JmxEndpoint) -> str:
    """Return the address as Java writes it."""
    return f"service:jmx:rmi:///jndi/rmi://{endpoint.host}:{endpoint.port}/jmxrmi"
