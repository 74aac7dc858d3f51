"""An embedded Kafka: one node, KRaft, loopback only, without password."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.process import Process
from streamgauge.services import jars
from streamgauge.services.embedded import Embedded
from streamgauge.services.java import ENVIRONMENT, Java, find_java
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
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    # Latency is measured between the broker's own time stamps.
    "log.message.timestamp.type": "LogAppendTime",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.segment.bytes": "268435456",
    # Topics that may forget shall do so before the disk is full.
    "log.retention.check.interval.ms": "5000",
}


class EmbeddedKafka(Embedded[KafkaEndpoint]):
    """A broker of our own.

    Args:
        options: How to start it.
        settings: Broker settings on top of ours.
        client: librdkafka settings that clients then need.
        class_path: Jars or folders with further classes for the broker.
        replication: Of the topics that clients create.
        topic_settings: Of those topics, on top of ours.

    Where the options want it, it tells what it counts by JMX: on loopback, to who knows a
    generated password.
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
        replication: int = 1,
        topic_settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(options)
        self._settings = dict(settings or {})
        self._client = dict(client or {})
        self._extra = tuple(class_path)
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
        self._write_config(instance, port=9092, controller_port=9093)  # ports do not matter yet
        self._cluster = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        # With =, since an id that begins with a dash would be read as an option.
        arguments = ["format", f"--cluster-id={self._cluster}", "-c", str(_config(instance))]
        # Over in a second: what the thorough compiler costs never pays.
        jvm = ["-XX:TieredStopAtLevel=1"]
        with self._run(
            instance, instance.log, "kafka.tools.StorageTool", arguments, jvm
        ) as format_:
            if not format_.wait(FORMAT_WITHIN_S) or format_.exit_code != 0:
                raise NotReady(f"cannot format Kafka's storage: {format_.failure()}")

    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], KafkaEndpoint]:
        """Start the broker."""
        port, controller_port = self.options.choose_port(), self.options.choose_port()
        self._write_config(instance, port, controller_port)
        jmx = _open_jmx(instance, self.options.choose_port()) if self.options.counts else None
        jvm = _jmx_arguments(instance, jmx) if jmx else []
        broker = self._run(instance, log, "kafka.Kafka", [str(_config(instance))], jvm)
        endpoint = KafkaEndpoint(
            f"127.0.0.1:{port}", self._client, jmx, self._replication, self._topic_settings
        )
        return [broker], endpoint

    def is_ready(self, endpoint: KafkaEndpoint) -> bool:
        """Ask for the brokers and the controller; a stranger may answer on a port it took."""
        from streamgauge.services.kafka.admin import is_up

        return is_up(endpoint, self._cluster)

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

    def _write_config(self, instance: Instance, port: int, controller_port: int) -> None:
        controller = f"127.0.0.1:{controller_port}"
        ports = {
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(instance.data / "topics"),
        }
        settings = {**_SETTINGS, **ports, **self._settings}
        lines = (f"{key}={_escape(value)}\n" for key, value in settings.items())
        _config(instance).write_text("".join(lines), encoding="ascii")


def _open_jmx(instance: Instance, port: int) -> JmxEndpoint:
    """Write the files that let one user read, and nobody else."""
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


def _config(instance: Instance) -> Path:
    return instance.folder / "server.properties"


def _escape(value: str) -> str:
    """Write a value as Java's property files have it: backslashes doubled, ASCII only."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
