"""The services that trials share, by the roles they have."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from streamgauge.services.running import RunningService
from streamgauge.trial.bench import Bench
from tests.unit.services.toys import ToyEndpoint


@dataclass(frozen=True)
class Running(RunningService[ToyEndpoint]):
    pids: tuple[int, ...] = ()

    def processes(self) -> tuple[int, ...]:
        return self.pids


def make_bench(tmp_path: Path, **services: tuple[str, tuple[int, ...]]) -> Bench:
    running = {
        name: Running(name, role, ToyEndpoint(name), pids=pids)
        for name, (role, pids) in services.items()
    }
    return Bench(running, lambda: pytest.fail("no Spark"), tmp_path, "test")


def test_services_are_told_by_their_role(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, kafka=("broker", (1,)), postgres=("database", (2,)))
    assert {told: service.name for told, service in bench.told().items()} == {
        "broker": "kafka",
        "database": "postgres",
    }


def test_services_that_share_a_role_are_told_apart_and_counted_together(tmp_path: Path) -> None:
    bench = make_bench(
        tmp_path, kafka=("broker", (1,)), postgres=("database", (2, 3)), redis=("database", (4,))
    )
    assert {told: service.name for told, service in bench.told().items()} == {
        "broker": "kafka",
        "database postgres": "postgres",
        "database redis": "redis",
    }
    found = {role: sorted(find()) for role, find in bench.processes().items()}
    assert found == {"broker": [1], "database": [2, 3, 4]}
