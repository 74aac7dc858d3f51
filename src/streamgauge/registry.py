"""Plug-ins by name: services, transports, workloads, engines, experiments …; loaded lazily.

They are found through entry points. Third-party packages register theirs in the same groups.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from streamgauge.errors import NotReady, UsageError, unknown_name

if TYPE_CHECKING:
    from streamgauge.report.view import View
    from streamgauge.services.service import Service
    from streamgauge.spec.act import Act
    from streamgauge.spec.engine import Engine
    from streamgauge.spec.experiment import Experiment
    from streamgauge.spec.profile import Profiler
    from streamgauge.spec.transport import Transport
    from streamgauge.spec.workload import Workload

Group = Literal[
    "services",
    "transports",
    "workloads",
    "engines",
    "experiments",
    "views",
    "acts",
    "profilers",
]
GROUPS: tuple[Group, ...] = get_args(Group)
_UPDATE = "Update or remove the package that brings it."


def names(group: Group) -> list[str]:
    """Return the registered names of a group, sorted; imports none of them."""
    return sorted(_entries(group))


@overload
def load(group: Literal["services"], name: str) -> type[Service]: ...
@overload
def load(group: Literal["transports"], name: str) -> type[Transport]: ...
@overload
def load(group: Literal["workloads"], name: str) -> type[Workload]: ...
@overload
def load(group: Literal["engines"], name: str) -> type[Engine]: ...
@overload
def load(group: Literal["experiments"], name: str) -> type[Experiment]: ...
@overload
def load(group: Literal["views"], name: str) -> type[View]: ...
@overload
def load(group: Literal["acts"], name: str) -> Act: ...
@overload
def load(group: Literal["profilers"], name: str) -> type[Profiler]: ...
@overload
def load(group: Group, name: str) -> Any: ...


def load(group: Group, name: str) -> Any:
    """Return what is registered under a name; its type is not checked.

    Raises:
        UsageError: Nothing is registered under that name, or two things are.
        NotReady: It needs a package that is not installed, or does not load.
    """
    entry, what = _entry(group, name), f"{group.removesuffix('s')} {name!r}"
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise _missing(what, entry, error) from error
    except Exception as error:  # a third-party module may raise anything on import
        owner = entry.dist.name if entry.dist else entry.module.partition(".")[0]
        raise NotReady(
            f"{what} does not load: {type(error).__name__}: {error}",
            f"Update or remove the package {owner}.",
        ) from error


def transport(name: str) -> Transport:
    """Return the transport of that name.

    Raises:
        UsageError: There is none.
        NotReady: It does not load, or is not complete.
    """
    try:
        return load("transports", name)()
    except TypeError as error:
        raise NotReady(f"transport {name!r} is not complete: {error}", _UPDATE) from error


def implementation(name: str, engine: str, group: Group = "workloads") -> ModuleType:
    """Return a plug-in's file for an engine, such as `streamgauge.workloads.espbench.spark`.

    Raises:
        UsageError: The plug-in has none for that engine.
        NotReady: The file needs a package that is not installed.
    """
    return _of_engine(group, name, engine, "")


def facts(workload: str, engine: str) -> ModuleType:
    """Return what is known about a workload's queries on an engine: `….espbench.spark_facts`.

    It needs none of the packages that the queries themselves need.

    Raises:
        UsageError: The workload has no queries for that engine.
    """
    return _of_engine("workloads", workload, engine, "_facts")


def _of_engine(group: Group, name: str, engine: str, suffix: str) -> ModuleType:
    entry = _entry(group, name)
    module = f"{entry.module}.{engine.replace('-', '_')}{suffix}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise _missing(f"{name} on {engine}", entry, error) from error
        if group == "transports":
            usable = [each for each in names(group) if _has(_entry(group, each), engine)]
            raise UsageError(
                f"transport {name!r} cannot be used by engine {engine!r}",
                f"Transports that can: {', '.join(usable)}.",
            ) from error
        others = [each for each in names("engines") if each != engine]
        raise UsageError(
            f"workload {name!r} has no queries for engine {engine!r}",
            f"Other engines: {', '.join(others)}.",
        ) from error


def _has(entry: EntryPoint, engine: str) -> bool:
    """Return whether a plug-in has a file for an engine."""
    try:
        return find_spec(f"{entry.module}.{engine.replace('-', '_')}") is not None
    except ImportError:
        return False


def _entry(group: Group, name: str) -> EntryPoint:
    entries = _entries(group)
    if name not in entries:
        raise unknown_name(group.removesuffix("s"), name, entries)
    entry, *others = entries[name]
    if others:
        values = " and ".join(each.value for each in entries[name])
        raise UsageError(
            f"there are two {group} with the name {name!r}: {values}",
            "Remove one of their packages.",
        )
    return entry


@cache  # searching all installed packages takes milliseconds, and a plan asks dozens of times
def _entries(group: Group) -> dict[str, list[EntryPoint]]:
    """Return what is registered under each name: one thing, unless packages disagree."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=f"streamgauge.{group}"):
        known = found.setdefault(entry.name, [])
        if all(each.value != entry.value for each in known):
            known.append(entry)
    return found


def _missing(what: str, entry: EntryPoint, error: ModuleNotFoundError) -> NotReady:
    package = (error.name or "").partition(".")[0]
    owner = entry.module.partition(".")[0]
    if package == owner:
        return NotReady(
            f"{what} is registered, but there is no module {error.name}",
            f"Install {owner} again; in a checkout: make setup.",
        )
    install = _with_extra(entry) or package
    return NotReady(
        f"{what} needs the package {package!r}, which is not installed",
        f"Install it: uv pip install {install} (or pip install {install}).",
    )


def _with_extra(entry: EntryPoint) -> str | None:
    """Name the extra that an entry point declares, as `name = module:thing [extra]`."""
    if not entry.extras or entry.dist is None:
        return None
    return f"'{entry.dist.name}[{','.join(entry.extras)}]'"
