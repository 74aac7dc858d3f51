"""A comparison and a sweep in a real browser."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page

from streamgauge.comparison.page import html
from streamgauge.comparison.runs import compare_runs
from streamgauge.report.page.sweep import write_sweep
from tests.browser.conftest import Open
from tests.unit.runs import make_trial, three_trials, write_run

ATTACK = "<img src=x onerror=\"document.title='broken in'\">"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compared")
    folders = [
        three_trials(place / "runs", 100),
        three_trials(place / "runs", 130, seed=2, tags={"name": ATTACK}),
        three_trials(place / "runs", 101, seed=3),
    ]
    file = place / "compared.html"
    file.write_text(html(folders, compare_runs(*folders)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("swept")
    trials = [
        make_trial(number, {"latency.p99": rate / 1e5 + number / 1000}, rate=rate, query=query)
        for number, (query, rate) in enumerate(
            [(query, rate) for query in ("q1", ATTACK) for rate in (1e3, 5e3, 2e4)], start=1
        )
    ]
    write_sweep([write_run(place / "runs", trials)], "latency.p99", "rate", place / "sweep.html")
    return place / "sweep.html"


@pytest.mark.parametrize("factor", ["mode", "engine"])
def test_bars_of_a_factor_of_names_stand_side_by_side(
    tmp_path: Path, open_page: Open, factor: str
) -> None:
    names = [(query, name) for query in ("q1", "q3") for name in ("one", "two")]
    trials = [
        make_trial(number, {"latency.p99": 0.1 * number}, query=query, **{factor: name})
        for number, (query, name) in enumerate(names * 2, start=1)
    ]
    write_sweep([write_run(tmp_path / "runs", trials)], "latency.p99", factor, tmp_path / "s.html")
    page = open_page(tmp_path / "s.html")
    bars = sorted(_across(page, ".mark-rect.role-mark path"))
    ranges = sorted(_across(page, ".mark-rule.role-mark line"))
    assert len(bars) == len(ranges) == 4
    assert all(right <= left + 1 for (_, right), (left, _) in pairwise(bars))
    assert all(left < at < right for (left, right), (at, _) in zip(bars, ranges, strict=True))


def _across(page: Page, selector: str) -> list[tuple[float, float]]:
    """Return where marks begin and end, from the left."""
    boxes = [mark.bounding_box() for mark in page.locator(selector).all()]
    return [(box["x"], box["x"] + box["width"]) for box in boxes if box is not None]


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("which", "charts"), [("page_file", 4), ("sweep_file", 1)])
def test_all_charts_are_drawn_as_wide_as_the_page_and_in_its_colours(
    request: pytest.FixtureRequest,
    open_page: Open,
    which: str,
    charts: int,
    width: int,
    scheme: str,
) -> None:
    page = open_page(request.getfixturevalue(which), width=width, scheme=scheme)
    drawn = page.locator(".chart svg.marks").all()
    assert len(drawn) == charts
    assert page.title() != "broken in"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in drawn:
        box = chart.bounding_box()
        assert box is not None
        assert 200 < box["width"] <= width
    ink = page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (_brightness(ink) > _brightness(paper)) == (scheme == "dark")


def test_legends_name_every_series_in_the_page(open_page: Open, page_file: Path) -> None:
    page = open_page(page_file, width=390)
    curves = page.locator('figure[data-spec="curves0"]')
    assert curves.locator(".legend li").count() == 3
    lines = curves.locator(".legend line")
    looks = "all => all.map((each) => each.getAttribute('stroke-dasharray'))"
    assert len(set(lines.evaluate_all(looks))) == 3
    assert page.locator('figure[data-spec="forest0"] .legend').inner_text().split("\n") == [
        "worse",
        "no difference",
    ]
    assert page.locator(".role-legend").count() == 0


def test_the_verdict_stands_before_charts_and_tables(open_page: Open, page_file: Path) -> None:
    page = open_page(page_file)
    verdict, chart = page.locator(".verdict").first, page.locator(".chart svg").first
    assert verdict.inner_text() == "Slower in 4, no difference in 1 of 5 metrics."
    above, below = verdict.bounding_box(), chart.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] < min(below["y"], 450)


@pytest.mark.parametrize("which", ["page_file", "sweep_file"])
def test_tables_are_sorted_by_value_with_the_keyboard(
    request: pytest.FixtureRequest, open_page: Open, which: str
) -> None:
    page = open_page(request.getfixturevalue(which))
    table = page.locator("table").first
    name = "ratio" if which == "page_file" else "median"
    header = table.locator("th", has_text=name)
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    cells = "rows => rows.map((row) => Number(row.cells[2].dataset.value))"
    values = table.locator("tbody tr").evaluate_all(cells)
    assert len(set(values)) > 2
    assert values == sorted(values)


def _brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
