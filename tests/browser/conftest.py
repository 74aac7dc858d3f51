"""A real browser; without one these tests fail where CI is set and are skipped elsewhere."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.synthetic import make_run
from playwright.sync_api import Browser, Page, sync_playwright

from streamgauge.report.page.report import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = f"no browser ({', '.join(NAMES)}): install Debian's chromium"

Open = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if "CI" in os.environ:
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield running
        running.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a made-up run: two queries, each repeated, one of them with a downtime."""
    folder = make_run(tmp_path_factory.mktemp("runs"), trials=4, repeats=2, outputs=4000)
    return write_report(folder)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a page; whatever it complains of or asks for from elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_one(file: Path, *, width: int = 1440, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]  # light or dark
        )
        contexts.append(context)
        page = context.new_page()
        own = file.as_uri()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url == own or complaints.append(asked.url))
        page.goto(own)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []
