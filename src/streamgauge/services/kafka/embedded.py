"""An embedded Kafka: one broker or several, KRaft, loopback only, without password."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.process import Process
from streamgauge.services import jars
from streamgauge.services.embedded import Embedded
from streamgauge.services.java import ENVIRONMENT, Java, find_java, property_value
from streamgauge.services.kafka.endpoint import JmxEndpoint, KafkaEndpoint
from streamgauge.services.running import Options
from streamgauge.services.runtime import Instance

HEAP = "512m"
FORMAT_WITHIN_S = 60.0
_JVM = [
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
]
_SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    # Latency is measured between the broker's own time stamps.
    "log.message.timestamp.type": "LogAppendTime",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.segment.bytes": "268435456",
    # Topics that may forget must do so before the disk is full.
    "log.retention.check.interval.ms": "5000",
}


_INTERNAL_TOPICS = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
_MOST_COPIES = 3
"""Of Kafka's own topics, if there are as many brokers."""


@dataclass(frozen=True)
class _Node:
    """A server that is broker and controller at once."""

    number: int
    port: int
    controller_port: int

    @property
    def voter(self) -> str:
        """Return its address for the others."""
        return f"{self.number}@127.0.0.1:{self.controller_port}"


class EmbeddedKafka(Embedded[KafkaEndpoint]):
    """A broker of our own, or a cluster of them.

    Args:
        options: How to start it.
        settings: Broker settings on top of ours.
        client: librdkafka settings that clients then need.
        class_path: Jars or folders with further classes for the broker.
        brokers: How many there are.
        replication: Of the topics that clients create.
        topic_settings: Of those topics, on top of ours.

    If the options ask for it, a single broker exposes its counters over JMX: on loopback, with a
    generated password. With several, no broker's counters would cover all.
    """

    name = "kafka"
    role = "broker"
    needs_bytes = 512 << 20

    def __init__(
        self,
        options: Options | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        client: Mapping[str, str] | None = None,
        class_path: Sequence[Path] = (),
        brokers: int = 1,
        replication: int = 1,
        topic_settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(options)
        self._settings = dict(settings or {})
        self._client = dict(client or {})
        self._extra = tuple(class_path)
        self._brokers = brokers
        self._replication = replication
        self._topic_settings = dict(topic_settings or {})
        self._java: Java | None = None
        self._class_path = ""
        self._cluster = ""

    def prepare(self) -> None:
        """Find Java and the broker's jars."""
        self._java = find_java()
        files = jars.ensure("kafka", self.options.progress)
        self._class_path = os.pathsep.join(str(path) for path in (*files, *self._extra))

    def initialize(self, instance: Instance) -> None:
        """Format the storage."""
        # The ports do not matter yet.
        nodes = [_Node(number, 9092, 9093) for number in range(1, self._brokers + 1)]
        self._cluster = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        # With =, since an id that begins with a dash would be read as an option.
        arguments = ["format", f"--cluster-id={self._cluster}", "-c"]
        # Over in a second: the thorough compiler would never pay off.
        jvm = ["-XX:TieredStopAtLevel=1"]
        tool = "kafka.tools.StorageTool"
        with ExitStack() as stack:
            formatting = []
            for node in nodes:
                config = self._write_config(instance, node, nodes)
                format_ = self._run(instance, instance.log, tool, [*arguments, config], jvm)
                formatting.append(stack.enter_context(format_))
            for format_ in formatting:
                if not format_.wait(FORMAT_WITHIN_S) or format_.exit_code != 0:
                    raise NotReady(f"cannot format Kafka's storage: {format_.failure()}")

    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], KafkaEndpoint]:
        """Start the brokers."""
        choose = self.options.choose_port
        nodes = [_Node(number, choose(), choose()) for number in range(1, self._brokers + 1)]
        counts = self.options.counts and self._brokers == 1
        jmx = _open_jmx(instance, choose()) if counts else None
        jvm = _jmx_arguments(instance, jmx) if jmx else []
        brokers = []
        for node in nodes:
            config = self._write_config(instance, node, nodes)
            beside = log if node is nodes[0] else log.with_stem(f"{log.stem}-{node.number}")
            brokers.append(self._run(instance, beside, "kafka.Kafka", [config], jvm))
        bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        endpoint = KafkaEndpoint(
            bootstrap, self._client, jmx, self._replication, self._topic_settings
        )
        return brokers, endpoint

    def is_ready(self, endpoint: KafkaEndpoint) -> bool:
        """Ask for the brokers and the controller; a stranger may answer on a port it took."""
        from streamgauge.services.kafka.admin import is_up

        return is_up(endpoint, self._cluster, self._brokers)

    def address(self, endpoint: KafkaEndpoint) -> str:
        """Return host and port."""
        return endpoint.bootstrap

    def _run(
        self,
        instance: Instance,
        log: Path,
        program: str,
        arguments: Sequence[str],
        jvm: Sequence[str] = (),
    ) -> Process:
        assert self._java is not None
        options = [f"-Xms{HEAP}", f"-Xmx{HEAP}", *_JVM, *jvm]
        return self.start(
            instance,
            [self._java.executable, *options, "-cp", self._class_path, program, *arguments],
            log,
            env=ENVIRONMENT,
        )

    def _write_config(self, instance: Instance, node: _Node, nodes: Sequence[_Node]) -> str:
        listener = f"PLAINTEXT://127.0.0.1:{node.port}"
        copies = str(min(len(nodes), _MOST_COPIES))
        own = {
            "node.id": str(node.number),
            "controller.quorum.voters": ",".join(each.voter for each in nodes),
            "listeners": f"{listener},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": listener,
            "log.dirs": str(instance.data / f"topics-{node.number}"),
            **{f"{topic}.replication.factor": copies for topic in _INTERNAL_TOPICS},
        }
        settings = {**_SETTINGS, **own, **self._settings}
        lines = (f"{key}={property_value(value)}\n" for key, value in settings.items())
        config = instance.folder / f"server-{node.number}.properties"
        config.write_text("".join(lines), encoding="ascii")
        return str(config)


def _open_jmx(instance: Instance, port: int) -> JmxEndpoint:
    """Write the files that let one user read, and no other."""
    jmx = JmxEndpoint("127.0.0.1", port, "streamgauge", secrets.token_urlsafe(24))
    write_atomically(instance.folder / "jmx.password", f"{jmx.user} {jmx.password}\n", 0o600)
    write_atomically(instance.folder / "jmx.access", f"{jmx.user} readonly\n", 0o600)
    return jmx


def _jmx_arguments(instance: Instance, jmx: JmxEndpoint) -> list[str]:
    remote = {
        "host": "127.0.0.1",
        "port": jmx.port,
        "rmi.port": jmx.port,
        "authenticate": "true",
        "ssl": "false",
        "password.file": instance.folder / "jmx.password",
        "access.file": instance.folder / "jmx.access",
    }
    return [
        "-Djava.rmi.server.hostname=127.0.0.1",
        *(f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in remote.items()),
    ]
