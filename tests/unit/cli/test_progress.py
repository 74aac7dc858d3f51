import io
import re

import pytest
from rich.console import Console

from streamgauge.cli.progress import TerminalProgress, panel, sparkline
from streamgauge.experiments.fixed_rate import FixedRate
from streamgauge.live.state import State, fold
from streamgauge.results import events
from tests.live_runs import BEGAN, make_spec, result, trial

SPEC = make_spec()


def printed(*lines: object) -> str:
    out = io.StringIO()
    with TerminalProgress(SPEC, Console(file=out, width=100)) as progress:
        for line in lines:
            progress.show(line)  # type: ignore[arg-type]
    return out.getvalue()


def test_plain_lines_tell_the_phases_and_what_came_of_each_trial() -> None:
    assert printed({"note": "fetching [jars]"}, *trial(SPEC)).splitlines() == [
        "fetching [jars]",
        "[1/2] q1 at 10k/s: prepare",
        "[1/2] q1 at 10k/s: warm-up",
        "[1/2] q1 at 10k/s: measure",
        "[1/2] q1 at 10k/s: validate",
        "[1/2] q1 at 10k/s: valid ✓, correct ✓, kept up ✓, p50 200 ms, p99 300 ms",
    ]


def test_a_trial_that_failed_is_told() -> None:
    lines = list(trial(SPEC))[:-1]
    planned = FixedRate(SPEC).plan()[0]
    failed = events.ended(result(planned, status="failed", cause="the engine died\nlog"), ())
    assert printed(*lines, failed).splitlines()[-1] == "[1/2] q1 at 10k/s: failed"


def test_the_panel_shows_trial_phase_figures_and_what_comes_next() -> None:
    state, samples = State(), []
    for line in [*trial(SPEC), *list(trial(SPEC, number=2))[:20]]:
        state = fold(state, line)
        if state.sample and state.sample not in samples:
            samples.append(state.sample)
    assert state.trial is not None
    out = io.StringIO()
    console = Console(file=out, width=100)
    console.print(panel(state.trial, samples[-14:], state.ended, BEGAN + 100 + 16))
    text = out.getvalue()
    assert "1 q1 ✓✓✓" in text
    assert "[2/2] q3 at 10k/s  measure for 10 s of 20 s" in text
    assert "why: the next query at this rate" in text
    assert re.search(r"^finished +10k/s ", text, re.MULTILINE)
    assert "newest latency (a sample)" in text
    assert "cpu engine" in text
    assert "10k/s" in text
    assert "█" in text


def test_the_panel_shows_roles_of_any_name_after_the_known() -> None:
    state = State()
    for line in list(trial(SPEC))[:12]:
        state = fold(state, {**line, "cpu.cache": 0.25} if "cpu.engine" in line else line)
    assert state.trial is not None
    assert state.sample is not None
    out = io.StringIO()
    Console(file=out, width=100).print(panel(state.trial, [state.sample], (), BEGAN))
    assert re.findall(r"^cpu (\S+)", out.getvalue(), re.MULTILINE) == [
        "engine",
        "broker",
        "sender",
        "cache",
    ]


def test_the_panel_in_a_terminal_leaves_what_came_of_trials() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, highlight=False)
    planned = FixedRate(SPEC).plan()[0]
    failed = events.ended(result(planned, status="invalid", cause="the broker died"), ())
    with TerminalProgress(SPEC, console) as progress:
        for line in [*list(trial(SPEC))[:-1], failed]:
            progress.show(line)  # type: ignore[arg-type]
    assert "[1/2] q1 at 10k/s: invalid" in out.getvalue()


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([0, 1, 2, 4], "▁▃▅█"),
        ([None, 1.0, None], " █ "),
        ([0, 0], "▁▁"),
        ([-1.0, 1.0], "▁█"),
        ([], ""),
    ],
)
def test_sparklines_begin_at_zero(values: list[float | None], drawn: str) -> None:
    assert sparkline(values) == drawn


def test_sparklines_may_share_a_scale() -> None:
    assert sparkline([1.0, 2.0], top=4.0) == "▃▅"
