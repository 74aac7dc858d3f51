"""The service `kafka`: a broker of our own, or a cluster given by address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from streamgauge.errors import UsageError
from streamgauge.services.addresses import Given
from streamgauge.services.kafka.endpoint import KafkaEndpoint, parse_jmx, parse_kafka
from streamgauge.services.running import Options
from streamgauge.services.service import Startable
from streamgauge.spec.endpoints import Endpoint


class Settings(BaseModel):
    """What can be chosen with -S kafka.KEY=VALUE."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    brokers: int = Field(default=1, ge=1, le=9)
    """Brokers of an embedded cluster."""
    replication: int = Field(default=1, ge=1)
    """Replication factor of the topics that are created."""
    topic: dict[str, str] = {}
    """Settings of those topics, as topic.min.insync.replicas=2."""


class Kafka:
    """A message broker: carries records, and stamps them with its own time."""

    name: ClassVar[str] = "kafka"
    title: ClassVar[str] = "message broker that carries the records"
    role: ClassVar[str] = "broker"
    needs: ClassVar[tuple[str, ...]] = ()
    jars: ClassVar[tuple[str, ...]] = ("kafka",)
    endpoint: ClassVar[type[Endpoint]] = KafkaEndpoint
    settings: ClassVar[type[BaseModel]] = Settings

    def check(self) -> None:
        """Raise NotReady when there is no Java."""
        from streamgauge.services.java import find_java

        find_java()

    def versions(self) -> Mapping[str, str]:
        """Return those of Java and of the broker."""
        from streamgauge.services import jars
        from streamgauge.services.java import find_java

        (broker,) = (each for each in jars.locked_jars("kafka") if each.artifact == "kafka_2.13")
        return {"java": find_java().version, "kafka": broker.version}

    def embedded(self, settings: BaseModel, options: Options) -> Startable:
        """Return a broker of our own, which exposes its counters where that was asked for."""
        from streamgauge.services.kafka.embedded import EmbeddedKafka

        assert isinstance(settings, Settings)
        if settings.replication > settings.brokers:
            raise UsageError(
                f"-S kafka.replication={settings.replication}: there would be"
                f" {settings.brokers} broker(s)",
                f"Add -S kafka.brokers={settings.replication}, or give a cluster:"
                " --kafka HOST:PORT.",
            )
        return EmbeddedKafka(
            options,
            brokers=settings.brokers,
            replication=settings.replication,
            topic_settings=settings.topic,
        )

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read HOST:PORT[,HOST:PORT…]."""
        return parse_kafka(given, environ)

    def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Startable:
        """Return a cluster that somebody else runs."""
        from streamgauge.services.kafka.given import GivenKafka

        assert isinstance(settings, Settings)
        if "brokers" in settings.model_fields_set:
            raise UsageError(
                f"-S kafka.brokers is for a cluster of our own, not for {endpoint.address}",
                "Leave it out.",
            )
        found = replace(
            KafkaEndpoint.of(endpoint),
            replication=settings.replication,
            topic_settings=settings.topic,
            jmx=parse_jmx() if options.counts else None,
        )
        return GivenKafka(found)
