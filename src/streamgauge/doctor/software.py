"""What runs need on this machine: plug-ins that load, Java and jars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from streamgauge import registry
from streamgauge.doctor.findings import Finding
from streamgauge.errors import NotReady, StreamgaugeError
from streamgauge.registry import Group
from streamgauge.services import jars
from streamgauge.services.java import Java, find_java


def plugins(groups: Iterable[Group]) -> list[Finding]:
    """Report plug-ins that do not load; the others can be used without them."""
    found = []
    for group in groups:
        for name in registry.names(group):
            try:
                registry.load(group, name)
            except StreamgaugeError as error:
                what = f"{group.removesuffix('s')} {name}"
                found.append(Finding(what, "warn", error.message, error.remedy))
    return found or [Finding("plug-ins", "ok", "all load")]


def components() -> list[str]:
    """Name the components of jars.lock that services and engines use."""
    groups: tuple[Group, ...] = ("services", "engines")
    found: list[str] = []
    for group in groups:
        for name in registry.names(group):
            with suppress(StreamgaugeError):  # `plugins` names what does not load
                found += getattr(registry.load(group, name), "jars", ())
    return list(dict.fromkeys(found))


def java(find: Callable[[], Java] = find_java) -> Finding:
    """Look for a Java that is new enough."""
    try:
        found = find()
    except NotReady as error:
        return Finding("java", "missing", error.message, error.remedy)
    return Finding("java", "ok", f"{found.version} ({found.source}: {found.executable})")


def jars_of(component: str) -> Finding:
    """Check whether a component's jars are cached; if not, the first use fetches them."""
    name = f"jars of {component}"
    try:
        wanted, absent = jars.locked_jars(component), jars.missing(component)
    except NotReady as error:
        return Finding(name, "missing", error.message, error.remedy)
    if not absent:
        return Finding(name, "ok", f"all {len(wanted)} cached")
    remedy = "The first use fetches them, or `streamgauge doctor` without --no-start."
    return Finding(name, "warn", f"{len(absent)} of {len(wanted)} not cached yet", remedy)


def fetched_jars_of(component: str, progress: Callable[[str], None]) -> Finding:
    """Fetch a component's jars where they are not cached yet, and verify them."""
    name = f"jars of {component}"
    try:
        files = jars.ensure(component, progress)
    except NotReady as error:
        return Finding(name, "missing", error.message, error.remedy)
    return Finding(name, "ok", f"all {len(files)} cached, hashes match")
