"""A run in the terminal: a table that is understood at a glance, then what to know about it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from streamgauge.report.profile.page import run_profiles
from streamgauge.report.profile.terminal import render as render_profile
from streamgauge.report.view import View, view_of
from streamgauge.results.folder import RunFolder, printable
from streamgauge.spec.run import RunSpec
from streamgauge.units import format_rate


def render(folder: RunFolder) -> RenderableType:
    """Show a run: results, then what is wrong or worth knowing."""
    view = view_of(folder, folder.record(), folder.trials())
    parts: list[RenderableType] = [_headline(view), *view.terminal()]
    for each in run_profiles(folder, view.profiled()):
        parts += render_profile(each)
    parts += [Text(f"  note: {text}", style="yellow") for text in view.record.warnings]
    parts.append(Text(f"  {printable(str(folder.path))}", style="dim"))
    return Group(*parts)


def _instances(spec: RunSpec) -> str:
    """Describe the executors; if their number was varied, the table shows it."""
    varied = any(name.startswith("instance") for name in spec.vary)
    return "instances as varied" if varied else spec.resources.told()


def _headline(view: View) -> Text:
    record = view.record
    line = Text(record.spec.subject, style="bold")
    line.append(f" · {record.machine.get('cores')} cores", style="dim")
    if record.spec.resources.instances is not None:
        line.append(f", {_instances(record.spec)}", style="dim")
    if not record.spec.services:
        line.append(", everything on one machine", style="dim")
    if (ceiling := view.ceiling()) is not None:
        line.append(f" · ceiling of the harness {format_rate(ceiling)}", style="dim")
    line.append(
        f" · {record.status}", style="bold green" if record.status == "done" else "bold red"
    )
    for stamp in view.stamps():
        line.append(f" · {stamp.headline}", style="bold yellow")
    return line
