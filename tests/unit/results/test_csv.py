import csv
import io

import pytest

from streamgauge.results.csv import tables
from streamgauge.spec.trial import Counts, TrialResult
from tests.unit import runs
from tests.unit.conftest import TrialMaker

PUBLISHED = [
    "rate", "query", "correct", "p90", "min", "max", "mean", "input", "expected", "actual",
    "false_outputs", "correctness_percent", "validator_seconds",
]  # fmt: skip


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_publications_columns_come_first(make_trial: TrialMaker) -> None:
    counts = Counts(expected=100, correct=97, wrong=1, missing=2, duplicate=3, intermediate=50)
    rows = read(tables([make_trial(1, counts=counts), make_trial(2)])["results.csv"])
    assert list(rows[0])[:13] == PUBLISHED
    assert rows[0]["false_outputs"] == "6"
    assert rows[0]["correctness_percent"] == "97.0"
    assert (rows[0]["actual"], rows[0]["intermediate"]) == ("101", "50")
    assert rows[1]["latency.mean"] == "0.005"


def test_windows_are_published_from_their_end(make_trial: TrialMaker) -> None:
    metrics = {"latency.mean": 0.2, "window_latency.mean": 0.3}
    (row,) = read(tables([make_trial(1, metrics=metrics)])["results.csv"])
    assert (row["mean"], row["latency.mean"]) == ("0.3", "0.2")


def test_what_was_varied_has_columns_as_it_was_asked() -> None:
    ways = [{"E.trigger": "0s", "partitions": "2", "rate": "1k/s"}, {"E.trigger": "1s"}]
    trials = [runs.make_trial(n, factors=way, repeat=1) for n, way in enumerate(ways, 1)]
    rows = read(tables(trials)["results.csv"])
    assert [row["E.trigger"] for row in rows] == ["0s", "1s"]
    assert [(row["rate"], row["partitions"]) for row in rows] == [("1000.0", "1")] * 2


def test_a_run_without_trials_has_an_empty_table() -> None:
    assert tables([]) == {"results.csv": ""}


def repeat(number: int, p90: float, **changes: object) -> TrialResult:
    metrics = {"latency.p90": p90, "latency.mean": p90 / 2}
    return runs.make_trial(number, metrics, **changes)


def test_repeats_are_published_by_their_mean() -> None:
    found = tables([repeat(1, 0.1), repeat(2, 0.2), repeat(3, 0.6)])
    assert len(read(found["results.csv"])) == 3
    rows = read(found["repeats.csv"])
    assert list(rows[0])[:13] == PUBLISHED
    assert {row["statistic"]: float(row["p90"]) for row in rows} == pytest.approx(
        {"mean": 0.3, "median": 0.2, "min": 0.1, "max": 0.6}
    )
    assert {row["query"] for row in rows} == {"q3"}
    assert float(rows[0]["latency.mean"]) == pytest.approx(0.15)
    assert (rows[0]["rate"], rows[0]["correct"], rows[0]["repeats"]) == ("1000.0", "yes", "3")


def test_what_is_not_repeated_has_no_means() -> None:
    assert set(tables([repeat(1, 0.1), repeat(2, 0.1, rate=2000.0)])) == {"results.csv"}


def test_a_repeat_that_is_invalid_is_not_in_the_mean() -> None:
    found = tables([repeat(1, 0.1), repeat(2, 9.0, status="invalid", valid=runs.NO)])
    mean, *_ = read(found["repeats.csv"])
    assert (mean["p90"], mean["repeats"], mean["counted"]) == ("0.1", "2", "1")
    assert (mean["valid"], mean["kept_up"]) == ("no", "yes")


def test_a_wrong_repeat_makes_the_mean_a_wrong_one() -> None:
    counts = Counts(expected=100, correct=98, missing=2)
    found = tables([repeat(1, 0.1), repeat(2, 0.1, correct=runs.NO, counts=counts)])
    mean, *_ = read(found["repeats.csv"])
    assert (mean["correct"], mean["false_outputs"]) == ("no", "1.0")
