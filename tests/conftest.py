"""Real services, started once for all tests that do not spoil them."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from streamgauge.machine import LOCK_NAME
from streamgauge.services import NAMES, embedded
from streamgauge.services.service import RunningService, all_up
from streamgauge.spec.endpoints import KafkaEndpoint, PostgresEndpoint

# Machines are shared and noisy: no example is timed, and what is checked does not change by chance.
settings.register_profile("unhurried", deadline=None, derandomize=True)
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("unhurried")


# What holds the machine's measurement lock may run in both workers: nothing is measured here.
os.environ[LOCK_NAME] = f"streamgauge-test-{os.getpid()}"


@pytest.fixture(scope="session")
def services() -> Iterator[dict[str, RunningService[Any]]]:
    with all_up([embedded(name) for name in NAMES]) as running:
        yield running


@pytest.fixture(scope="session")
def kafka(services: dict[str, RunningService[Any]]) -> RunningService[KafkaEndpoint]:
    return services["kafka"]


@pytest.fixture(scope="session")
def postgres(services: dict[str, RunningService[Any]]) -> RunningService[PostgresEndpoint]:
    return services["postgres"]
