"""What is sent to executors on other hosts: the packages that our tasks import, and our own.

The packages are those of `python.lock`, packed from this installation, so nothing is fetched and
driver and executors have the same. PySpark is not among them: the cluster has its own.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.registry import GROUPS
from streamgauge.services import runtime

LOCK = Path(__file__).with_name("python.lock")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+==[^\\\n]+)", re.MULTILINE)
_LEFT_OUT = ("/tests/", "/include/", "__pycache__/", ".pyx", ".pxd", ".pdb")
_PACKAGES, _OURS = "streamgauge-packages", "streamgauge-own"
"""Folders in which an executor finds them."""
Member = tuple[str, Path | bytes]
"""A file of an archive: its name there, and its path or content."""


def version() -> str:
    """Return the version of Python that executors must have."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def settings() -> dict[str, str]:
    """Return the settings that send the archives to executors and make their Python use them."""
    return {
        "spark.archives": f"{packages_archive()}#{_PACKAGES},{own_archive()}#{_OURS}",
        "spark.executorEnv.PYTHONPATH": f"{_PACKAGES}:{_OURS}",
    }


def packages_archive() -> Path:
    """Return the archive of the locked packages, made when it is first needed.

    Raises:
        NotReady: Other versions are installed here.
    """
    locked = locked_versions()
    kind = f"{version()} {platform.machine()} {sorted(locked.items())}"
    path = _folder() / f"packages-{hashlib.sha256(kind.encode()).hexdigest()[:16]}.tgz"
    if path.exists():
        return path
    members = [member for name, at in locked.items() for member in _files(_installed(name, at))]
    fresh = path.with_suffix(".new")
    with runtime.locked(_folder() / "lock"):
        with tarfile.open(fresh, "w:gz", compresslevel=1) as archive:
            for name, file in members:
                assert isinstance(file, Path)
                archive.add(file, name, recursive=False)
        fresh.replace(path)
    return path


def own_archive() -> Path:
    """Return the archive of our package, and of those that bring plug-ins, as they are now."""
    members = sorted(_own_members(), key=lambda member: member[0])
    content = hashlib.sha256()
    for name, file in members:
        content.update(name.encode() + (file if isinstance(file, bytes) else file.read_bytes()))
    path = _folder() / f"own-{content.hexdigest()[:16]}.zip"
    if not path.exists():
        fresh = _folder() / f"{path.stem}.new"
        with runtime.locked(_folder() / "lock"), zipfile.ZipFile(fresh, "w") as archive:
            for name, file in members:
                archive.writestr(name, file if isinstance(file, bytes) else file.read_bytes())
        write_atomically(path, fresh.read_bytes())
        fresh.unlink()
    return path


def locked_versions(text: str | None = None) -> Mapping[str, str]:
    """Return names and versions of the packages that executors need."""
    lines = _PINNED.findall(LOCK.read_text("utf-8") if text is None else text)
    pinned = [Requirement(line.strip()) for line in lines]
    wanted = [each for each in pinned if each.marker is None or each.marker.evaluate()]
    return {each.name: str(each.specifier).removeprefix("==") for each in wanted}


def _folder() -> Path:
    folder = runtime.cache_dir() / "executors"
    folder.mkdir(exist_ok=True)
    return folder


def _installed(name: str, wanted: str) -> Distribution:
    remedy = "Run `make setup`, or use -S spark.packages=there with hosts that have them."
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise NotReady(f"executors need {name} {wanted}, which is not installed", remedy) from None
    if found.version != wanted:
        raise NotReady(
            f"executors need {name} {wanted}, but {found.version} is installed",
            remedy,
        )
    return found


def _files(of: Distribution) -> Iterator[Member]:
    """Yield the files of an installed package except those that only its developers need."""
    for file in of.files or ():
        name = file.as_posix()
        if not name.startswith("../") and not any(each in f"/{name}" for each in _LEFT_OUT):
            path = Path(str(of.locate_file(file)))
            if path.is_file():
                yield name, path


def _own_members() -> Iterator[Member]:
    """Yield the modules of all packages with plug-ins, and the metadata of these."""
    modules: set[str] = set()
    owners: set[str] = set()
    for group in GROUPS:
        for entry in entry_points(group=f"streamgauge.{group}"):
            top = entry.module.partition(".")[0]
            if top not in modules:
                modules.add(top)
                yield from _modules(top)
            if entry.dist is not None and entry.dist.name not in owners:
                owners.add(entry.dist.name)
                yield from _metadata(entry.dist)


def _modules(top: str) -> Iterator[Member]:
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        return
    if not spec.submodule_search_locations:
        yield f"{top}.py", Path(spec.origin)
        return
    for place in spec.submodule_search_locations:
        for file in Path(place).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield f"{top}/{file.relative_to(place).as_posix()}", file


def _metadata(of: Distribution) -> Iterator[Member]:
    for name in ("METADATA", "entry_points.txt"):
        if text := of.read_text(name):
            yield f"{of.name.replace('-', '_')}-{of.version}.dist-info/{name}", text.encode()
