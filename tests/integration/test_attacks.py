"""Whole trials of an engine that answers wrongly; test_validation has all wrong answers."""

from pathlib import Path

import pytest

from streamgauge.spec.trial import Counts
from streamgauge.trial.bench import Bench
from tests.integration.trials import run

pytestmark = [pytest.mark.integration, pytest.mark.spark]

NOTHING = {"wrong": 0, "missing": 0, "duplicate": 0, "unexpected": 0}


@pytest.mark.parametrize(
    ("query", "fault", "found"),
    [
        ("q3", "late", {"missing": 1}),
        ("q1", "repeat:1", {"duplicate": 1}),
        ("q5", "touch", {"unexpected": 1}),
    ],
)
def test_a_fault_is_counted_exactly(
    bench: Bench, tmp_path: Path, query: str, fault: str, found: dict[str, int]
) -> None:
    result = run(bench, tmp_path, query, options={"fault": fault})
    assert result.status == "done", result.cause
    errors = {kind: getattr(result.counts, kind) for kind in NOTHING}
    assert errors == {**NOTHING, **found}
    assert result.correct.holds is (not found)


def test_windows_shifted_by_one_record_are_counted_as_by_hand(bench: Bench, tmp_path: Path) -> None:
    """Two equal points far off hide each other when they share a window, and stand out alone.

    Of 2,000 records, 499 and 500 lie on both sides of a border, and 1500 and 1501 in one window.
    Right windows show the first two; windows that begin one record late show the other two.
    """
    powers = [13_000 + i % 20 for i in range(2_000)]
    for i in (499, 500, 1_500, 1_501):
        powers[i] = 6_000
    rest = "\t".join(["0"] * 51)
    lines = [
        f"2012-02-22T16:46:28.0+00:00\t{i}\t{p}\t17000\t8200\t{rest}\n"
        for i, p in enumerate(powers)
    ]
    file = tmp_path / "sensors.txt"
    file.write_text("".join(lines))
    result = run(
        bench,
        tmp_path,
        "q2",
        rate=5_000.0,
        duration_s=3.0,
        parameters={"sensors": str(file)},
        options={"fault": "shift"},
    )
    assert result.inputs == 20_002, "40 windows; the first record is a marker, far off as well"
    assert result.counts == Counts(expected=21, missing=21, unexpected=20)
