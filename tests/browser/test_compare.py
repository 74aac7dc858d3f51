"""A comparison and a sweep in a real browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from streamgauge.measure.comparison import compare
from streamgauge.report.compare_html import html
from streamgauge.report.sweep import write_sweep
from streamgauge.results.history import side
from tests.unit.runs import make_trial, three_trials, write_run

pytestmark = pytest.mark.browser

ATTACK = "<img src=x onerror=\"document.title='broken in'\">"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None and "CI" not in os.environ:
        pytest.skip("no Chromium was found: apt-get install chromium")
    assert path is not None, "no Chromium was found"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compared")
    folders = [
        three_trials(place / "runs", 100),
        three_trials(place / "runs", 130, seed=2, tags={"name": ATTACK}),
        three_trials(place / "runs", 101, seed=3),
    ]
    base, *others = (side(folder) for folder in folders)
    file = place / "compared.html"
    file.write_text(html(folders, [compare(base, other) for other in others]), encoding="utf-8")
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


def opened(
    chromium: Browser, file: Path, width: int, scheme: Literal["light", "dark"]
) -> tuple[Page, list[str], set[str]]:
    """Open a page; return it with what went wrong and what it asked the network for."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong: list[str] = []
    asked: set[str] = set()
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.add(request.url))
    page.goto(file.as_uri())
    return page, wrong, asked


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("which", "charts"), [("page_file", 3), ("sweep_file", 1)])
def test_all_charts_are_drawn_and_nothing_leaves_the_page(
    request: pytest.FixtureRequest,
    chromium: Browser,
    which: str,
    charts: int,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    file: Path = request.getfixturevalue(which)
    page, wrong, asked = opened(chromium, file, width, scheme)
    drawn = page.locator(".chart svg.marks")
    expect(drawn).to_have_count(charts, timeout=20_000)
    assert wrong == []
    assert asked == {file.as_uri()}
    assert page.title() != "broken in"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in drawn.all():
        box = chart.bounding_box()
        assert box is not None
        assert 200 < box["width"] <= width
    ink = page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (_brightness(ink) > _brightness(paper)) == (scheme == "dark")
    page.close()


def _brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
