import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from streamgauge.report.page.report import report_page
from streamgauge.report.study.terminal import draw_steps
from streamgauge.report.terminal.overview import render
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult
from tests.unit.conftest import TrialMaker


@given(st.lists(st.integers(0, 50), min_size=1, max_size=500).map(sorted))
def test_every_record_is_drawn_and_later_ones_are_never_lower(values: list[int]) -> None:
    lines = draw_steps(values, columns=60, rows=8)
    assert len(lines) == min(8, max(*values, 1) + 1)
    lowest = [
        next(row for row, line in enumerate(reversed(lines)) if line[column : column + 1] == "▪")
        for column in sorted({k * 60 // len(values) for k in range(len(values))})
    ]
    assert lowest == sorted(lowest)


def shown(folder: RunFolder) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(folder))
    return console.export_text()


def make_folder(tmp_path: Path, run_spec: RunSpec, experiment: str) -> RunFolder:
    spec = run_spec.model_copy(update={"experiment": experiment, "engine": None})
    return RunFolder.create(tmp_path, spec, ["test"], {})


TAKEN = {
    "rate.appended": 421_000.0,
    "rate_per_second.min": 398_000.0,
    "rate_per_second.max": 433_000.0,
    "rate_per_minute.min": 415_000.0,
    "rate_per_minute.max": 424_000.0,
    "bytes.appended": 92e6,
    "broker.messages": 420_500.0,
    "broker.bytes": 93.2e6,
    "request.p50": 0.004,
    "request.max": 0.25,
    "cpu.broker": 0.5,
    "cpu.sender": 0.9,
}


def write_study(folder: RunFolder, trials: Sequence[TrialResult]) -> None:
    for trial in trials:
        folder.trial_folder(trial.spec.number).mkdir()
        folder.write_trial(trial)


def table_of(folder: RunFolder) -> list[list[str]]:
    """Read what is shown as Markdown."""
    lines = [line.strip() for line in shown(folder).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_what_the_broker_took_is_a_table_of_markdown(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, "broker")
    other = make_trial(2, metrics={"rate.appended": 5.0})
    load = other.spec.load.model_copy(update={"acks": "1", "idempotence": False})
    spec = other.spec.model_copy(update={"load": load})
    write_study(folder, [make_trial(1, metrics=TAKEN), other.model_copy(update={"spec": spec})])
    header, line, first, second = table_of(folder)
    assert header == [
        *("offered", "acks", "took all", "reached", "worst second", "best second"),
        *("worst minute", "best minute", "MB/s", "MessagesIn", "BytesIn MB/s"),
        *("request p50", "request max", "CPU broker", "CPU sender"),
    ]
    assert set("".join(line)) == {"-"}
    assert first[:2] + first[3:] == [
        *("1k/s", "all", "421k/s", "398k/s", "433k/s", "415k/s", "424k/s", "92.0"),
        *("420.5k/s", "93.2", "4 ms", "250 ms", "0.50", "0.90"),
    ]
    assert second[:2] + second[3:] == ["1k/s", "1", "5/s", *["–"] * 11]
    assert "batch 64 KiB" in shown(folder)


def test_what_nobody_told_has_no_column(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, "broker")
    write_study(folder, [make_trial(1, metrics={"rate.appended": 5.0})])
    header, *_ = table_of(folder)
    assert header == ["offered", "took all", "reached"]


def test_a_study_without_trials_is_shown(tmp_path: Path, run_spec: RunSpec) -> None:
    assert "offered" in shown(make_folder(tmp_path, run_spec, "broker"))


def test_the_page_has_the_same_table(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, "broker")
    write_study(folder, [make_trial(1, metrics=TAKEN)])
    page = report_page([folder])
    for part in ("MessagesIn", "BytesIn MB/s", "worst minute", ">421k/s<", ">93.2<", ">250 ms<"):
        assert part in page
    assert "engine CPU" not in page


def test_append_times_drawn(tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker) -> None:
    folder = make_folder(tmp_path, run_spec, "append-time")
    folder.trial_folder(1).mkdir()
    times = [1000 + record // 11 for record in range(300)]
    pq.write_table(pa.table({"appended": times}), folder.trial_folder(1) / "append_times.parquet")
    folder.write_trial(make_trial(1, metrics={"append_run.mean": 11.0}))
    text = shown(folder)
    assert "100 consecutive records at 1k/s, batch 64 KiB: 9 ms" in text
    assert "500 consecutive" not in text
    assert "▪▪▪▪▪▪▪▪▪▪▪" in text


def test_500_append_times_are_drawn_where_so_many_were_read_back(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, "append-time")
    folder.trial_folder(1).mkdir()
    times = [1000 + record // 11 for record in range(600)]
    pq.write_table(pa.table({"appended": times}), folder.trial_folder(1) / "append_times.parquet")
    folder.write_trial(make_trial(1))
    _, small, large = shown(folder).split("consecutive records at 1k/s, batch 64 KiB: ")
    assert (small.partition(" ms")[0], large.partition(" ms")[0]) == ("9", "45")
    assert len([line for line in large.splitlines() if "▪" in line]) == 12
