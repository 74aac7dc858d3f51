from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.report.charts.theme import spec_of
from streamgauge.report.page.run_view import view_runs
from streamgauge.report.study.append_times import chart
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


def make_folder(
    runs: Path, spec: RunSpec, make_trial: TrialMaker, experiment: str = "append-time"
) -> RunFolder:
    spec = spec.model_copy(update={"experiment": experiment, "engine": None})
    folder = RunFolder.create(runs, spec, ["test"], {})
    folder.trial_folder(1).mkdir()
    times = [1000 + record // 11 for record in range(600)]
    pq.write_table(pa.table({"appended": times}), folder.trial_folder(1) / "append_times.parquet")
    folder.write_trial(make_trial(1))
    return folder


def drawn(folder: RunFolder) -> str:
    (run,) = view_runs([folder])
    return run.of_experiment.details(run)


def test_100_and_500_records_are_drawn(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    text = drawn(make_folder(tmp_path, run_spec, make_trial))
    assert text.count("<svg") == 2
    assert ">100 consecutive records at 1k/s, batch 64 KiB: 9 ms<" in text
    assert ">500 consecutive records at 1k/s, batch 64 KiB: 45 ms<" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("experiment", ["broker", "fixed-rate"])
def test_other_runs_draw_no_append_times(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker, experiment: str
) -> None:
    assert drawn(make_folder(tmp_path, run_spec, make_trial, experiment)) == ""


def test_a_file_that_is_cut_off_is_told(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    folder = make_folder(tmp_path, run_spec, make_trial)
    (folder.trial_folder(1) / "append_times.parquet").write_bytes(b"PAR1")
    assert "The append times of trial 1 cannot be read" in drawn(folder)


def test_every_record_is_in_the_chart() -> None:
    rows = spec_of(chart([0, 0, 1]))["data"]
    assert rows == {"values": [{"x": 1, "v": 0}, {"x": 2, "v": 0}, {"x": 3, "v": 1}]}
