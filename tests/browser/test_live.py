"""The live page in a real browser, from before the run to its report."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from streamgauge.results.folder import RunFolder
from tests.live_runs import finish, make_run, make_spec, trial, write
from tests.live_server import Watching, watching

pytestmark = [pytest.mark.integration, pytest.mark.browser]

SPEC = make_spec()
PATIENCE_MS = 20_000
REPORT = "<!doctype html><title>report</title><h1>The report</h1>"


class View:
    """A page with what went wrong in it."""

    def __init__(self, page: Page) -> None:
        page.set_default_timeout(PATIENCE_MS)
        self.page = page
        self.errors: list[str] = []
        self.asked: set[str] = set()
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._saw)

    def _heard(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.errors.append(text)

    def _saw(self, request: Request) -> None:
        self.asked.add(re.sub(r"^(\w+://[^/]*).*", r"\1", request.url))

    def samples(self, count: int) -> None:
        """Wait until the page has taken in that many samples, and no more."""
        charts = self.page.locator("#charts")
        expect(charts).to_have_attribute("data-samples", str(count), timeout=PATIENCE_MS)


@pytest.fixture
def view(browser: Browser) -> Iterator[View]:
    with browser.new_page() as page:
        yield View(page)


def address(server: Watching) -> str:
    return f"http://127.0.0.1:{server.port}"


def begin(folder: RunFolder, lines: int = 20) -> None:
    write(folder, *list(trial(SPEC))[:lines])


def test_from_before_the_run_to_its_report(tmp_path: Path, view: View) -> None:
    runs, page = tmp_path / "runs", view.page
    with watching(runs) as server:
        page.goto(address(server))
        expect(page.locator("#status")).to_have_text("waiting", timeout=PATIENCE_MS)
        folder = make_run(runs)
        expect(page.locator("#notice")).to_have_text("Services are starting.")
        lines = [*trial(SPEC), *trial(SPEC, number=2)]
        begun = len(lines) // 2 + 12
        write(folder, *lines[:begun])
        expect(page.locator("#trial")).to_have_text("Trial 2 of 2: q3 at 10k/s")
        expect(page.locator("#phases [aria-current]")).to_have_text("measure")
        expect(page.locator("#why")).to_contain_text("why: the next query at this rate")
        expect(page.locator("#strip li.good")).to_contain_text("✓✓✓ q1 at 10k/s")
        assert page.locator("#charts path[d^=M]").count() >= 4
        page.reload()
        view.samples(8)
        write(folder, *lines[begun:])
        view.samples(25)
        expect(page.locator("#strip li.good")).to_have_count(2)
        finish(folder)
        expect(page.locator("#status")).to_have_text("done")
        expect(page.locator("#notice")).to_contain_text("report is being written")
        finish(folder, report=REPORT)
        page.wait_for_url("**/report.html")
        expect(page.locator("h1")).to_have_text("The report")
        assert view.errors == []
        assert view.asked <= {address(server), "data:"}


def test_a_run_that_is_over_is_shown_with_a_way_to_its_report(tmp_path: Path, view: View) -> None:
    folder = make_run(tmp_path)
    write(folder, *trial(SPEC))
    finish(folder, "invalid", REPORT)
    with watching(tmp_path, "@0") as server:
        view.page.goto(address(server))
        expect(view.page.locator("#status")).to_have_text("invalid")
        view.samples(25)
        view.page.get_by_role("link", name="Open the report").click()
        expect(view.page.locator("h1")).to_have_text("The report")
        assert view.errors == []


def test_a_lost_connection_goes_on_without_loss_or_repetition(tmp_path: Path, view: View) -> None:
    folder, page = make_run(tmp_path), view.page
    begin(folder)
    with watching(tmp_path) as server:
        page.goto(address(server))
        view.samples(16)
        port = str(server.port)
    expect(page.locator("#notice")).to_contain_text("connection is lost", timeout=PATIENCE_MS)
    write(folder, *list(trial(SPEC))[20:24])
    with watching(tmp_path, "--port", port):
        view.samples(20)
        times = page.evaluate("seen.samples.map((sample) => sample.at)")
        assert times == sorted(set(times))
        expect(page.locator("#notice")).to_be_hidden()


def test_the_charts_share_a_cursor_by_mouse_and_by_keys(tmp_path: Path, view: View) -> None:
    folder, page = make_run(tmp_path), view.page
    begin(folder)
    with watching(tmp_path) as server:
        page.goto(address(server))
        view.samples(16)
        charts = page.locator("figure > svg")
        charts.first.hover(position={"x": 60, "y": 40})
        marked = "[...document.querySelectorAll('figure > svg')].map((svg) => svg.dataset.cursor)"
        by_mouse = page.evaluate(marked)
        assert len(set(by_mouse)) == 1
        assert by_mouse[0] is not None
        charts.last.focus()
        page.keyboard.press("ArrowRight")
        by_keys = page.evaluate(marked)
        assert len(set(by_keys)) == 1
        assert float(by_keys[0]) > float(by_mouse[0])
        page.keyboard.press("Escape")
        assert page.evaluate(marked) == [None] * 4


def test_a_slow_first_output_does_not_flatten_the_rest(tmp_path: Path, view: View) -> None:
    folder, page = make_run(tmp_path), view.page
    lines = list(trial(SPEC))[:20]
    samples = [line for line in lines if "newest_latency" in line]
    for sample, latency_s in zip(samples, [8.0, *[0.005] * len(samples)], strict=False):
        sample["newest_latency"] = latency_s
        del sample["finished"]
    write(folder, *lines)
    with watching(tmp_path) as server:
        page.goto(address(server))
        view.samples(16)
        rate, lag, latency, _ = (
            page.locator("figure > svg").nth(place).locator("text").all_text_contents()
            for place in range(4)
        )
        assert {"≤ 1 ms", "10 ms", "10 s"} <= set(latency)
        assert "12k/s" in rate  # room above a line at 10k/s
        assert lag == []  # nothing was reported: no axis for it
        assert view.errors == []


def test_roles_of_any_name_have_a_line_beside_the_known(tmp_path: Path, view: View) -> None:
    folder, page = make_run(tmp_path), view.page
    lines = list(trial(SPEC))[:20]
    write(
        folder, *({**each, "cpu.cache": 0.25} if "cpu.engine" in each else each for each in lines)
    )
    with watching(tmp_path) as server:
        page.goto(address(server))
        view.samples(16)
        keys = page.locator("figure").last.locator(".keys > span").all_text_contents()
        names = ["engine", "broker", "database", "sender", "harness", "cache"]
        assert [key.split()[0] for key in keys] == names
        assert keys[-1] == "cache 0.25"
        colours = (
            page.locator("figure")
            .last.locator(".keys path")
            .evaluate_all("all => all.map((each) => getComputedStyle(each).stroke)")
        )
        assert len(set(colours)) == len(names)
        assert view.errors == []


def test_names_are_shown_and_never_run(tmp_path: Path, view: View) -> None:
    folder = make_run(tmp_path, tags={"<img src=x onerror=alert(1)>": "<script>alert(2)</script>"})
    begin(folder)
    view.page.on("dialog", lambda dialog: view.errors.append(dialog.message))
    with watching(tmp_path) as server:
        view.page.goto(address(server))
        expect(view.page.locator("#about")).to_contain_text("<script>alert(2)</script>")
        assert view.page.locator("#about *").count() == 0
        assert view.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_phones_and_screens_in_light_and_dark(
    tmp_path: Path, view: View, width: int, scheme: str
) -> None:
    folder, page = make_run(tmp_path), view.page
    begin(folder)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    with watching(tmp_path) as server:
        page.goto(address(server))
        view.samples(16)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        assert view.errors == []
