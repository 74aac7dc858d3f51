"""The flame graph of a profiled run: drawn, searched, zoomed, by task."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from streamgauge.report.page.report import write_report
from tests.browser.conftest import Open
from tests.unit.report.test_profile import profiled_run

_PAINTED = """canvas => {
  const pen = canvas.getContext("2d");
  const cells = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let at = 0; at < cells.length; at += 4) seen.add(cells.slice(at, at + 4).join());
  return seen.size;
}"""


@pytest.fixture
def page(open_page: Open, tmp_path: Path) -> Page:
    return open_page(write_report(profiled_run(tmp_path)))


def test_it_is_drawn_and_tells_what_is_under_the_cursor(page: Page) -> None:
    canvas = page.locator(".flame canvas")
    canvas.scroll_into_view_if_needed()
    assert canvas.evaluate(_PAINTED) > 3
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": 30, "y": box["height"] - 5})
    assert page.locator("[data-told]").inner_text().startswith("jvm: 100.0 %, 1.1 ms per record")


def test_a_word_finds_boxes_and_a_task_leaves_its_own(page: Page) -> None:
    page.locator(".flame input").fill("jackson")
    told = page.locator("[data-told]").inner_text()
    assert told.startswith("60.0 %")
    page.locator(".flame button").click()
    page.locator(".flame select").select_option(label="sink.kafka")
    page.locator(".flame input").fill("thread.run")
    assert page.locator("[data-told]").inner_text().startswith("30.0 %")


def test_a_click_zooms_and_escape_goes_back(page: Page) -> None:
    canvas = page.locator(".flame canvas")
    canvas.scroll_into_view_if_needed()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": 30, "y": 5})
    assert canvas.evaluate("canvas => canvas.toDataURL()") != before
    canvas.press("Escape")
    page.mouse.move(0, 0)
    assert canvas.evaluate("canvas => canvas.toDataURL()") == before
