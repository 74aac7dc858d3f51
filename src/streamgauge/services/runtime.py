"""Folders of this user: what is cached, what runs, what is data; ports, secrets, free space."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.process import Seen

CACHE_DIR = "STREAMGAUGE_CACHE_DIR"
RUNTIME_DIR = "STREAMGAUGE_RUNTIME_DIR"
DATA_DIR = "STREAMGAUGE_DATA_DIR"
Note = Callable[[str], None]
"""Receives a line for what is fetched or started."""
_OWNER = "owner.json"
_MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


def silent(_: str) -> None:
    """Drop a progress message."""


def cache_dir() -> Path:
    """Return the folder of what can be fetched again; shared by all checkouts of this user."""
    given = os.environ.get(CACHE_DIR)
    path = Path(given) if given else platformdirs.user_cache_path("streamgauge")
    return _make(path.absolute(), CACHE_DIR, 0o755)


def runtime_dir() -> Path:
    """Return the folder of what runs now: records, logs and secrets; closed to other users."""
    given = os.environ.get(RUNTIME_DIR)
    session = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        path = Path(given)
    elif session and os.access(session, os.W_OK):
        path = Path(session) / "streamgauge"
    else:
        path = Path(tempfile.gettempdir()) / f"streamgauge-{os.getuid()}" / "run"
        _own(_make(path.parent, RUNTIME_DIR, 0o711), RUNTIME_DIR)
    path = _own(_make(path.absolute(), RUNTIME_DIR, 0o700), RUNTIME_DIR)
    path.chmod(0o700)
    return path


def data_dir() -> Path:
    """Return the folder of topics and tables: on a disk, since they can be larger than memory."""
    if given := os.environ.get(DATA_DIR):
        return _make(Path(given).absolute(), DATA_DIR, 0o711)
    places = dict.fromkeys([Path(tempfile.gettempdir()), Path("/var/tmp")])  # noqa: S108 - see _own
    for place in places:
        if place.is_dir() and file_system(place) not in _MEMORY_FILE_SYSTEMS:
            ours = _own(_make(place / f"streamgauge-{os.getuid()}", DATA_DIR, 0o711), DATA_DIR)
            return _make(ours / "data", DATA_DIR, 0o711)
    return _make(cache_dir() / "data", DATA_DIR, 0o711)


def file_system(path: Path) -> str:
    """Return the type of the file system that `path` is on, for example ext4."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
        _, mount, found, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        if path.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, found
    return kind


def check_space(path: Path, needed_bytes: int, what: str) -> None:
    """Refuse when the disk of `path` has too little room for `what`."""
    free = shutil.disk_usage(path).free
    if free < needed_bytes:
        raise NotReady(
            f"{path} has {free >> 20} MiB free, {what} needs {needed_bytes >> 20} MiB",
            f"make room there, or name another folder with {CACHE_DIR} and {DATA_DIR}",
        )


def free_port() -> int:
    """Return a TCP port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock, which the kernel frees if we die; wait for it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class InstanceRecord:
    """What is recorded of an instance, for later processes."""

    service: str
    data: str
    owner: Seen | None = None
    """None for a detached service, which has no owner."""
    processes: tuple[Seen, ...] = ()
    stop_signal: int = signal.SIGTERM
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> InstanceRecord:
        """Read a record back."""
        fields = json.loads(text)
        owner = fields["owner"] and Seen(**fields["owner"])
        processes = tuple(Seen(**each) for each in fields["processes"])
        return cls(**{**fields, "owner": owner, "processes": processes})


@dataclass(frozen=True)
class Instance:
    """The folders of one embedded service: they come and go with it.

    The record in `folder` says who owns it, so that what a killed owner left can be removed.
    """

    service: str
    folder: Path
    """InstanceRecord, log and secret; in the runtime folder."""
    data: Path
    """Topics or tables; in the data folder."""

    @classmethod
    def create(cls, service: str) -> Instance:
        """Create the folders of a new instance, owned by this process."""
        name = f"{service}-{secrets.token_hex(4)}"
        instance = cls(service, runtime_dir() / name, data_dir() / name)
        instance.folder.mkdir(mode=0o700)
        instance.write_record(
            InstanceRecord(service, str(instance.data), owner=Seen.of(os.getpid()))
        )
        instance.data.mkdir(mode=0o700)
        (instance.data / "instance").write_text(str(instance.folder), encoding="utf-8")
        return instance

    @classmethod
    def found(cls) -> list[tuple[Instance, InstanceRecord]]:
        """Return all instances of this user, with their records."""
        instances = []
        for path in sorted(runtime_dir().glob("*/record.json")):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                record = InstanceRecord.parse(path.read_text(encoding="utf-8"))
                instances.append((cls(record.service, path.parent, Path(record.data)), record))
        return instances

    @staticmethod
    def orphans() -> list[Path]:
        """Return data folders whose instance is gone, as after a restart of the machine."""
        orphans = []
        for note in data_dir().glob("*/instance"):
            with contextlib.suppress(FileNotFoundError):  # removed since we looked
                if not Path(note.read_text("utf-8")).exists():
                    orphans.append(note.parent)
        return orphans

    @property
    def secret_file(self) -> Path:
        """Return the one file that holds the service's password."""
        return self.folder / "password"

    @property
    def log(self) -> Path:
        """Return the service's log file."""
        return self.folder / f"{self.service}.log"

    def write_record(self, record: InstanceRecord) -> None:
        """Record who owns the instance and which process serves it."""
        text = json.dumps(dataclasses.asdict(record))
        write_atomically(self.folder / "record.json", text, 0o600)

    def remove(self) -> None:
        """Remove the folders, secret and data included."""
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def owned_folder(prefix: str) -> Path:
    """Create a private folder for the life of this process, which removes it itself."""
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=runtime_dir()))
    owner = Seen.of(os.getpid())
    assert owner is not None, "we are here"
    (folder / _OWNER).write_text(json.dumps(dataclasses.asdict(owner)), encoding="utf-8")
    return folder


def abandoned_folders() -> list[Path]:
    """Return the folders of that kind whose owner is gone."""
    found = []
    for note in runtime_dir().glob(f"*/{_OWNER}"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            if not Seen(**json.loads(note.read_text(encoding="utf-8"))).alive:
                found.append(note.parent)
    return found


def _make(path: Path, variable: str, mode: int) -> Path:
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise NotReady(
            f"cannot create the folder {path}: {error.strerror}",
            f"set {variable} to a folder that you may write to",
        ) from error
    return path


def _own(path: Path, variable: str) -> Path:
    """Refuse a folder that somebody else made or may write to."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise NotReady(
            f"{path} is open to other users, so nothing is kept there",
            f"remove it, or set {variable} to another folder",
        )
    return path
