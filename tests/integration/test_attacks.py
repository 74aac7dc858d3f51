"""Wrong outputs through the real transport, each found and counted exactly."""

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
        ("q3", "drop", {"missing": 1}),
        ("q3", "repeat", {"duplicate": 1}),
        ("q3", "alter-value", {"wrong": 1}),
        ("q3", "alter-id", {"missing": 1, "unexpected": 1}),
        ("q3", "extra", {"unexpected": 1}),
        ("q3", "late", {"missing": 1}),
        ("q3", "reorder", {}),
        ("q1", "exchange:1", {"wrong": 2}),
        ("q1", "repeat:1", {"duplicate": 1}),
        ("q2", "exchange", {"wrong": 2}),
        ("q2", "p-off", {"wrong": 1}),
        ("q4", "drop", {"missing": 1}),
        ("q5", "unset", {"missing": 1}),
        ("q5", "early", {"wrong": 1}),
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


def test_one_lost_output_in_a_hundred_thousand_is_found(bench: Bench, tmp_path: Path) -> None:
    result = run(
        bench,
        tmp_path,
        "identity",
        rate=20_000.0,
        duration_s=4.0,
        options={"fault": "drop:77777"},
    )
    assert result.counts.expected > 100_000
    assert (result.counts.missing, result.counts.unexpected) == (1, 0)
    assert result.counts.correct == result.counts.expected - 1
