"""Workloads, engines, experiments, their views and transports by name; loaded lazily.

All are entry points: packages of others register theirs in the same groups that ours use.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Literal, get_args

from streamgauge.errors import NotReady, UsageError, unknown_name

Group = Literal["workloads", "engines", "experiments", "views", "transports"]
GROUPS: tuple[Group, ...] = get_args(Group)


def names(group: Group) -> list[str]:
    """Return the registered names of a group, sorted; imports none of them."""
    return sorted(_entries(group))


def load(group: Group, name: str) -> object:
    """Return what is registered under a name.

    Raises:
        UsageError: Nothing is registered under that name.
        NotReady: It needs a package that is not installed.
    """
    entry = _entry(group, name)
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise _missing(f"{group.removesuffix('s')} {name!r}", entry, error) from error


def implementation(workload: str, engine: str) -> ModuleType:
    """Return a workload's file for an engine, as `streamgauge.workloads.espbench.spark`.

    Raises:
        UsageError: The workload has no queries for that engine.
        NotReady: The file needs a package that is not installed.
    """
    entry = _entry("workloads", workload)
    module = f"{entry.module}.{engine.replace('-', '_')}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise _missing(f"{workload} on {engine}", entry, error) from error
        raise UsageError(
            f"workload {workload!r} has no queries for engine {engine!r}",
            f"Engines: {', '.join(names('engines'))}.",
        ) from error


def _entry(group: Group, name: str) -> EntryPoint:
    entries = _entries(group)
    if name not in entries:
        raise unknown_name(group.removesuffix("s"), name, entries)
    return entries[name]


@cache  # to look through all installed packages takes milliseconds, and a plan asks dozens of times
def _entries(group: Group) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"streamgauge.{group}")}


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
