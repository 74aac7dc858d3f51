"""Addresses of given services, as users write them, and the secrets that go with them."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from streamgauge.errors import NotReady, UsageError
from streamgauge.jobfile import variable

_USER_INFO = re.compile(r"://[^/]*@")


@dataclass(frozen=True)
class Given:
    """An address as it was given."""

    text: str
    from_env: bool = False
    """Whether it comes from the environment; only there may it hold a password."""
    user: str | None = None
    """Who connects, where the address does not say."""


@dataclass(frozen=True)
class UrlForm:
    """How the address of a service is written, if it is a URL."""

    service: str
    schemes: tuple[str, ...]
    port: int
    form: str
    needs_path: bool = False
    path: str = ""
    """What the path is where an address leaves it out."""

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Url:
        """Read an address, with user and password from wherever they are.

        Raises:
            UsageError: It is not one, or it shows a password to every user of this machine.
        """
        url = self._split(given.text)
        address = variable(self.service)
        if url.password and not given.from_env:
            raise UsageError(
                "a password on the command line can be read by every user of this machine",
                f"give the address without it, and the password in {address}_PASSWORD, in a file"
                f" named by {address}_PASSWORD_FILE, or the whole address in {address}",
            )
        twin = self._twin(url, environ)
        named = url.username or twin.username
        within = url.password or twin.password
        return Url(
            host=url.hostname or "",
            port=url.port or self.port,
            path=self._path(url),
            user=unquote(named) if named else given.user or "",
            password=unquote(within) if within else password(self.service, environ),
        )

    def _split(self, text: str) -> SplitResult:
        try:
            url = urlsplit(text)
            whole = bool(url.path.strip("/")) or not self.needs_path
            right = url.scheme in self.schemes and bool(url.hostname) and whole
            _ = url.port
        except ValueError:
            right = False
        if not right:
            raise UsageError(
                f"{self.service} address {without_secret(text)!r}: expected {self.form}"
            )
        return url

    def _twin(self, url: SplitResult, environ: Mapping[str, str]) -> SplitResult:
        """Return the environment's address when it names the same place: it may know the user."""
        try:
            twin = urlsplit(environ.get(variable(self.service), ""))
            same = self._place(twin) == self._place(url)
        except ValueError:  # not an address, which is reported where it is used
            same = False
        return twin if same else urlsplit("")

    def _place(self, url: SplitResult) -> tuple[str | None, int, str]:
        return url.hostname, url.port or self.port, self._path(url)

    def _path(self, url: SplitResult) -> str:
        return unquote(url.path.strip("/")) or self.path


@dataclass(frozen=True)
class Url:
    """What an address says."""

    host: str
    port: int
    path: str
    user: str
    """Empty where no user was named."""
    password: str


def this_user() -> str:
    """Return the user who runs us."""
    return getpass.getuser()


def password(service: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return a service's password, from its variable or from the file that another one names."""
    if given := environ.get(variable(service, "password")):
        return given
    named = variable(service, "password_file")
    if not (name := environ.get(named)):
        return ""
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotReady(
            f"cannot read the password file {name}: {error.strerror}",
            f"correct {named}; a file of `streamgauge services up` is removed with the service",
        ) from error


def read_properties(path: Path, named_by: str) -> dict[str, str]:
    """Read KEY=VALUE lines; # begins a comment line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NotReady(f"cannot read {path}: {error.strerror}", f"correct {named_by}") from error
    settings = {}
    for number, line in enumerate(lines, 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not key or key.startswith("#"):
            continue
        if not equals:
            raise UsageError(f"{path}, line {number}: expected KEY=VALUE")
        settings[key] = value
    return settings


def is_place(text: str) -> bool:
    """Return whether it is HOST:PORT and nothing else."""
    host, _, port = text.strip().rpartition(":")
    return bool(host) and _is_port(port) and not re.search("[@,]|://", text)


def without_user_info(text: str) -> str:
    """Return a word of a command line as it may be recorded: no address keeps its user."""
    return _USER_INFO.sub("://", text)


def without_secret(text: str) -> str:
    """Leave out everything that could be user info."""
    return text.rpartition("@")[2]


def url_host(host: str) -> str:
    """Write a host as it appears in a URL."""
    return f"[{host}]" if ":" in host else host


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536
