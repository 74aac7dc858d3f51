import json
import re
from pathlib import Path
from typing import Any

import pytest

from streamgauge.report.charts.ticks import ticks
from streamgauge.report.page.report import report_page
from streamgauge.report.search.charts import SIGN_OF
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict
from tests.simulated import Engine, Runs, simulate, write_search

ENGINE = Engine(2000.0, overhead_s=0.02)
EVIL = "</script><script>alert(1)</script>"


def asked(*rates: float, **changes: object) -> RunSpec:
    fields: dict[str, object] = {
        "workload": "espbench",
        "queries": ("q3",),
        "engine": "reference",
        "experiment": "sustainable",
        "warmup_s": 30.0,
        "duration_s": 60.0,
        "experiment_options": {"survey": True},
        "rates": rates or (1000.0,),
        "origins": {"rates": "option"} if rates else {},
    }
    return RunSpec.model_validate(fields | changes)


def page_of(folder: RunFolder) -> str:
    return report_page([folder])


def spec_of(page: str, name: str) -> dict[str, Any]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)
    assert found is not None
    loaded = json.loads(found[1])
    assert isinstance(loaded, dict)
    return loaded


def rows_of(spec: dict[str, Any], mark: str, place: int = 0) -> list[dict[str, Any]]:
    """Return the data of a layer."""
    layers = [each for each in spec["layer"] if each["mark"]["type"] == mark]
    rows: list[dict[str, Any]] = layers[place]["data"]["values"]
    return rows


