"""Wrong outputs through the real transport, each found and counted exactly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamgauge.services.service import RunningService
from streamgauge.trial.bench import Bench
from tests.integration.trials import make_bench, run

pytestmark = [pytest.mark.integration, pytest.mark.spark]

NOTHING = {"wrong": 0, "missing": 0, "duplicate": 0, "unexpected": 0}


@pytest.fixture(scope="module")
def bench(
    services: dict[str, RunningService[Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with make_bench(services, tmp_path_factory.mktemp("attacks")) as bench:
        yield bench


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
