import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from streamgauge.report.studies import draw_steps
from streamgauge.report.terminal import render
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


@given(st.lists(st.integers(0, 50), min_size=1, max_size=500).map(sorted))
def test_every_record_is_drawn_and_later_ones_are_never_lower(values: list[int]) -> None:
    lines = draw_steps(values, columns=60, rows=8)
    assert len(lines) == 8
    lowest = [
        next(row for row, line in enumerate(reversed(lines)) if line[column : column + 1] == "▪")
        for column in sorted({k * 60 // len(values) for k in range(len(values))})
    ]
    assert lowest == sorted(lowest)


def shown(folder: RunFolder) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(render(folder))
    return console.export_text()


def make_folder(tmp_path: Path, run_spec: RunSpec, experiment: str) -> RunFolder:
    spec = run_spec.model_copy(update={"experiment": experiment, "engine": "none"})
    return RunFolder.create(tmp_path, spec, ["test"], {})


def test_what_the_broker_took(tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker) -> None:
    folder = make_folder(tmp_path, run_spec, "broker")
    folder.trial_folder(1).mkdir()
    metrics = {"rate.appended": 421_000.0, "bytes.appended": 92e6, "cpu.broker": 0.5}
    folder.write_trial(make_trial(1, metrics=metrics))
    text = shown(folder)
    for part in ("1k/s", "64 KiB", "421k/s", "92.0", "0.50"):
        assert part in text
    assert "broker counts" not in text


def test_what_the_broker_itself_counted(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, "broker")
    for number, metrics in enumerate(({"broker.messages": 5e3, "broker.bytes": 1.2e6}, {}), 1):
        folder.trial_folder(number).mkdir()
        folder.write_trial(make_trial(number, metrics=metrics))
    lines = shown(folder).splitlines()
    assert any("broker counts" in line for line in lines)
    assert any("5k/s" in line and "1.2" in line for line in lines)


def test_append_times_with_their_stairs(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
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
    assert len([line for line in large.splitlines() if "▪" in line]) == 8
