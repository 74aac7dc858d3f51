from pathlib import Path

import pytest
from benchmarks.synthetic import write_trial
from playwright.sync_api import Page

from streamgauge.report.page.report import write_report
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from tests.browser.conftest import Open
from tests.simulated import Engine, simulate, write_search

SPEC = RunSpec(
    workload="rovio",
    queries=("aggregation", "join"),
    engine="spark",
    experiment="sustainable",
    warmup_s=30.0,
    duration_s=60.0,
    experiment_options={"survey": True},
)
MACHINE = {"cores": 2, "ceiling": dict.fromkeys(SPEC.queries, 90_000.0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two searches; above 54k/s the driver is the limit."""
    trial = simulate(Engine(50_000.0, noise=0.3), driver=54_000.0)
    folder = write_search(tmp_path_factory.mktemp("runs"), SPEC, trial, MACHINE)
    for result in folder.trials():
        made = write_trial(folder, result.spec, outputs=100)
        folder.write_trial(result.model_copy(update={"measured_ms": made.measured_ms}))
    return folder


@pytest.fixture(scope="module")
def report(folder: RunFolder) -> Path:
    return write_report(folder)


def symbols(page: Page, name: str) -> int:
    return page.locator(f'figure[data-spec="{name}"] .mark-symbol path').count()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_trial_of_a_search_is_drawn_and_nothing_is_wider_than_the_page(
    open_page: Open, folder: RunFolder, report: Path, width: int, scheme: str
) -> None:
    page = open_page(report, width=width, scheme=scheme)
    for place, query in enumerate(SPEC.queries):
        trials = [each for each in folder.trials() if each.spec.query == query]
        name = f"run-0-search-{place}"
        guesses = sum(each.spec.backlog for each in trials)
        assert symbols(page, f"{name}-rates") == len(trials) - guesses + 1  # the last one tells
        assert symbols(page, f"{name}-latency") == len(trials) - guesses  # a guess has none
        rates = page.locator(f'figure[data-spec="{name}-rates"]')
        assert rates.locator(".mark-line path").count() == 2
        assert rates.locator(".role-mark line").get_attribute("stroke-dasharray") == "7,4"
        box = rates.locator("svg.marks").bounding_box()
        assert box is not None
        assert 200 < box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_verdicts_differ_by_colour_and_by_shape(open_page: Open, report: Path) -> None:
    page = open_page(report)
    drawn = page.locator('figure[data-spec="run-0-search-0-rates"] .mark-symbol path')
    looks = drawn.evaluate_all(
        "all => all.map((each) => [each.getAttribute('fill'), each.getAttribute('d')])"
    )
    colours, shapes = ({look[side] for look in looks} for side in (0, 1))
    assert len(colours) == len(shapes) >= 3


def test_a_trial_tells_its_reason_where_the_cursor_is(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.locator('figure[data-spec="run-0-search-0-rates"] .mark-symbol path').first.hover()
    told = page.locator("#vg-tooltip-element.visible")
    told.wait_for()
    assert "caught up at" in told.inner_text()


def test_the_trials_of_a_search_are_sorted_by_rate(open_page: Open, report: Path) -> None:
    page = open_page(report)
    table = page.locator("table.tried").first
    table.locator("th", has_text="rate").locator("button").click()
    cells = "rows => rows.map((row) => Number(row.cells[1].dataset.value))"
    values = table.locator("tbody tr").evaluate_all(cells)
    assert len(values) > 5
    assert values == sorted(values)


def test_the_charts_below_begin_with_the_rate_that_was_found(
    open_page: Open, folder: RunFolder, report: Path
) -> None:
    page = open_page(report)
    search = folder.record().answer["searches"][0]  # type: ignore[index,call-overload]
    shown = str(search["latency"][0]["trial"])  # type: ignore[index,call-overload]
    chosen = page.locator(".picker label", has=page.locator("input:checked"))
    assert chosen.inner_text().startswith(f"#{shown} aggregation at")
    assert page.locator(".charts").get_attribute("data-drawn") == shown
    row, choice = page.locator(".picker fieldset").bounding_box(), chosen.bounding_box()
    assert row is not None
    assert choice is not None
    assert row["x"] <= choice["x"] <= row["x"] + row["width"] - choice["width"]
    page.locator("table.tried a").nth(1).click()
    page.wait_for_selector('.charts[data-drawn="2"]')
