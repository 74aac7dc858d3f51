"""The progress of a run on stderr: a panel that changes in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streamgauge.live.state import Ended, Kind, LiveTrial, Sample, State, finished_rates, fold
from streamgauge.metrics import in_order
from streamgauge.planning import load_experiment
from streamgauge.report.verdict import MARKS
from streamgauge.results.events import count_trials
from streamgauge.units import format_count, format_duration, format_latency, format_rate

if TYPE_CHECKING:
    from streamgauge.spec.run import RunSpec
    from streamgauge.trial.bench import Event

_WIDTH = 40
"""Seconds that a sparkline shows."""
_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 8
"""Trials in the strip."""


class TerminalProgress:
    """Shows the running trial (why, phase, rates, lag, newest latency, CPU) and those before it."""

    def __init__(
        self,
        spec: RunSpec,
        console: Console | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._trials = count_trials(load_experiment(spec))
        self._now_s = now_s
        self._live: Live | None = None
        self._note = "preparing"
        self._state = State()
        self._samples: deque[Sample] = deque(maxlen=_WIDTH)

    def show(self, event: Event) -> None:
        """Take in one event of the run."""
        before, self._state = self._state, fold(self._state, event)
        if self._state.begun != before.begun:
            self._samples.clear()
        if self._state.sample is not None and self._state.sample is not before.sample:
            self._samples.append(self._state.sample)
        if "note" in event:
            self.note(str(event["note"]))
        else:
            self._print(event)

    def note(self, text: str) -> None:
        """Show what is being fetched or started."""
        self._note = text
        if self._live is None:
            self._console.print(text, markup=False)

    def _print(self, event: Event) -> None:
        """Write a line for each trial that ended, and for each phase where there is no panel."""
        trial = self._state.trial
        if trial is None:
            return
        of = f"/{self._trials}" if self._trials >= trial.number else ""
        title = f"[{trial.number}{of}] {_asked(trial.kind)}"
        if "phase" in event and self._live is None:
            self._console.print(f"{title}: {trial.phase}", markup=False)
        elif "status" in event:
            self._console.print(f"{title}: {_result(self._state.ended[-1])}", markup=False)

    def _panel(self) -> RenderableType:
        trial = self._state.trial
        if trial is None:
            return Text(self._note)
        return panel(trial, list(self._samples), self._state.ended, self._now_s())

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            # Once a second: a faster spinner would cost more than everything else here.
            self._live = Live(
                console=self._console,
                get_renderable=self._panel,
                refresh_per_second=1,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()


def panel(
    trial: LiveTrial, samples: Sequence[Sample], ended: Sequence[Ended], now_s: float
) -> RenderableType:
    """Draw the running trial, a sparkline for each figure, and the trials before it."""
    of = f"/{trial.planned}" if trial.planned >= trial.number else ""
    parts: list[RenderableType] = []
    if ended:
        parts.append(Text("  ".join(_ended(each) for each in ended[-_SHOWN:]), "dim"))
    head = Text(f"[{trial.number}{of}] {_asked(trial.kind)}", "bold")
    parts.append(head.append(f"  {_phase(trial, now_s)}", "not bold"))
    if trial.kind.why:
        parts.append(Text(f"why: {trial.kind.why}", "dim"))
    if samples:
        parts.append(_figures(samples))
    if trial.next is not None:
        why = f" ({trial.next.why})" if trial.next.why else ""
        parts.append(Text(f"next: {_asked(trial.next)}{why}", "dim"))
    return Group(*parts)


def sparkline(values: Sequence[float | None], top: float | None = None) -> str:
    """Draw values from zero to the top, by default the largest; None is a gap."""
    largest = top or max((value for value in values if value is not None), default=0.0)
    return "".join(" " if value is None else _bar(value, largest) for value in values)


def _bar(value: float, largest: float) -> str:
    if largest <= 0:
        return _BARS[0]
    return _BARS[min(len(_BARS) - 1, int(max(0.0, value) / largest * len(_BARS)))]


def _figures(samples: Sequence[Sample]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column()
    table.add_column(justify="right", min_width=8)
    table.add_column(no_wrap=True)
    table.add_row(*_row("sent", [each.sent for each in samples], format_rate))
    table.add_row(*_row("finished", finished_rates(samples), format_rate))
    table.add_row(*_row("lag", [each.lag for each in samples], format_count))
    latencies = [each.newest_latency for each in samples]
    table.add_row(*_row("newest latency (a sample)", latencies, format_latency))
    top = max((cores for each in samples for cores in each.cpu.values()), default=None)
    for role in in_order(samples[-1].cpu):
        cores = [each.cpu.get(role) for each in samples]
        table.add_row(*_row(f"cpu {role}", cores, lambda number: f"{number:.2f}", top))
    return table


def _row(
    name: str,
    values: Sequence[float | None],
    write: Callable[[float], str],
    top: float | None = None,
) -> Iterable[Text]:
    newest = values[-1]
    yield Text(name, "dim")
    yield Text("–" if newest is None else write(newest))
    yield Text(sparkline(values, top), "cyan")


def _phase(trial: LiveTrial, now_s: float) -> str:
    if trial.phase is None or trial.phase_at is None:
        return ""
    passed = format_duration(max(0, round(now_s - trial.phase_at)))
    of = f" of {format_duration(round(trial.lasts_s))}" if trial.lasts_s else ""
    return f"{trial.phase} for {passed}{of}"


def _ended(trial: Ended) -> str:
    marks = "".join(MARKS[each] for each in (trial.valid, trial.correct, trial.kept_up))
    return f"{trial.number} {trial.kind.query} {marks}"


def _result(trial: Ended) -> str:
    if trial.status != "done":
        return trial.status
    verdicts = {"valid": trial.valid, "correct": trial.correct, "kept up": trial.kept_up}
    marks = [f"{name} {MARKS[holds]}" for name, holds in verdicts.items()]
    figures = [
        f"{name.removeprefix('latency.')} {format_latency(value_s)}"
        for name, value_s in trial.metrics.items()
    ]
    return ", ".join((*marks, *figures))


def _asked(kind: Kind) -> str:
    rate = f" at {format_rate(kind.rate)}" if kind.rate is not None else ""
    return f"{kind.query}{rate}"
