"""Jars by lock: fetched once with Ivy, verified on download and before each use.

`jars.lock` names every jar of a component with its sha256 and size; nothing is resolved here. Ivy
comes with PySpark and knows where the public repository is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from streamgauge import process
from streamgauge.errors import NotReady, UsageError
from streamgauge.files import write_atomically
from streamgauge.services import runtime
from streamgauge.services.java import ENVIRONMENT, find_java
from streamgauge.services.runtime import Note, silent

LOCK = Path(__file__).with_name("jars.lock")
IVY_SETTINGS = "STREAMGAUGE_IVY_SETTINGS"
JARS_DIR = "STREAMGAUGE_JARS_DIR"
SPARE_BYTES = 64 << 20
_FETCH_TIMEOUT_S = 1800
_TELL_S = 5.0
_UNREACHABLE = ("Server access error", "UnknownHost", "Connection refused", "timed out", "Host ")


@dataclass(frozen=True)
class Jar:
    """One locked jar."""

    group: str
    artifact: str
    version: str
    sha256: str
    size: int

    @property
    def coordinate(self) -> str:
        """Return group:artifact:version."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file_name(self) -> str:
        """Return the name that repositories give to the file."""
        return f"{self.artifact}-{self.version}.jar"

    def path(self, folder: Path) -> Path:
        """Return the place in the cache."""
        return folder / self.group / self.file_name


def locked_jars(component: str, lock: Path = LOCK) -> list[Jar]:
    """Return the jars of a component as locked."""
    components = json.loads(lock.read_text(encoding="utf-8"))
    if component not in components:
        known = ", ".join(sorted(components))
        raise UsageError(f"no component {component} in {lock.name}; known: {known}")
    return [_jar(**entry) for entry in components[component]]


def _jar(jar: str, sha256: str, size: int) -> Jar:
    group, artifact, version = jar.split(":")
    return Jar(group, artifact, version, sha256, size)


def missing(component: str, lock: Path = LOCK) -> list[Jar]:
    """Return the jars of a component that are still to be fetched."""
    folder = runtime.cache_dir() / "jars"
    return [jar for jar in locked_jars(component, lock) if not jar.path(folder).exists()]


def ensure(component: str, progress: Note = silent, lock: Path = LOCK) -> list[Path]:
    """Return the verified files of a component, fetching those that are not cached yet.

    Raises:
        NotReady: A file has another hash than in the lock, cannot be fetched, or has no room.
    """
    folder = runtime.cache_dir() / "jars"
    jars = locked_jars(component, lock)
    if any(not jar.path(folder).exists() for jar in jars):
        _make_writable(folder)
        with runtime.locked(folder / "lock"):  # a second process finds them cached
            _fetch([jar for jar in jars if not jar.path(folder).exists()], folder, progress)
    _verify(jars, folder)
    return [jar.path(folder) for jar in jars]


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise NotReady(
            f"cannot write to the cache folder {folder}: {error.strerror}",
            f"set {runtime.CACHE_DIR} to a folder that you may write to",
        ) from error


def _fetch(jars: Sequence[Jar], folder: Path, progress: Note) -> None:
    """Get jars into a folder of its own, and move each into place once it is verified."""
    if not jars:
        return
    runtime.check_space(folder, 2 * sum(jar.size for jar in jars) + SPARE_BYTES, "fetching jars")
    progress(f"fetching {len(jars)} jars, {sum(jar.size for jar in jars) >> 20} MiB")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as fresh:
        given = os.environ.get(JARS_DIR)
        if given:
            _copy(jars, Path(given), Path(fresh))
        else:
            _retrieve(jars, Path(fresh), progress)
        for jar in jars:
            _check_hash(jar, jar.path(Path(fresh)), "it was not kept")
        for jar in jars:
            jar.path(folder).parent.mkdir(parents=True, exist_ok=True)
            jar.path(Path(fresh)).replace(jar.path(folder))
    progress(f"{len(jars)} jars fetched and verified")


def _copy(jars: Iterable[Jar], source: Path, fresh: Path) -> None:
    """Take jars from the user's folder."""
    for jar in jars:
        found = source / jar.file_name
        if not found.is_file():
            raise NotReady(
                f"{jar.coordinate} is not in {source}: no file {jar.file_name}",
                f"put it there, or unset {JARS_DIR} to fetch it",
            )
        jar.path(fresh).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, jar.path(fresh))


