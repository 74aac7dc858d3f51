"""Real services, started once for all tests that do not spoil them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from streamgauge.machine import LOCK_NAME
from streamgauge.services.choice import embedded
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import Options, RunningService
from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.starting import all_up
from streamgauge.spec.trial import LEAST_MEMORY
from tests.plugins import Plugins

if TYPE_CHECKING:
    from streamgauge.trial.bench import Bench
    from streamgauge.validation.session import Session

# Machines are shared and noisy: no example is timed, and what is checked does not change by chance.
settings.register_profile("unhurried", deadline=None, derandomize=True)
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("unhurried")


# Right or wrong does not depend on how well Java compiles, and that takes most of a short trial.
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1"
# What holds the machine's measurement lock may run in both workers: nothing is measured here.
os.environ[LOCK_NAME] = f"streamgauge-test-{os.getpid()}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-cell",
        action="store_true",
        help="let every engine answer every query by every transport and in every mode",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--every-cell"):
        kept = [item for item in items if item.get_closest_marker("thorough") is None]
        config.hook.pytest_deselected(items=set(items).difference(kept))
        items[:] = kept
    # What takes long begins first, so that all processes end at the same time.
    long = {item.path for item in items if item.get_closest_marker("spark")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Plugins]:
    """Packages of others, for this process and for those that it starts."""
    found = Plugins(tmp_path / "plugins")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(found.folder)
        patch.setenv("PYTHONPATH", str(found.folder), prepend=os.pathsep)
        yield found
    found.forget()  # when they can no longer be found: who looks meanwhile would remember them


@pytest.fixture(scope="session")
def services() -> Iterator[dict[str, RunningService[Any]]]:
    with all_up([embedded(name) for name in ("kafka", "postgres", "redis")]) as running:
        yield running


@pytest.fixture(scope="session")
def kafka(services: dict[str, RunningService[Any]]) -> RunningService[KafkaEndpoint]:
    return services["kafka"]


@pytest.fixture(scope="session")
def postgres(services: dict[str, RunningService[Any]]) -> RunningService[PostgresEndpoint]:
    return services["postgres"]


@pytest.fixture(scope="session")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The Spark that validates, started when it is first needed.

    PySpark has one session per process: a test that runs something else with Spark stops this one.
    """
    from streamgauge.validation.session import Session  # slow to load, and unit tests need none

    with Session(tmp_path_factory.mktemp("validator")) as session:
        yield session


@pytest.fixture(scope="session")
def bench(services: dict[str, RunningService[Any]], validator: Session) -> Bench:
    """What short trials need."""
    from tests.integration.trials import make_bench

    return make_bench(services, validator)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService[SparkEndpoint]]:
    """A Spark cluster of two small workers."""
    options = Options(log_dir=tmp_path_factory.mktemp("cluster"))
    with EmbeddedSpark(options, size=Size(2, 1, LEAST_MEMORY)).up() as running:
        yield running


@pytest.fixture
def cluster_bench(
    bench: Bench, cluster: RunningService[SparkEndpoint], validator: Session
) -> Iterator[Bench]:
    """What trials on the cluster need; the validator goes there, and comes back afterwards."""
    services = {**bench.services, "spark": cluster}
    yield replace(bench, services=services, spark=validator.get, release=validator.release)
    validator.move(None)
