"""The Python API: run a workload, open what a run left, compare runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge import runner
from streamgauge.comparison.compare import Comparison, Pair
from streamgauge.comparison.runs import compare_runs
from streamgauge.errors import unknown_name
from streamgauge.planning import Asked, choose_services, plan_run
from streamgauge.report.page.report import write_report
from streamgauge.results import tables
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder, RunRecord, find
from streamgauge.services.addresses import without_user_info
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa
    from pydantic import BaseModel

RUNS_DIR = "STREAMGAUGE_RUNS_DIR"


def _runs(given: Path | str | None) -> Path:
    """Return the folder of all runs: the one given, or that of the environment."""
    return Path(given or os.environ.get(RUNS_DIR) or "runs")


class Run:
    """What a run left, as Arrow tables and charts; `.to_pandas()` makes a table a data frame."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"<Run {self.name}: {self.record.status}, {len(self.results)} trials>"

    @property
    def name(self) -> str:
        """The run's id."""
        return self.record.id

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.folder.path

    @property
    def record(self) -> RunRecord:
        """What was asked for, the machine, status and answer: run.json."""
        return self.folder.record()

    @property
    def answer(self) -> BaseModel | None:
        """What the experiment concluded, by its own model; None while there is no conclusion."""
        return read_answer(self.record)

    @property
    def results(self) -> list[TrialResult]:
        """All that is known about each finished trial: every trial.json."""
        return self.folder.trials()

    @property
    def trials(self) -> pa.Table:
        """A row per finished trial: what was asked for, verdicts, counts, all metrics."""
        return tables.trials(self.folder)

    @cached_property
    def latencies(self) -> pa.Table:
        """A row per output: times in epoch milliseconds, latencies in seconds."""
        return tables.latencies(self.folder)

    @property
    def timeline(self) -> pa.Table:
        """A row per second and trial: CPU, memory and disk by role, load, progress."""
        return tables.timeline(self.folder)

    def chart(self, what: str = "latency") -> alt.TopLevelMixin:
        """Draw a chart for a notebook: `latency`, percentiles with a line per trial."""
        from streamgauge.report.charts.notebook import CHARTS

        if what not in CHARTS:
            raise unknown_name("chart", what, CHARTS)
        return CHARTS[what](self.folder)


class RunComparison:
    """One run against another; a notebook shows it as a table."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __repr__(self) -> str:
        return f"<RunComparison of {self.comparison.other} with {self.comparison.base}>"

    def _repr_markdown_(self) -> str:
        from streamgauge.comparison.markdown import markdown

        return markdown([self.comparison])

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Each query at each rate: why it is not comparable, what was changed, all metrics."""
        return self.comparison.pairs

    @property
    def table(self) -> pa.Table:
        """A row per query, rate and metric: both medians, ratio, interval, verdict."""
        import pyarrow as pa

        from streamgauge.comparison.objects import flat_rows

        return pa.Table.from_pylist(flat_rows(self.comparison))

    def chart(self) -> alt.TopLevelMixin | None:
        """Draw each metric's ratio with its interval around 1.0; None when there is no ratio."""
        from streamgauge.comparison.charts import forest

        return forest(self.comparison)


def run(target: str, *, runs: Path | str | None = None, **options: Any) -> Run:
    """Run a workload, write its report and return what it left.

    Args:
        target: `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`.
        runs: Folder of all runs; STREAMGAUGE_RUNS_DIR or `runs` by default.
        options: The options of the command line, named like the fields of a preset:
            `rates=["10k/s"]`, `duration="1m"`, `engine="reference"`, `quick=True`.
    """
    spec = plan_run(target, {name: Asked(value) for name, value in options.items()})
    command = _repeat_command(target, runs, options)
    folder = runner.start(spec, _runs(runs), command, lambda _: None, choose_services(spec))
    write_report(folder)
    return Run(folder)


def open(name: str, *, runs: Path | str | None = None) -> Run:
    """Open a run by path, id prefix, tag or age (`@0` is the latest)."""
    return Run(find(_runs(runs), name))


def compare(base: Run | str, other: Run | str, *, runs: Path | str | None = None) -> RunComparison:
    """Compare a run with a base: ratios with intervals, and verdicts in words."""
    both = [each if isinstance(each, Run) else open(each, runs=runs) for each in (base, other)]
    (comparison,) = compare_runs(*(each.folder for each in both))
    return RunComparison(comparison)


def _repeat_command(target: str, runs: Path | str | None, options: Mapping[str, Any]) -> list[str]:
    """Return the words of a shell command that repeats a run; addresses lose their user info."""
    given = options if runs is None else {"runs": str(runs), **options}
    arguments = [f"{name}={_plain(value)!r}" for name, value in given.items()]
    code = f"import streamgauge; streamgauge.run({', '.join([repr(target), *arguments])})"
    return ["python", "-c", shlex.quote(code) if set(code) & set('"$`\\!') else f'"{code}"']


def _plain(value: Any) -> Any:
    """Return a value in plain Python types, so that its `repr` is a literal."""
    if isinstance(value, str | Path):
        return without_user_info(str(value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value.tolist() if hasattr(value, "tolist") else value
