"""Addresses of given services, as users write them, and the secrets that go with them."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from streamgauge.errors import NotReady, UsageError
from streamgauge.spec.endpoints import (
    FlightEndpoint,
    JmxEndpoint,
    KafkaEndpoint,
    PostgresEndpoint,
)

KAFKA = "STREAMGAUGE_KAFKA"
KAFKA_CONFIG = "STREAMGAUGE_KAFKA_CONFIG"
KAFKA_JMX = "STREAMGAUGE_KAFKA_JMX"
KAFKA_JMX_USER = "STREAMGAUGE_KAFKA_JMX_USER"
KAFKA_JMX_PASSWORD = "STREAMGAUGE_KAFKA_JMX_PASSWORD"  # noqa: S105 - the variable's name
POSTGRES = "STREAMGAUGE_POSTGRES"
POSTGRES_PASSWORD = "STREAMGAUGE_POSTGRES_PASSWORD"  # noqa: S105 - the variable's name
POSTGRES_PASSWORD_FILE = "STREAMGAUGE_POSTGRES_PASSWORD_FILE"  # noqa: S105
FLIGHT_TOKEN = "STREAMGAUGE_FLIGHT_TOKEN"  # noqa: S105
_POSTGRES_PORT = 5432
_USER_INFO = re.compile(r"://[^/]*@")
_POSTGRES_FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE"


def parse_kafka(text: str, environ: Mapping[str, str] = os.environ) -> KafkaEndpoint:
    """Read HOST:PORT[,HOST:PORT…], with client settings from the file the environment names."""
    for address in text.split(","):
        if not _is_place(address):
            raise UsageError(
                f"Kafka address {_without_secret(address)!r}: expected HOST:PORT[,HOST:PORT…]",
                f"client settings such as passwords belong in a file named by {KAFKA_CONFIG}",
            )
    name = environ.get(KAFKA_CONFIG)
    return KafkaEndpoint(text.replace(" ", ""), read_properties(Path(name)) if name else {})


def parse_jmx(environ: Mapping[str, str] = os.environ) -> JmxEndpoint | None:
    """Return where a given broker tells what it counts; None where the environment does not say.

    Raises:
        UsageError: It says something else than HOST:PORT.
    """
    if not (text := environ.get(KAFKA_JMX, "").strip()):
        return None
    if not _is_place(text):
        raise UsageError(
            f"{KAFKA_JMX} {_without_secret(text)!r}: expected HOST:PORT",
            f"user and password belong in {KAFKA_JMX_USER} and {KAFKA_JMX_PASSWORD}",
        )
    host, _, port = text.rpartition(":")
    user, password = environ.get(KAFKA_JMX_USER, ""), environ.get(KAFKA_JMX_PASSWORD, "")
    return JmxEndpoint(host, int(port), user, password)


def parse_postgres(
    text: str,
    *,
    from_env: bool,
    user: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> PostgresEndpoint:
    """Read a PostgreSQL URL.

    Args:
        text: The URL.
        from_env: Whether it comes from the environment; only there it may hold a password.
        user: Who connects, where the URL does not say.
        environ: Where the password is looked for otherwise.
    """
    url = _split(text)
    if url.password and not from_env:
        raise UsageError(
            "a password on the command line can be read by every user of this machine",
            f"give the address without it, and the password by {POSTGRES_PASSWORD}, by a file"
            f" named by {POSTGRES_PASSWORD_FILE}, or the whole address by {POSTGRES}",
        )
    twin = _twin(url, environ)
    named = url.username or twin.username
    within = url.password or twin.password
    password = unquote(within) if within else _password(environ)
    return PostgresEndpoint(
        host=url.hostname or "",
        port=url.port or _POSTGRES_PORT,
        database=unquote(url.path.strip("/")),
        user=unquote(named) if named else user or getpass.getuser(),
        password=password,
    )


def parse_flight(text: str, environ: Mapping[str, str] = os.environ) -> FlightEndpoint:
    """Read grpc://HOST:PORT, with the token from the environment."""
    url = urlsplit(text)
    if url.scheme != "grpc" or not url.hostname or not url.port:
        raise UsageError(f"address of the queues {text!r}: expected grpc://HOST:PORT")
    return FlightEndpoint(url.hostname, url.port, environ.get(FLIGHT_TOKEN, ""))


def without_user_info(text: str) -> str:
    """Return a word of a command line as it may be written down: no address keeps its user."""
    return _USER_INFO.sub("://", text)


def read_properties(path: Path) -> dict[str, str]:
    """Read KEY=VALUE lines; # begins a comment line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NotReady(
            f"cannot read {path}: {error.strerror}", f"correct {KAFKA_CONFIG}"
        ) from error
    settings = {}
    for number, line in enumerate(lines, 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not key or key.startswith("#"):
            continue
        if not equals:
            raise UsageError(f"{path}, line {number}: expected KEY=VALUE")
        settings[key] = value
    return settings


def _split(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        right = url.scheme in ("postgresql", "postgres") and url.hostname and url.path.strip("/")
        _ = url.port
    except ValueError:
        right = False
    if not right:
        raise UsageError(f"PostgreSQL address {_without_secret(text)!r}: expected {_POSTGRES_FORM}")
    return url


def _twin(url: SplitResult, environ: Mapping[str, str]) -> SplitResult:
    """Return the environment's address when it names the same database: it may know the user."""
    twin = urlsplit(environ.get(POSTGRES, ""))
    return twin if _place(twin) == _place(url) else urlsplit("")


def _place(url: SplitResult) -> tuple[str | None, int, str]:
    return url.hostname, url.port or _POSTGRES_PORT, url.path


def _password(environ: Mapping[str, str]) -> str:
    if given := environ.get(POSTGRES_PASSWORD):
        return given
    if not (name := environ.get(POSTGRES_PASSWORD_FILE)):
        return ""
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotReady(
            f"cannot read the password file {name}: {error.strerror}",
            f"correct {POSTGRES_PASSWORD_FILE}; a file of `streamgauge services up` goes with it",
        ) from error


def _is_place(text: str) -> bool:
    """Tell whether it is HOST:PORT and nothing else."""
    host, _, port = text.strip().rpartition(":")
    return bool(host) and _is_port(port) and not re.search("[@,]|://", text)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536


def _without_secret(text: str) -> str:
    """Leave out everything that could be user info."""
    return text.rpartition("@")[2]
