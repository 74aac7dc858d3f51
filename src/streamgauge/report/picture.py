"""A picture of a run for a page of text: `python -m streamgauge.report.picture RUN FILE.svg`."""

from __future__ import annotations

import sys
from pathlib import Path

from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.files import write_atomically
from streamgauge.report import vega
from streamgauge.report.run import MOST_SINGLES
from streamgauge.report.trial import TrialView, label, view_trial
from streamgauge.results.folder import RunFolder, find
from streamgauge.spec.contracts import Json

RUNS = Path("runs")
_DOTS = 300
"""Of a trial: a picture in a text is small, and so should its file be."""
_COLUMNS = 3
_MOST = 9


def draw(folder: RunFolder) -> str:
    """Return single latencies of the first trials of a run over time, as SVG."""
    from vl_convert import vegalite_to_svg  # slow to load, and only needed here

    views = [view_trial(folder, result, MOST_SINGLES) for result in folder.trials()[:_MOST]]
    rows = [row for view in views for row in _rows(view)]
    if not rows:
        raise UsageError(f"{folder.name} has no latencies", "name another run with RUN=…")
    spec = folder.record().spec
    title = f"{spec.workload} on {spec.engine}: latency of single outputs"
    subtitle = "over the time at which their latest input was due; warm-up before 0 s"
    chart = {**vega.small_multiples(_COLUMNS, title, subtitle), "datasets": {"rows": rows}}
    return vegalite_to_svg(chart)


def _rows(view: TrialView) -> list[Json]:
    columns = view.charts.get("singles")
    if not isinstance(columns, dict):
        return []
    times, values = columns["t"], columns["latency"]
    assert isinstance(times, list)
    assert isinstance(values, list)
    mode = f", {view.result.spec.mode}" if view.result.spec.mode else ""
    trial = f"{label(view.result)}{mode}"
    some = slice(None, None, max(1, round(len(times) / _DOTS)))
    dots = zip(times[some], values[some], strict=True)
    return [{"x": x, "v": v, "trial": trial} for x, v in dots]


def main(arguments: list[str]) -> int:
    """Draw the run that is named first into the file that is named second."""
    name, file = arguments
    try:
        write_atomically(Path(file), draw(find(RUNS, name)))
    except StreamgaugeError as error:
        sys.stderr.write(f"error: {error.message}\n  {error.remedy or ''}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
