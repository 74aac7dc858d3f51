"""A picture of a run, for a page of text: `make picture RUN=@0 FILE=picture.svg`.

Names of charts may follow: then it shows those of one trial.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import altair as alt

from streamgauge.errors import StreamgaugeError, UsageError, unknown_name
from streamgauge.files import write_atomically
from streamgauge.report.charts.data.trial import label
from streamgauge.report.charts.over_time import panel
from streamgauge.report.charts.small_multiples import rows_of
from streamgauge.report.charts.theme import spec_of, themed
from streamgauge.report.charts.time_charts import TIME_CHARTS
from streamgauge.report.page.run_view import RunView, view_runs
from streamgauge.report.page.trial_charts import first_shown
from streamgauge.results.folder import RunFolder, find

RUNS = Path("runs")


def draw(folder: RunFolder, charts: Sequence[str] = ()) -> str:
    """Return the picture of a run's view, or charts of one trial, as SVG.

    Args:
        folder: The run.
        charts: Names of charts of one trial to draw instead; of a search, the trial it ended with.
    """
    from vl_convert import vegalite_to_svg  # slow to load, and only needed here

    (run,) = view_runs([folder])
    if charts:
        return vegalite_to_svg(spec_of(_of_one_trial(run, charts)))
    return vegalite_to_svg(spec_of(run.of_experiment.picture(run)))


def _of_one_trial(run: RunView, names: Sequence[str]) -> alt.TopLevelMixin:
    """Draw charts of the trial that the page shows first, two in a row."""
    known = {chart.name: chart for chart in TIME_CHARTS}
    if unknown := [name for name in names if name not in known]:
        raise unknown_name("chart", unknown[0], known)
    if not run.views:
        raise UsageError(f"{run.folder.name} has no trials", "name another run with RUN=…")
    view = first_shown(run)
    panels: list[alt.Chart] = []
    for name in names:
        columns = view.charts.get(name)
        if not isinstance(columns, dict):
            raise UsageError(f"{label(view.result)} has no {name} to draw", "leave it out")
        series = [each for each in columns if each != "t"]
        rows = [row for each in series for row in rows_of(view, columns, each, each)]
        panels.append(panel(known[name], series, rows))
    title = alt.TitleParams(label(view.result), anchor="start", offset=12)
    picture = alt.concat(*panels, columns=2).properties(title=title)
    return themed(
        picture.resolve_scale(color="independent", strokeDash="independent"), (), picture=True
    )


def main(arguments: list[str]) -> int:
    """Draw the run that is named first into the file that is named second."""
    name, file, *charts = arguments
    try:
        write_atomically(Path(file), draw(find(RUNS, name), charts))
    except StreamgaugeError as error:
        sys.stderr.write(f"error: {error.message}\n  {error.remedy or ''}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
