import io
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.experiments.sustainable import Sustainable
from streamgauge.report.terminal.overview import render
from streamgauge.results.folder import RunFolder
from streamgauge.results.summary import summary
from streamgauge.spec.run import RunSpec
from tests import simulated

SPEC = RunSpec(
    workload="espbench",
    queries=("q3",),
    engine="reference",
    experiment="sustainable",
    rates=(1000.0, 4000.0),
    warmup_s=30.0,
    duration_s=60.0,
    experiment_options={"survey": True},
    origins={"rates": "option"},
)
ENGINE = simulated.Engine(2000.0, overhead_s=0.02)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A search that is over."""
    return simulated.write_search(tmp_path, SPEC, simulated.simulate(ENGINE))


def shown(folder: RunFolder) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(render(folder))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_search_tells_each_trial_and_the_answer(folder: RunFolder) -> None:
    text = shown(folder)
    assert "survey: a rough answer" in text
    lines = text.splitlines()
    rates = [line for line in lines if "PASS" in line or "FAIL" in line]
    assert len(rates) == len(folder.trials())
    assert "1k/s" in rates[0]
    assert "bracket" in rates[0]
    assert "4k/s" in rates[1]
    assert "FAIL" in rates[1]
    (answer,) = [line for line in lines if line.startswith("  q3:")]
    assert "sustained, confirmed 3 of 3" in answer


def test_how_much_the_harness_takes_is_told_once_where_it_is_known(folder: RunFolder) -> None:
    assert "ceiling" not in shown(folder)
    record = folder.record()
    machine = {**record.machine, "ceiling": {"q3": 200_000.0}}
    folder.write(record.model_copy(update={"machine": machine}))
    text = shown(folder)
    assert "harness ceiling (noop): 200k/s" in text
    assert text.count("ceiling") == 1


def test_latency_is_shown_at_the_rate_that_was_found_and_below(folder: RunFolder) -> None:
    lines = [line for line in shown(folder).splitlines() if line.startswith("|")]
    header, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert header[:5] == ["at", "rate", "mean", "min", "max"]
    assert [row[0] for row in rows[1:]] == ["100%", "90%", "50%"]
    assert all(row[2] != "–" for row in rows[1:])


def test_the_summary_has_the_answer(folder: RunFolder) -> None:
    answer = summary(folder)["answer"]
    assert isinstance(answer, dict)
    assert answer["survey"] is True
    (search,) = answer["searches"]  # type: ignore[misc]  # Json is a union
    assert isinstance(search, dict)
    assert search["rate"] == pytest.approx(2000, rel=0.06)
    assert [each["at"] for each in search["latency"]] == ["100%", "90%", "50%"]  # type: ignore[union-attr,index,call-overload]


def test_an_unfinished_search_is_shown_as_far_as_it_came(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, SPEC, ["streamgauge"], {"cores": 2})
    answer = Sustainable(SPEC).answer([]).model_dump(mode="json")
    folder.write(folder.record().model_copy(update={"status": "interrupted", "answer": answer}))
    assert "not known yet" in shown(folder)
