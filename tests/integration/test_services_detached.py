"""`services up|down|status`: detached, idempotent, careful with what is not ours."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import process
from streamgauge.errors import UsageError
from streamgauge.process import Seen
from streamgauge.services import detached, runtime
from streamgauge.services.kafka.endpoint import parse_kafka
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.postgres.endpoint import parse_postgres
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.services.runtime import Instance, Record
from streamgauge.spec.addresses import Given

pytestmark = pytest.mark.integration

UP = """
import json
from streamgauge.services import detached
print(json.dumps([[status.name, status.address, status.pids] for status in detached.up()]))
"""


@pytest.fixture(autouse=True)
def own_runtime_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))
    yield
    detached.down()


def test_two_at_once_start_each_service_once_and_down_removes_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", UP], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    first, second = (json.loads(each.communicate()[0]) for each in both)
    assert first == second
    assert [name for name, _, _ in first] == ["kafka", "postgres", "redis"]
    assert all(status.up for status in detached.status())
    assert all(pids for _, _, pids in first)
    seen = [Seen.of(pid) for _, _, pids in first for pid in pids]

    for status in detached.status():
        for variable, value in status.variables:
            monkeypatch.setenv(variable, value)
    GivenKafka(parse_kafka(Given(first[0][1]))).check()
    GivenPostgres(parse_postgres(Given(first[1][1]))).check()

    assert detached.leftovers() == []
    assert detached.down() == ["kafka", "postgres", "redis"]
    assert not any(status.up for status in detached.status())
    assert not any(each is not None and each.alive for each in seen)
    assert Instance.found() == []
    assert detached.down() == []


def test_the_number_of_a_dead_service_may_belong_to_somebody_else(tmp_path: Path) -> None:
    with process.start(["sleep", "600"], log=tmp_path / "log") as stranger:
        seen = Seen.of(stranger.pid)
        assert seen is not None
        for started in (seen.started, seen.started - 1):
            instance = Instance.create("kafka")
            record = Record("kafka", str(instance.data), None, (Seen(stranger.pid, started),))
            instance.write_record(record)
        assert not detached.status(["kafka"])[0].up
        assert detached.down() == []
        assert stranger.alive
    assert Instance.found() == []


def test_what_a_killed_owner_left_is_listed_and_removed(tmp_path: Path) -> None:
    instance = Instance.create("postgres")
    gone = Record("postgres", str(instance.data), owner=Seen(2**22 + 1, 1))
    instance.write_record(gone)
    assert f"folder {instance.folder}" in detached.leftovers()
    detached.down()
    assert not instance.folder.exists()
    assert not instance.data.exists()


def test_what_a_living_owner_uses_is_left_alone() -> None:
    instance = Instance.create("postgres")
    detached.down()
    assert instance.folder.exists()
    instance.remove()


def test_a_detached_process_whose_folder_is_gone_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "instance"
    child = process.start(["sleep", "600"], log=tmp_path / "log", detached=folder)
    assert f"leftover process {child.pid}" in detached.down()
    assert child.wait(10)


def test_unknown_names_start_nothing() -> None:
    with pytest.raises(UsageError, match="unknown service 'kafak'") as caught:
        detached.up(["postgres", "kafak"])
    assert caught.value.remedy == "Did you mean kafka? Known: kafka, postgres, redis."
    assert list(runtime.runtime_dir().iterdir()) == []
