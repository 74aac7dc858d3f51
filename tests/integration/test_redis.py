"""The service `redis`: embedded, given, and as users meet it on the command line."""

import itertools
import json
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis as client

from streamgauge import process
from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.process import Seen
from streamgauge.services import choice, detached, runtime
from streamgauge.services.addresses import Given
from streamgauge.services.redis import (
    EmbeddedRedis,
    GivenRedis,
    RedisEndpoint,
    connect,
    parse_redis,
)
from streamgauge.services.running import Options, RunningService
from streamgauge.services.runtime import Instance
from streamgauge.services.starting import all_up

pytestmark = pytest.mark.integration

Running = RunningService[RedisEndpoint]
OWNER = """
import sys
from streamgauge.process import end_on_signals
from streamgauge.services.redis import EmbeddedRedis

end_on_signals()
with EmbeddedRedis().up() as running:
    print(*running.processes(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[RunningService[Any]]:
    with all_up([choice.embedded("redis")]) as running:
        yield running["redis"]


@pytest.fixture
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep away from services that the developer has up."""
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))
    yield tmp_path / "run"
    detached.down()


def streamgauge(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streamgauge", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def folder_of(running: Running) -> Path:
    (member,) = running.members
    return member.log.parent


def refusal(endpoint: RedisEndpoint) -> NotReady:
    with pytest.raises(NotReady) as raised, GivenRedis(endpoint).up():
        pytest.fail("it was accepted")
    return raised.value


def test_it_keeps_what_is_written_to_it_and_nothing_on_the_disk(redis: Running) -> None:
    with connect(redis.endpoint) as ours:
        ours.set("greeting", "hello")
        assert ours.get("greeting") == b"hello"
        ours.delete("greeting")
        assert ours.config_get("save") == {"save": ""}
        assert ours.config_get("appendonly") == {"appendonly": "no"}
    assert redis.role == "redis"
    assert redis.failure() is None


@pytest.mark.parametrize("password", ["", "wrong"])
def test_it_wants_its_password(redis: Running, password: str) -> None:
    with (
        connect(replace(redis.endpoint, password=password)) as stranger,
        pytest.raises(client.AuthenticationError),
    ):
        stranger.ping()


def test_it_listens_on_loopback_only(redis: Running) -> None:
    (pid,) = redis.processes()
    connections = psutil.Process(pid).net_connections(kind="inet")
    listening = {each.laddr for each in connections if each.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", redis.endpoint.port)}


def test_the_password_is_in_one_closed_file_and_nowhere_else(redis: Running) -> None:
    secret = redis.endpoint.password.encode()
    folder = folder_of(redis)
    files = [*folder.rglob("*"), *(runtime.data_dir() / folder.name).rglob("*")]
    holding = [path for path in files if path.is_file() and secret in path.read_bytes()]
    assert [path.name for path in holding] == ["password"]
    assert holding[0].stat().st_mode & 0o777 == 0o600
    assert "Ready to accept connections" in redis.members[0].log.read_text()
    for part in ("cmdline", "environ"):
        assert secret not in Path(f"/proc/{redis.processes()[0]}/{part}").read_bytes()


def test_a_full_server_refuses_writes_and_forgets_nothing() -> None:
    with all_up([choice.embedded("redis", settings={"maxmemory": "4MiB"})]) as running:
        endpoint = RedisEndpoint.of(running["redis"].endpoint)
        with connect(endpoint) as ours:
            assert ours.config_get("maxmemory") == {"maxmemory": str(4 << 20)}
            ours.set("first", b"1")
            with pytest.raises(client.OutOfMemoryError):
                for number in itertools.count():
                    ours.set(f"more-{number}", bytes(1 << 16))
            assert ours.get("first") == b"1"
            ours.config_set("maxmemory", 1)
        assert "raise its maxmemory" in str(refusal(endpoint).remedy)


def test_a_port_that_is_taken_meanwhile_is_replaced(redis: Running) -> None:
    ports = itertools.chain([redis.endpoint.port], iter(runtime.free_port, None))
    with EmbeddedRedis(Options(choose_port=lambda: next(ports))).up() as running:
        assert running.endpoint.port != redis.endpoint.port
        assert running.failure() is None


def test_settings_that_the_server_refuses_show_the_reason() -> None:
    broken = EmbeddedRedis(settings={"maxmemory": "lots"})
    with pytest.raises(NotReady, match=r"(?s)redis did not start.*maxmemory"), broken.up():
        pytest.fail("it started")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_owner_ends(number: signal.Signals, own_runtime: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        seen = Seen.of(int(owner.stdout.readline()))
        assert seen is not None
        owner.send_signal(number)
    deadline = time.monotonic() + 30
    while seen.alive and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not seen.alive
    assert seen not in process.leftovers()
    left = [instance for instance, _ in Instance.found()]
    assert len(left) == (1 if number == signal.SIGKILL else 0)
    detached.remove_leftovers()
    assert Instance.found() == []
    assert not any(instance.data.exists() for instance in left)


def test_a_fit_server_is_used_and_nothing_is_left_in_it(redis: Running) -> None:
    with connect(redis.endpoint) as theirs:
        theirs.set("theirs", "untouched")
        with GivenRedis(redis.endpoint).up() as running:
            assert running.endpoint == redis.endpoint
            assert running.processes() == []
            assert running.lost() is None
            assert running.clock_offset is not None
            assert abs(running.clock_offset()) < 0.1  # they share our clock
        assert theirs.keys() == [b"theirs"]
        assert theirs.get("theirs") == b"untouched"
        theirs.delete("theirs")
    assert redis.failure() is None


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_server_that_wants_another_password_says_how_to_give_it(
    redis: Running, password: str
) -> None:
    error = refusal(replace(redis.endpoint, password=password))
    assert redis.endpoint.address in error.message
    assert "STREAMGAUGE_REDIS_PASSWORD" in str(error.remedy)
    assert redis.endpoint.password not in f"{error.message} {error.remedy}"
    assert "wrong" not in error.message


def test_a_server_that_wants_no_password_says_so() -> None:
    with EmbeddedRedis().up() as running:
        with connect(running.endpoint) as ours:
            ours.config_set("requirepass", "")
        GivenRedis(replace(running.endpoint, password="")).check()
        error = refusal(running.endpoint)
    assert "unset STREAMGAUGE_REDIS_PASSWORD" in str(error.remedy)


def test_a_user_who_may_not_write_is_refused(redis: Running) -> None:
    with connect(redis.endpoint) as ours:
        ours.execute_command("ACL", "SETUSER", "guest", "on", ">guest", "+ping", "+info", "~*")
        error = refusal(replace(redis.endpoint, user="guest", password="guest"))
        ours.execute_command("ACL", "DELUSER", "guest")
    assert "guest has no permissions to run the 'set' command" in error.message
    assert "name another" in str(error.remedy)


def test_a_database_that_is_not_there_is_refused(redis: Running) -> None:
    error = refusal(replace(redis.endpoint, database=4711))
    assert "/4711: " in error.message
    assert "out of range" in error.message


def test_a_replica_is_refused_because_it_takes_no_writes(redis: Running) -> None:
    with EmbeddedRedis().up() as running:
        with connect(running.endpoint) as ours:
            ours.replicaof("127.0.0.1", redis.endpoint.port)
        error = refusal(running.endpoint)
    assert "read only replica" in error.message
    assert "primary" in str(error.remedy)


def test_a_node_of_a_cluster_is_refused() -> None:
    settings = {"cluster-enabled": "yes", "cluster-port": str(runtime.free_port())}
    with EmbeddedRedis(settings=settings).up() as running:
        error = refusal(running.endpoint)
    assert "node of a cluster" in error.message
    assert "not in cluster mode" in str(error.remedy)


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    endpoint = RedisEndpoint("127.0.0.1", runtime.free_port())
    begin = time.monotonic()
    error = refusal(endpoint)
    assert time.monotonic() - begin < 10
    assert endpoint.address in error.message
    assert "refused" in error.message
    with pytest.raises(TrialInvalid, match="clock cannot be read"):
        GivenRedis(endpoint).clock_offset()


def test_one_that_never_answers_is_named_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        error = refusal(RedisEndpoint("127.0.0.1", silent.getsockname()[1]))
    assert time.monotonic() - begin < 10
    assert "Timeout" in error.message


def test_services_up_status_down(own_runtime: Path) -> None:
    up = streamgauge("services", "up", "redis")
    assert up.returncode == 0, up.stderr
    lines = [shlex.split(line)[1].partition("=") for line in up.stdout.splitlines()]
    variables = {name: value for name, _, value in lines}
    assert [*variables] == ["STREAMGAUGE_REDIS", "STREAMGAUGE_REDIS_PASSWORD_FILE"]
    secret = Path(variables["STREAMGAUGE_REDIS_PASSWORD_FILE"])
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.read_text() not in up.stdout + up.stderr

    status = json.loads(streamgauge("services", "status", "redis", "--json").stdout)["redis"]
    assert status["address"] == variables["STREAMGAUGE_REDIS"]
    assert streamgauge("services", "up", "redis").stdout == up.stdout
    GivenRedis(parse_redis(Given(variables["STREAMGAUGE_REDIS"]), variables)).check()

    assert streamgauge("services", "down").stdout == "stopped: redis\n"
    assert not secret.exists()
    assert [Seen.of(pid) for pid in status["pids"]] == [None]
    assert streamgauge("services", "down").stdout == "nothing was up\n"


def test_the_list_of_services_shows_it() -> None:
    (found,) = [
        each
        for each in json.loads(streamgauge("list", "services", "--json").stdout)["services"]
        if each["name"] == "redis"
    ]
    assert (found["state"], found["remedy"]) == ("ok", None)
    assert "key-value" in found["title"]


@pytest.mark.usefixtures("own_runtime")
def test_the_doctor_starts_and_stops_it() -> None:
    report = json.loads(streamgauge("doctor", "--json").stdout)
    found = {finding["name"]: finding for finding in report["findings"]}
    assert found["redis"]["state"] == "ok"
    assert "stopped again" in found["redis"]["value"]


def test_a_run_that_needs_none_says_so() -> None:
    asked = ("run", "espbench/q3", "--service", "redis=redis://127.0.0.1:1", "--dry-run")
    done = streamgauge(*asked)
    assert done.returncode == 0, done.stderr
    assert "redis://127.0.0.1:1/0 is given, but nothing here needs it: not used" in done.stderr
