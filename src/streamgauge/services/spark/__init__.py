"""The service `spark`: a standalone cluster of our own, or one given by its master's address."""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from streamgauge.errors import UsageError
from streamgauge.services.addresses import Given
from streamgauge.services.running import Options
from streamgauge.services.service import Startable
from streamgauge.services.spark.endpoint import SparkEndpoint, parse_spark
from streamgauge.services.spark.executors import SLOTS
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.reading import guarded
from streamgauge.spec.trial import LEAST_MEMORY
from streamgauge.units import parse_size


def _size(value: object) -> int:
    return parse_size(str(value))


_OF_GIVEN = frozenset({"python", "packages"})
Memory = Annotated[int, BeforeValidator(guarded(_size))]


class Settings(BaseModel):
    """What can be chosen with -S spark.KEY=VALUE; a trial's resources take precedence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workers: int = Field(default=2, ge=1)
    """Workers, each for one executor."""
    cores: int = Field(default=1, ge=1)
    """CPUs that each may use, if there are enough for all."""
    memory: Memory = Field(default=2 << 30, ge=LEAST_MEMORY)
    """Memory that each may give to executors."""
    slots: int = Field(default=SLOTS, ge=1)
    """Tasks that each may run at once: real-time queries need more of them than CPUs."""
    python: str = ""
    """Of a given cluster: the Python of its executors [default: python3.N, N as here; ours where
    the master is on loopback]."""
    packages: Literal["sent", "there"] = "sent"
    """Of a given cluster: whether executors are sent what our tasks import, or already have it."""


class Spark:
    """A cluster that runs Spark's executors."""

    name: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark cluster that runs an engine's instances"
    role: ClassVar[str] = "cluster"
    needs: ClassVar[tuple[str, ...]] = ()
    jars: ClassVar[tuple[str, ...]] = ()
    endpoint: ClassVar[type[Endpoint]] = SparkEndpoint
    settings: ClassVar[type[BaseModel]] = Settings

    def check(self) -> None:
        """Raise NotReady when there is no Java."""
        from streamgauge.services.java import find_java

        find_java()

    def versions(self) -> Mapping[str, str]:
        """Return that of Java; PySpark is also the harness's."""
        from streamgauge.services.java import find_java

        return {"java": find_java().version}

    def embedded(self, settings: BaseModel, options: Options) -> Startable:
        """Return a master and workers of our own."""
        from streamgauge.services.spark.embedded import EmbeddedSpark, Size

        assert isinstance(settings, Settings)
        _refuse(settings, _OF_GIVEN, "a cluster given by --spark-master")
        size = Size(settings.workers, settings.cores, settings.memory)
        return EmbeddedSpark(options, size=size, slots=settings.slots)

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read spark://HOST:PORT, k8s://… or yarn."""
        return parse_spark(given, environ)

    def given(
        self,
        endpoint: Endpoint,
        settings: BaseModel,
        options: Options,  # noqa: ARG002 - it has none
    ) -> Startable:
        """Return a cluster that somebody else runs."""
        from streamgauge.services.spark import packages
        from streamgauge.services.spark.given import GivenSpark

        assert isinstance(settings, Settings)
        _refuse(settings, Settings.model_fields.keys() - _OF_GIVEN, "a cluster of our own")
        found = SparkEndpoint.of(endpoint)
        if settings.python or not found.is_local:
            named = settings.python or f"python{packages.version()}"
            found = replace(found, python=named, sends_packages=settings.packages == "sent")
        return GivenSpark(found)


def _refuse(settings: Settings, keys: Set[str], where: str) -> None:
    """Refuse settings that have no meaning for this kind of cluster."""
    for key in sorted(settings.model_fields_set & keys):
        raise UsageError(f"-S spark.{key} is for {where}", "Leave it out.")
