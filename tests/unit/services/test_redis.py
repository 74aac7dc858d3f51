"""The address of a Redis, its settings, and which program is used."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import NotReady, UsageError
from streamgauge.services import choice, redis
from streamgauge.services.addresses import Given
from streamgauge.services.endpoints import read_endpoints, secrets_of, write_endpoints
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.redis import RedisEndpoint, parse_redis
from streamgauge.services.running import Options
from streamgauge.spec.endpoints import Endpoints

NOTHING: Mapping[str, str] = {}


def test_an_address_with_defaults() -> None:
    found = parse_redis(Given("redis://cache"), NOTHING)
    assert found == RedisEndpoint("cache", 6379, 0, "", "")
    assert found.address == "redis://cache:6379/0"


def test_an_address_with_everything() -> None:
    found = parse_redis(Given("redis://me@[::1]:7000/12"), NOTHING)
    assert found == RedisEndpoint("::1", 7000, 12, "me", "")
    assert found.address == "redis://[::1]:7000/12"


@given(
    host=st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True),
    port=st.integers(1, 65535),
    database=st.integers(0, 10_000),
)
def test_the_address_that_is_shown_names_the_same_place(
    host: str, port: int, database: int
) -> None:
    endpoint = RedisEndpoint(host, port, database)
    assert parse_redis(Given(endpoint.address), NOTHING) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cache:6379",
        "rediss://cache",
        "redis://",
        "redis:///1",
        "redis://cache:x",
        "redis://cache:70000",
        "redis://cache/one",
        "redis://cache/-1",
        "redis://cache/1/2",
        "redis://cache?db=2",
        "redis://cache/1#2",
    ],
)
def test_an_address_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"redis://\[USER@\]HOST"):
        parse_redis(Given(text), NOTHING)


@pytest.mark.parametrize(
    "text", ["redis://me:s3cret@cache/one", "redis://cache/1?password=s3cret", "redis://:s3cret@"]
)
def test_a_refused_address_does_not_repeat_a_password(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_redis(Given(text, from_env=True), NOTHING)
    assert "s3cret" not in f"{raised.value.message} {raised.value.remedy}"


@pytest.mark.parametrize("text", ["redis://me:s3cret@cache/1", "redis://:s3cret@cache"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_redis(Given(text), NOTHING)
    assert "s3cret" not in f"{raised.value.message} {raised.value.remedy}"
    assert "STREAMGAUGE_REDIS_PASSWORD" in str(raised.value.remedy)


def test_a_password_within_the_environments_address_is_taken_and_not_shown() -> None:
    found = parse_redis(Given("redis://me:p%40ss@cache", from_env=True), NOTHING)
    assert (found.user, found.password) == ("me", "p@ss")
    assert "p@ss" not in repr(found)
    assert "p@ss" not in found.address
    assert "me" not in found.address


def test_the_password_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from file\n")
    by_file = {"STREAMGAUGE_REDIS_PASSWORD_FILE": str(file)}
    address = Given("redis://cache")
    assert parse_redis(address, by_file).password == "from file"
    both = {**by_file, "STREAMGAUGE_REDIS_PASSWORD": "100% direct"}
    assert parse_redis(address, both).password == "100% direct"


@pytest.mark.parametrize("path", ["", "/", "/0"])
def test_the_environment_may_name_the_first_database_in_any_way(path: str) -> None:
    """A run keeps the address that is shown, and finds the password by it again."""
    environ = {"STREAMGAUGE_REDIS": f"redis://me:s3cret@cache{path}"}
    planned = parse_redis(Given(environ["STREAMGAUGE_REDIS"], from_env=True), environ)
    assert parse_redis(Given(planned.address), environ) == planned
    other = parse_redis(Given("redis://cache/1"), environ)
    assert (other.user, other.password) == ("", "")


def test_the_password_travels_by_the_environment_and_in_no_file() -> None:
    endpoint = RedisEndpoint("cache", 6379, 3, "me", "s3cret")
    endpoints = Endpoints(
        transport="kafka",
        via=KafkaEndpoint("h:1"),
        inputs={},
        output=None,
        partitions=1,
        group="g",
        services={"redis": endpoint},
    )
    written, secrets = write_endpoints(endpoints), secrets_of(endpoints)
    assert "s3cret" not in str(written)
    assert secrets == {"STREAMGAUGE_REDIS_PASSWORD": "s3cret"}
    assert read_endpoints(written, secrets).services["redis"] == endpoint


@pytest.mark.parametrize("value", ["lots", "0", "-1", "1.5", ["1GiB"]])
def test_a_bound_that_makes_no_sense_is_named(value: object) -> None:
    with pytest.raises(UsageError, match=r"-S redis\.maxmemory"):
        choice.embedded("redis", settings={"maxmemory": value})


def test_the_bound_of_a_given_server_is_its_owners() -> None:
    address, settings = Given("redis://cache"), {"maxmemory": "1GiB"}
    with pytest.raises(UsageError, match=r"redis\.maxmemory .* redis://cache:6379/0"):
        choice.given("redis", address, Options(), settings)


def program(folder: Path, name: str, says: str, code: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    file.chmod(0o755)


def test_a_server_on_the_path_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "valkey-server", "Valkey server v=8.1.0 sha=0:0 malloc=libc bits=64")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis.find_server().program == tmp_path / "valkey-server"
    assert redis.Redis().versions() == {"valkey": "8.1.0"}
    program(tmp_path, "redis-server", "Redis server v=7.0.15 sha=0:0 malloc=jemalloc bits=64")
    assert redis.Redis().versions() == {"redis": "7.0.15"}


def test_a_server_that_is_too_old_or_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "redis-server", "Redis server v=6.0.16 sha=0:0 malloc=jemalloc bits=64")
    program(tmp_path, "valkey-server", "no such library", code=127)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis.find_server().program.parent != tmp_path
    monkeypatch.setattr(redis.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NotReady, match=r"6\.0\.16, which is too old.*no such library") as raised:
        redis.Redis().check()
    assert "make setup" in str(raised.value.remedy)


def test_without_any_server_the_remedy_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(redis.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NotReady, match="no redis-server or valkey-server") as raised:
        redis.Redis().check()
    assert "install Redis 6.2 or newer" in str(raised.value.remedy)
