"""`services up|down|status`: detached, idempotent, careful with what is not ours."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import process
from streamgauge.errors import NotReady, UsageError
from streamgauge.process import Seen
from streamgauge.services import detached, runtime
from streamgauge.services.addresses import Given
from streamgauge.services.kafka.endpoint import parse_kafka
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.postgres.endpoint import parse_postgres
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.services.runtime import Instance, InstanceRecord
from tests.plugins import Plugins

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
    assert [name for name, _, _ in first] == ["kafka", "postgres", "redis", "spark"]
    assert all(status.up for status in detached.status())
    assert all(pids for _, _, pids in first)
    seen = [Seen.of(pid) for _, _, pids in first for pid in pids]

    for status in detached.status():
        for variable, value in status.variables:
            monkeypatch.setenv(variable, value)
    GivenKafka(parse_kafka(Given(first[0][1]))).check()
    GivenPostgres(parse_postgres(Given(first[1][1]))).check()

    assert detached.leftovers() == []
    assert detached.down() == (["kafka", "postgres", "redis", "spark"], [])
    assert not any(status.up for status in detached.status())
    assert not any(each is not None and each.alive for each in seen)
    assert Instance.found() == []
    assert detached.down() == ([], [])


def test_the_number_of_a_dead_service_may_belong_to_somebody_else(tmp_path: Path) -> None:
    with process.start(["sleep", "600"], log=tmp_path / "log") as stranger:
        seen = Seen.of(stranger.pid)
        assert seen is not None
        for started in (seen.started, seen.started - 1):
            instance = Instance.create("kafka")
            record = InstanceRecord(
                "kafka", str(instance.data), None, (Seen(stranger.pid, started),)
            )
            instance.write_record(record)
        assert not detached.status(["kafka"])[0].up
        assert detached.down()[0] == []
        assert stranger.alive
    assert Instance.found() == []


def test_what_a_killed_owner_left_is_listed_and_removed(tmp_path: Path) -> None:
    instance = Instance.create("postgres")
    gone = InstanceRecord("postgres", str(instance.data), owner=Seen(2**22 + 1, 1))
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
    assert f"process {child.pid}" in detached.down()[1]
    assert child.wait(10)


def test_unknown_names_start_nothing() -> None:
    with pytest.raises(UsageError, match="unknown service 'kafak'") as caught:
        detached.up(["postgres", "kafak"])
    assert caught.value.remedy == "Did you mean kafka? Known: kafka, postgres, redis, spark."
    assert list(runtime.runtime_dir().iterdir()) == []


STORE = """
import os
from dataclasses import dataclass
from typing import ClassVar

from streamgauge import process
from streamgauge.services.embedded import Embedded
from streamgauge.services.running import NoSettings
from streamgauge.spec.endpoints import Endpoint, secret


@dataclass(frozen=True)
class StoreEndpoint(Endpoint):
    service: ClassVar[str] = "store"
    place: str
    beside: str
    password: str = secret()

    @property
    def address(self):
        return f"store://{self.place}?beside={self.beside}"


class EmbeddedStore(Embedded):
    name, role, needs, needs_bytes = "store", "store", ("kafka",), 1

    def prepare(self):
        self.beside = self.needed["kafka"].address

    def initialize(self, instance):
        instance.secret_file.write_text("s3cret")

    def launch(self, instance, log):
        detached = instance.folder if self.options.detached else None
        child = process.start(["sleep", "600"], log=log, detached=detached)
        return [child], StoreEndpoint("here", self.beside, "s3cret")

    def is_ready(self, endpoint):
        return True

    def address(self, endpoint):
        return endpoint.address


class Store:
    name, title, role = "store", "a toy", "store"
    needs, jars, endpoint, settings = ("kafka",), (), StoreEndpoint, NoSettings

    def check(self):
        pass

    def versions(self):
        return {}

    def embedded(self, settings, options):
        return EmbeddedStore(options)

    def parse(self, given, environ=os.environ):
        place, _, beside = given.text.removeprefix("store://").partition("?beside=")
        return StoreEndpoint(place, beside)

    def given(self, endpoint, settings, options):
        raise NotImplementedError
"""


def test_a_service_of_another_package_starts_beside_what_it_needs(plugins: Plugins) -> None:
    plugins.install("somebodys_store", STORE, {"services": {"store": "somebodys_store:Store"}})
    (kafka,) = detached.up(["kafka"])
    assert [status.name for status in detached.status() if status.up] == ["kafka"]
    found = {status.name: status for status in detached.up(["store"])}
    assert list(found) == ["kafka", "store"]
    assert found["kafka"].pids == kafka.pids, "what is up already is left alone"
    assert found["store"].address == f"store://here?beside={kafka.address}"
    variables = dict(found["store"].variables)
    assert variables["STREAMGAUGE_STORE"] == found["store"].address
    assert Path(variables["STREAMGAUGE_STORE_PASSWORD_FILE"]).read_text() == "s3cret"
    again = {status.name: status.pids for status in detached.up(["store"])}
    assert again == {name: status.pids for name, status in found.items()}
    assert sorted(detached.down()[0]) == ["kafka", "store"]
    assert Instance.found() == []


def test_a_service_that_does_not_load_keeps_no_other_from_starting(plugins: Plugins) -> None:
    broken = {"services": {"lame": "half_a_store:Lame"}}
    plugins.install("half_a_store", "1 / 0", broken)
    needy = STORE.replace('("kafka",)', '("lame",)')
    plugins.install("needy_store", needy, {"services": {"store": "needy_store:Store"}})
    told: list[str] = []
    up = [status.name for status in detached.up(progress=told.append)]
    assert {"kafka", "postgres"} <= set(up)
    assert not {"lame", "store"} & set(up)
    left_out = [each for each in told if "is left out" in each]
    for name in ("lame", "store"):
        (said,) = (each for each in left_out if each.startswith(f"{name} "))
        assert "service 'lame' does not load" in said
    with pytest.raises(NotReady, match="service 'lame' does not load"):
        detached.up(["store"])
