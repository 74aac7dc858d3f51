"""Append times of consecutive records: they rise in steps, since a broker stamps whole batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import altair as alt
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from streamgauge.measure.ingestion import first_append_times
from streamgauge.report.charts.over_time import value_axis
from streamgauge.report.charts.style import PALETTE
from streamgauge.report.charts.theme import chart_of, spec_of, themed
from streamgauge.report.page.markup import join, tag
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_rate, format_size

if TYPE_CHECKING:
    from streamgauge.report.page.run_view import RunView

SHOWN = (100, 500)
"""Consecutive records whose append times are drawn."""
_HOW_TO_READ = (
    "Records in the order of the log, with the time at which the broker appended them, from the"
    " first one on. The records of a step share one time."
)


def section(run: RunView) -> Markup:
    """Draw the append times of the trials that have charts, where any were read back."""
    figures = [drawn for view in run.views for drawn in _figures(run.folder, view.result)]
    if not figures:
        return Markup()
    return tag(
        "section",
        tag("h2", "Append times of consecutive records"),
        tag("p", _HOW_TO_READ, class_="aside"),
        tag("div", *figures, class_="columns"),
    )


def drawn_times(folder: RunFolder, result: TrialResult) -> Iterator[tuple[str, list[int]]]:
    """Yield what is to be drawn of a trial: a title, and the times in milliseconds."""
    file = folder.trial_folder(result.spec.number) / "append_times.parquet"
    if not file.exists():
        return
    times = pq.read_table(file, columns=["appended"])["appended"].to_numpy()
    for records in SHOWN:
        if steps := first_append_times(times, records):
            title = (
                f"{records} consecutive records at {format_rate(result.spec.rate)}, batch"
                f" {format_size(result.spec.load.batch)}: {steps[-1]} ms"
            )
            yield title, steps


def chart(steps: Sequence[int]) -> alt.TopLevelMixin:
    """Draw append times, which rise in steps."""
    rows = [{"x": record, "v": at_ms} for record, at_ms in enumerate(steps, 1)]
    axis = alt.Axis(title=None, grid=False, tickCount=5)
    last = alt.Scale(domain=[1, len(steps)], nice=False)
    drawn = chart_of(rows).mark_line(interpolate="step-after", color=PALETTE[0])
    encoded = drawn.encode(x=alt.X("x:Q", axis=axis, scale=last), y=value_axis("ms"))
    return themed(encoded.properties(width=500, height=170))


def _figures(folder: RunFolder, result: TrialResult) -> Iterator[Markup]:
    from vl_convert import vegalite_to_svg  # slow to load, and only needed here

    try:
        found = list(drawn_times(folder, result))
    except (pa.ArrowException, OSError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        yield tag("p", f"The append times of trial {result.spec.number} cannot be read: {reason}")
        return
    for title, steps in found:
        svg = Markup(vegalite_to_svg(spec_of(chart(steps))))  # noqa: S704 - it escapes texts itself
        place = tag(
            "div", svg, class_="chart", role="img", aria_label=title, style="cursor: default"
        )
        yield tag("figure", join([tag("figcaption", tag("h3", title)), place]))