def _retrieve(jars: Sequence[Jar], fresh: Path, progress: Note) -> None:
    """Fetch jars with Ivy, and report progress: it looks up all of them before it fetches."""
    description = fresh / "ivy.xml"
    description.write_text(_ivy_xml(jars), encoding="utf-8")
    java = find_java()
    command: list[str | Path] = [java.executable, *java.options, "-cp", _ivy_jars()]
    command.append("org.apache.ivy.Main")
    if given := os.environ.get(IVY_SETTINGS):
        command += ["-settings", given]
    # Ivy's own cache is thrown away: a broken file in it would come back at each attempt.
    command += ["-cache", fresh / "ivy", "-ivy", description, "-types", "jar", "bundle"]
    command += ["-retrieve", f"{fresh}/[organisation]/[artifact]-[revision].[ext]"]
    log, deadline = fresh / "ivy.log", time.monotonic() + _FETCH_TIMEOUT_S
    with process.start(command, log=log, env=ENVIRONMENT) as ivy:
        while not ivy.wait(_TELL_S) and time.monotonic() < deadline:
            known = sum(_described(jar, fresh / "ivy").exists() for jar in jars)
            come = sum(1 for _ in (fresh / "ivy").rglob("*.jar"))
            progress(f"{known} of {len(jars)} jars looked up, {come} fetched")
    absent = [jar for jar in jars if not jar.path(fresh).is_file()]
    if absent:
        raise _explain(absent, log.read_text(encoding="utf-8", errors="replace"))


def _described(jar: Jar, cache: Path) -> Path:
    """Return where Ivy keeps what it knows about a jar."""
    return cache / jar.group / jar.artifact / f"ivy-{jar.version}.xml"


def _explain(absent: Sequence[Jar], output: str) -> NotReady:
    # One jar that is not found keeps Ivy from fetching the others as well.
    culprits = [j for j in absent if f"{j.group}#{j.artifact};{j.version}: not found" in output]
    named = [jar.coordinate for jar in culprits or absent]
    names = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    lines = [line.strip() for line in output.splitlines()]
    trouble = [line for line in lines if any(sign in line for sign in _UNREACHABLE)]
    if trouble:
        return NotReady(
            f"cannot fetch {names}: the repository cannot be reached ({trouble[0]})",
            f"connect to the network, name a mirror with {IVY_SETTINGS}=FILE, or set {JARS_DIR}"
            " to a folder that holds the jars",
        )
    if any("not found" in line for line in lines):
        return NotReady(
            f"cannot fetch {names}: the repository has no such version",
            f"correct {LOCK.name} (`make lock-jars`), or name another repository with"
            f" {IVY_SETTINGS}=FILE",
        )
    tail = "\n".join(lines[-10:])
    return NotReady(f"cannot fetch {names}; Ivy said:\n{tail}")


def _ivy_xml(jars: Iterable[Jar]) -> str:
    wanted = "".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)}"
        f' rev={quoteattr(jar.version)} transitive="false" conf="default->default"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="streamgauge" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{wanted}</dependencies></ivy-module>"
    )


def _ivy_jars() -> str:
    """Return the class path of the Ivy that PySpark includes; PySpark is not imported."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise NotReady("PySpark is not installed, so jars cannot be fetched", "run `make setup`")
    return f"{Path(spec.origin).parent}/jars/*"


def _verify(jars: Iterable[Jar], folder: Path) -> None:
    """Check every file against the lock; a full hash only when size or time changed."""
    notes = folder / "verified.json"
    try:
        known = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    fresh = {}
    for jar in jars:
        path = jar.path(folder)
        state = path.stat()
        seen = [state.st_size, state.st_mtime_ns, jar.sha256]
        if known.get(jar.coordinate) != seen:
            _check_hash(jar, path, f"remove {path} to fetch it again")
            fresh[jar.coordinate] = seen
    if fresh and os.access(folder, os.W_OK):
        write_atomically(notes, json.dumps({**known, **fresh}))


def _check_hash(jar: Jar, path: Path, remedy: str) -> None:
    found = sha256(path)
    if found != jar.sha256:
        raise NotReady(
            f"{path.name} ({jar.coordinate}) has the wrong sha256: {found} instead of {jar.sha256}",
            f"{remedy}; if it stays wrong, do not trust its source",
        )
