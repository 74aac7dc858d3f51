"""`streamgauge services`: services that stay up, to develop against."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, progress
from streamgauge.cli.pairs import pairs

if TYPE_CHECKING:
    from streamgauge.services.detached import Status

UP_EXAMPLES = """\b
Examples:
  streamgauge services up                     all that `streamgauge list services` shows
  streamgauge services up kafka
  streamgauge services up redis -S redis.maxmemory=1GiB
  eval "$(streamgauge services up)"           and let this shell's commands use them

The printed lines name password files, never a password."""
DOWN_EXAMPLES = """\b
Examples:
  streamgauge services down
  streamgauge services down postgres

Also removes what killed commands of yours left behind; touches nothing else."""

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVICE]…", help="See `streamgauge list services`.", show_default=False
    ),
]


def up(
    names: Names = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("-S", metavar="NAME.KEY=VALUE", help="Setting of a service."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start services that stay up, and print the lines that make other commands use them."""
    from streamgauge.planning.services import read_service_settings, settings_of
    from streamgauge.services import choice, detached

    values = read_service_settings(pairs("-S", settings) or {})
    by_name = {name: settings_of(name, values) for name in choice.names()}
    by_name = {name: each for name, each in by_name.items() if each}
    started = detached.up(names or (), progress, by_name)
    if as_json:
        _print_json(started)
        return
    for each in started:
        for variable, value in each.variables:
            print_line(f"export {variable}={shlex.quote(value)}")


def down(names: Names = None, as_json: Json = False) -> None:
    """Stop services that stay up, and remove what killed commands left behind."""
    from streamgauge.services import detached

    stopped, removed = detached.down(names or (), progress)
    if as_json:
        print_json({"stopped": stopped, "removed": removed})
        return
    print_line(f"stopped: {', '.join(stopped)}" if stopped else "nothing was up")
    for leftover in removed:
        print_line(f"removed what a killed command left behind: {leftover}")


def status(names: Names = None, as_json: Json = False) -> None:
    """Show which services are up, and where."""
    from streamgauge.services import detached

    found = detached.status(names or ())
    if as_json:
        _print_json(found)
        return
    for each in found:
        where = f"up    {each.address}  pid {_pids(each)}  log {each.log}" if each.up else "down"
        print_line(f"{each.name:<10}{where}")


def _pids(status: Status) -> str:
    return ", ".join(map(str, status.pids))


def _print_json(services: Sequence[Status]) -> None:
    print_json(
        {
            each.name: {
                "up": each.up,
                "address": each.address,
                "pids": list(each.pids),
                "log": None if each.log is None else str(each.log),
                "variables": dict(each.variables),
            }
            for each in services
        }
    )