def text_of(page: str) -> str:
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A search that began with a guess, where the harness is known to reach 5k/s."""
    machine = {"cores": 2, "ceiling": {"q3": 5000.0}}
    return write_search(tmp_path_factory.mktemp("runs"), asked(), simulate(ENGINE), machine)


@pytest.fixture(scope="module")
def page(folder: RunFolder) -> str:
    return page_of(folder)


def test_the_search_stands_between_the_set_up_and_the_charts(page: str) -> None:
    text = text_of(page)
    parts = ["Set-up", "Search: q3", "Rates by trial", "Latency by rate", "Rates and lag"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "A survey, a rough answer.\nq3: " in text
    assert "did not keep up" not in text


def test_the_rates_have_every_trial_in_its_order(folder: RunFolder, page: str) -> None:
    rows = rows_of(spec_of(page, "run-0-search-0-rates"), "point")
    results = folder.trials()
    assert [row["trial"] for row in rows] == [result.spec.number for result in results]
    assert [row["rate"] for row in rows[1:]] == [result.spec.rate for result in results[1:]]
    assert {row["kind"] for row in rows} == {"guess", "pass", "fail"}


def test_the_guess_is_where_it_caught_up(page: str) -> None:
    spec = spec_of(page, "run-0-search-0-rates")
    guess, *_ = rows_of(spec, "point")
    assert (guess["kind"], guess["rate"]) == ("guess", 2000.0)
    assert "The guess is the rate at which it caught up" in page
    latencies = rows_of(spec_of(page, "run-0-search-0-latency"), "point")
    assert "guess" not in {row["kind"] for row in latencies}


def test_the_bracket_closes_to_the_answer(folder: RunFolder, page: str) -> None:
    spec = spec_of(page, "run-0-search-0-rates")
    low, high = folder.record().answer["searches"][0]["interval"]  # type: ignore[index,call-overload]
    steps = rows_of(spec, "line")
    assert (steps[0]["low"], steps[0]["high"]) == (None, None)
    assert (steps[-1]["low"], steps[-1]["high"]) == (low, high)
    assert steps == rows_of(spec, "line", 1) == rows_of(spec, "area")
    lines = [each for each in spec["layer"] if each["mark"]["type"] == "line"]
    assert [line["encoding"]["y"]["field"] for line in lines] == ["low", "high"]


def test_the_ceiling_is_drawn_where_it_is_known(page: str, tmp_path: Path) -> None:
    spec = spec_of(page, "run-0-search-0-rates")
    assert rows_of(spec, "rule") == [{"rate": 5000.0}]
    low, high = spec["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert low < 1000 < 5000 < high
    assert "harness ceiling (noop): 5k/s" in page
    unknown = page_of(write_search(tmp_path, asked(1000.0, 1500.0), simulate(ENGINE)))
    marks = [each["mark"]["type"] for each in spec_of(unknown, "run-0-search-0-rates")["layer"]]
    assert "rule" not in marks
    assert "harness ceiling" not in unknown


def test_latency_is_told_from_the_time_that_was_due(folder: RunFolder, page: str) -> None:
    rows = rows_of(spec_of(page, "run-0-search-0-latency"), "point")
    assert "p95 of the event-time latency at each rate" in page
    told = {result.spec.number: result.metrics for result in folder.trials()}
    for row in rows:
        expected_ms = 1000 * told[row["trial"]]["event_latency.p95"]
        assert row["latency"] == pytest.approx(max(0.5, expected_ms))


def test_latency_of_another_kind_is_shown_where_there_is_no_other(tmp_path: Path) -> None:
    def run(spec: TrialSpec) -> TrialResult:
        plain = {"latency.p50": 0.1, "latency.p95": 0.25, "latency.p99": 0.3}
        return simulate(ENGINE)(spec).model_copy(update={"metrics": plain})

    page = page_of(write_search(tmp_path, asked(1000.0, 4000.0), run))
    rows = rows_of(spec_of(page, "run-0-search-0-latency"), "point")
    assert {row["latency"] for row in rows} == {250.0}
    assert "p95 of the latency at each rate" in page


def test_the_table_has_reasons_and_percentiles(folder: RunFolder, page: str) -> None:
    found = re.search(r'<table class="sortable tried">(.*?)</table>', page, re.S)
    assert found is not None
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.S)
    assert len(rows) == 1 + len(folder.trials())
    for name in ("verdict", "p50", "p95", "p99", "reason"):
        assert f">{name}</th>" in rows[0]
    assert "caught up at 2k/s" in rows[1]
    failed = [row for row in rows if "fail" in row]
    assert failed
    assert all("worked off" in row or "behind" in row for row in failed)


def test_the_trials_above_it_are_those_that_tell_the_latency(page: str) -> None:
    found = re.search(r'<table class="sortable trials">(.*?)</table>', page, re.S)
    assert found is not None
    assert found[1].count("<tr>") == 1 + 3


def test_every_query_has_its_search(tmp_path: Path) -> None:
    spec = asked(1000.0, 1500.0, queries=("q3", "q1"))
    page = page_of(write_search(tmp_path, spec, simulate(ENGINE)))
    text = text_of(page)
    assert text.index("Search: q3") < text.index("Search: q1")
    trials = [row["trial"] for row in rows_of(spec_of(page, "run-0-search-1-rates"), "point")]
    assert trials[0] == 1 + len(rows_of(spec_of(page, "run-0-search-0-rates"), "point"))


def test_the_limit_of_the_driver_is_called_so(tmp_path: Path) -> None:
    run = simulate(ENGINE, driver=1200.0)
    page = page_of(write_search(tmp_path, asked(1000.0, 4000.0), run))
    assert "limit of the harness: " in page
    assert "lowest that did not: " not in page


def only_wrong_answers(spec: TrialSpec) -> TrialResult:
    wrong = Verdict(holds=False, reason="of 10 expected and 9 outputs: 1 missing")
    return simulate(ENGINE)(spec).model_copy(update={"correct": wrong})


@pytest.mark.parametrize(
    ("run", "says"),
    [(only_wrong_answers, "no rate passes"), (simulate(ENGINE, driver=0.1), "the driver was")],
)
def test_a_search_that_found_nothing_is_shown_all_the_same(
    tmp_path: Path, run: Runs, says: str
) -> None:
    page = page_of(write_search(tmp_path, asked(1000.0), run))
    assert says in text_of(page)
    assert "highest that held" not in page
    assert '<table class="sortable trials">' not in page
    steps = rows_of(spec_of(page, "run-0-search-0-rates"), "line")
    assert {step["low"] for step in steps} == {None}


def test_a_search_that_has_not_begun_is_shown_without_charts(tmp_path: Path) -> None:
    folder = write_search(tmp_path, asked(1000.0, 2000.0), simulate(ENGINE))
    record = folder.record()
    (search,) = record.answer["searches"]  # type: ignore[misc]
    begun = {"rate": None, "interval": [None, None], "limit": None, "latency": [], "trials": []}
    answer = {**record.answer, "searches": [{**search, **begun, "conclusion": "not known yet"}]}  # type: ignore[dict-item]
    folder.write(record.model_copy(update={"answer": answer, "status": "interrupted"}))
    page = page_of(folder)
    assert "Not known yet." in text_of(page)
    assert "run-0-search-0" not in page


def test_a_guess_that_died_has_no_place_in_the_chart(tmp_path: Path) -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = simulate(ENGINE)(spec)
        dead = {"status": "failed", "cause": f"it died: {EVIL}", "metrics": {}}
        return result.model_copy(update=dead) if spec.backlog else result

    page = page_of(write_search(tmp_path, asked(), run))
    spec = spec_of(page, "run-0-search-0-rates")
    assert "guess" not in {row["kind"] for row in rows_of(spec, "point")}
    assert spec["layer"][-1]["encoding"]["x"]["axis"]["values"][0] == 1
    assert "alert(1)</script>" not in page
    assert "it died: &lt;/script&gt;" in page


def test_no_verdict_is_told_by_colour_alone() -> None:
    assert len({look.colour for look in SIGN_OF.values()}) == len(SIGN_OF)
    assert len({look.path for look in SIGN_OF.values()}) == len(SIGN_OF)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (90.0, 1.1e6, [100, 1000, 10_000, 100_000, 1_000_000]),
        (0.9e5, 1.1e6, [1e5, 2e5, 5e5, 1e6]),
        (4.5e5, 1.2e6, [5e5, 6e5, 8e5, 1e6]),
        (0.98e6, 1.7e6, [1e6, 1.2e6, 1.4e6, 1.6e6]),
        (510.0, 590.0, [520, 530, 540, 550, 560, 570, 580, 590]),
        (102.0, 127.0, [110, 120]),
    ],
)
def test_axes_have_few_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)
