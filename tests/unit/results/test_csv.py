import csv
from pathlib import Path

from streamgauge.results.csv import write_csv
from streamgauge.spec.trial import Counts
from tests.unit.conftest import TrialMaker

PUBLISHED = [
    "rate", "query", "correct", "p90", "min", "max", "mean", "input", "expected", "actual",
    "false_outputs", "correctness_percent", "validator_seconds",
]  # fmt: skip


def test_the_publications_columns_come_first(tmp_path: Path, make_trial: TrialMaker) -> None:
    counts = Counts(expected=100, correct=97, wrong=1, missing=2, duplicate=3)
    write_csv(tmp_path / "results.csv", [make_trial(1, counts=counts), make_trial(2)])
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:13] == PUBLISHED
    assert rows[0]["false_outputs"] == "6"
    assert rows[0]["correctness_percent"] == "97.0"
    assert rows[0]["actual"] == "101"
    assert rows[1]["latency.mean"] == "0.005"


def test_windows_are_published_from_their_end(tmp_path: Path, make_trial: TrialMaker) -> None:
    metrics = {"latency.mean": 0.2, "window_latency.mean": 0.3}
    write_csv(tmp_path / "results.csv", [make_trial(1, metrics=metrics)])
    with (tmp_path / "results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["mean"], row["latency.mean"]) == ("0.3", "0.2")


def test_a_run_without_trials_has_an_empty_table(tmp_path: Path) -> None:
    write_csv(tmp_path / "results.csv", [])
    assert (tmp_path / "results.csv").read_text() == ""
