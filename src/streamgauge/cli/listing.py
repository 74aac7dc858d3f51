"""`streamgauge list`: what is available, what is missing and how to get it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streamgauge.cli.output import Json, print_json, print_line, print_states
from streamgauge.errors import StreamgaugeError, unknown_name

if TYPE_CHECKING:
    from streamgauge.registry import Group

EXAMPLES = """\b
Examples:
  streamgauge list
  streamgauge list engines presets
  streamgauge list workloads --json"""


@dataclass(frozen=True)
class Item:
    """One thing that can be named on the command line."""

    name: str
    state: Literal["ok", "missing"]
    title: str
    remedy: str | None = None


def list_items(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND",
            help="What to list: workloads, engines, experiments, transports, services, acts, "
            "profilers, presets [default: everything].",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what is available, what is missing and how to get it."""
    chosen = kinds or list(_SOURCES)
    for kind in chosen:
        if kind not in _SOURCES:
            raise unknown_name("kind of thing", kind, _SOURCES)
    found = {kind: items for kind in chosen if (items := _SOURCES[kind]()) or kinds}
    if as_json:
        print_json({kind: [asdict(item) for item in items] for kind, items in found.items()})
    else:
        _print(found)


def _print(found: Mapping[str, list[Item]]) -> None:
    for position, (kind, items) in enumerate(found.items()):
        if position:
            print_line()
        print_line(kind)
        print_states([(item.state, item.name, item.title, item.remedy) for item in items])
        if not items:
            print_line("none installed")


def _registered(group: Group) -> list[Item]:
    from streamgauge import registry

    return [_item(group, name) for name in registry.names(group)]


def _item(group: Group, name: str) -> Item:
    from streamgauge import registry

    try:
        loaded = registry.load(group, name)
        if group == "transports":
            registry.transport(name)  # checks that it is complete
    except StreamgaugeError as error:
        return Item(name, "missing", error.message, error.remedy)
    try:
        problems = _problems(group, loaded)
    except StreamgaugeError as error:  # how a service reports what it lacks
        return Item(name, "missing", error.message, error.remedy)
    if problems:
        return Item(name, "missing", problems[0][0], problems[0][1])
    return Item(name, "ok", _title(loaded))


def _problems(group: Group, thing: object) -> list[tuple[str, str]]:
    """Ask an engine or a service what it lacks on this machine."""
    if group not in ("engines", "services") or not callable(thing):
        return []
    return [(each.what, each.remedy) for each in thing().check() or ()]


def _title(thing: object) -> str:
    title = getattr(thing, "title", None)
    if isinstance(title, str):
        return title
    return (inspect.getdoc(thing) or "").partition("\n")[0].removesuffix(".")


def _presets() -> list[Item]:
    from streamgauge.planning import preset_names, read_preset

    return [Item(name, "ok", str(read_preset(name).get("title", ""))) for name in preset_names()]


_SOURCES: Mapping[str, Callable[[], list[Item]]] = {
    "workloads": lambda: _registered("workloads"),
    "engines": lambda: _registered("engines"),
    "experiments": lambda: _registered("experiments"),
    "transports": lambda: _registered("transports"),
    "services": lambda: _registered("services"),
    "acts": lambda: _registered("acts"),
    "profilers": lambda: _registered("profilers"),
    "presets": _presets,
}
