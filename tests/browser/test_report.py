import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.synthetic import START_MS, make_run
from playwright.sync_api import Locator, Page

from streamgauge.report.page.report import write_page, write_report
from tests.browser.conftest import Open

DRAWN = {
    "input", "output", "lag", "throughput",
    "latency", "singles", "event_latency", "processing_latency", "window_latency",
    "cpu", "load", "memory", "disk", "network", "batches", "gc",
}  # fmt: skip


def chart(page: Page, name: str) -> Locator:
    return page.locator(f'figure[data-chart="{name}"] .chart')


def readout(page: Page, name: str) -> str:
    return page.locator(f'figure[data-chart="{name}"] .legend').inner_text()


def labels_of_time(page: Page, name: str) -> set[str]:
    texts = chart(page, name).locator(".role-axis-label text").all_text_contents()
    return {text.replace("−", "-") for text in texts if text.endswith(" s")}


def settle(page: Page) -> None:
    """Wait until what was asked of the charts is drawn."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
        " setTimeout(done, 50))))"
    )


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_page(
    open_page: Open, report: Path, width: int, scheme: str
) -> None:
    page = open_page(report, width=width, scheme=scheme)
    shown = page.locator("figure[data-chart]:not([hidden])")
    names = set(shown.evaluate_all("figures => figures.map((each) => each.dataset.chart)"))
    assert names == DRAWN
    for name in DRAWN:
        marks = chart(page, name).locator(".role-mark path, .role-mark line")
        assert marks.count() > 0, name
        box = chart(page, name).locator("svg").bounding_box()
        assert box is not None
        assert 200 < box["width"] <= width
    assert page.locator("figure.distribution svg .mark-line path").count() == 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1400, 390])
def test_every_chart_is_drawn_at_the_size_that_it_has_in_the_page(
    open_page: Open, report: Path, width: int
) -> None:
    """As it was loaded: a change of the window's size would draw all of them anew."""
    page = open_page(report, width=width)
    scales = page.locator("figure:not([hidden]) .chart svg").evaluate_all(
        "all => all.map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    assert len(scales) > len(DRAWN)
    assert min(scales) > 0.98


def test_the_cursor_is_in_all_charts_over_time(open_page: Open, report: Path) -> None:
    page = open_page(report)
    chart(page, "latency").hover(position={"x": 500, "y": 100})
    settle(page)
    assert page.locator("output.cursor").inner_text().startswith("at ")
    places = page.locator("figure[data-chart]:not([hidden]) .chart").evaluate_all(
        "all => all.map((each) => each.querySelector('.mark-rule:last-of-type line')"
        ".getAttribute('transform'))"
    )
    assert len(places) == len(DRAWN)
    assert not any("(-9" in place for place in places)
    assert "ms" in readout(page, "latency")
    assert "/s" in readout(page, "input")
    assert "GiB" in readout(page, "memory") or "MiB" in readout(page, "memory")


def test_zooming_one_chart_zooms_all_and_a_double_click_shows_all_again(
    open_page: Open, report: Path
) -> None:
    page = open_page(report)
    whole = labels_of_time(page, "cpu")
    assert "0 s" in whole
    chart(page, "latency").scroll_into_view_if_needed()
    box = chart(page, "latency").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 600, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 800, box["y"] + 80, steps=4)
    page.mouse.up()
    settle(page)
    assert labels_of_time(page, "cpu") != whole
    assert "-5 s" not in labels_of_time(page, "input")
    chart(page, "input").dblclick()
    settle(page)
    assert labels_of_time(page, "cpu") == whole


def test_charts_obey_the_keyboard(open_page: Open, report: Path) -> None:
    page = open_page(report)
    whole = labels_of_time(page, "cpu")
    chart(page, "latency").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator("output.cursor").inner_text() == "at -4 s"
    page.keyboard.press("+")
    settle(page)
    assert labels_of_time(page, "cpu") != whole
    page.keyboard.press("0")
    settle(page)
    assert labels_of_time(page, "cpu") == whole


def test_an_axis_is_labelled_however_close_the_latencies_are(
    open_page: Open, tmp_path: Path
) -> None:
    folder = make_run(tmp_path, outputs=500)
    file = folder.trial_folder(1) / "latency.parquet"
    table = pq.read_table(file)
    took_ms = 410 + np.arange(len(table)) % 100
    emitted = pa.array(table["appended"].to_numpy() + took_ms)
    place = table.column_names.index("emitted")
    pq.write_table(table.set_column(place, table.schema.field(place), emitted), file)
    page = open_page(write_report(folder))
    for figure in ('figure[data-chart="latency"]', "figure.distribution"):
        texts = page.locator(f"{figure} .role-axis-label text").all_text_contents()
        assert len([text for text in texts if text.endswith(" ms")]) >= 4


def test_what_was_sampled_before_the_trial_does_not_make_an_axis_high(
    open_page: Open, tmp_path: Path
) -> None:
    folder = make_run(tmp_path, outputs=100)
    file = folder.trial_folder(1) / "timeline.parquet"
    table = pq.read_table(file)
    early = table.slice(0, 1).to_pylist()[0]
    early |= {"at": early["at"] - 20, "memory.engine": 64.0 * 2**30}
    pq.write_table(pa.concat_tables([pa.Table.from_pylist([early], table.schema), table]), file)
    page = open_page(write_report(folder))
    texts = chart(page, "memory").locator(".role-axis-label text").all_text_contents()
    assert max(float(text.split()[0]) for text in texts if "GiB" in text) <= 2


def test_batches_that_are_too_close_are_marked_when_zoomed_in(
    open_page: Open, tmp_path: Path
) -> None:
    folder = make_run(tmp_path, outputs=100)
    file = folder.trial_folder(1) / "progress.jsonl"
    batches = [
        {"began_ms": START_MS + 100 * at, "took_ms": 50, "phases": {"addBatch": 50}}
        for at in range(200)
    ]
    lines = [json.dumps({"batch": batch}) for batch in batches]
    file.write_text("\n".join(lines), encoding="utf-8")
    page = open_page(write_report(folder))
    rules = chart(page, "latency").locator(".mark-rule line")
    before = rules.count()
    assert "start of a batch (zoom in)" in readout(page, "latency")
    chart(page, "latency").focus()
    page.keyboard.press("+")
    settle(page)
    assert rules.count() > before + 50


def test_a_line_ends_where_nothing_is_known(open_page: Open, tmp_path: Path) -> None:
    folder = make_run(tmp_path, outputs=2000)
    file = folder.trial_folder(1) / "latency.parquet"
    table = pq.read_table(file)
    at_s = (table["intended"].to_numpy() - START_MS) / 1000
    known = (at_s < 10) | ((at_s > 14) & (at_s < 15)) | (at_s > 20)
    pq.write_table(table.filter(pa.array(known)), file)
    page = open_page(write_report(folder))
    drawn = chart(page, "latency").locator(".mark-line path").first.get_attribute("d")
    assert drawn is not None
    assert drawn.count("M") == 3


def test_no_line_hides_another_that_is_the_same(open_page: Open, report: Path) -> None:
    page = open_page(report)
    lines = chart(page, "latency").locator(".mark-line path")
    widths = lines.evaluate_all(
        "all => all.map((each) => Number(each.getAttribute('stroke-width')))"
    )
    assert len(widths) == 4
    assert widths == sorted(set(widths), reverse=True)
    dashes = (
        chart(page, "input")
        .locator(".mark-line path")
        .evaluate_all("all => all.map((each) => each.getAttribute('stroke-dasharray') ?? '')")
    )
    assert [bool(dash) for dash in dashes] == [False, True, True]


def test_what_is_shaded_is_named(open_page: Open, report: Path) -> None:
    page = open_page(report)
    assert "not measured" in readout(page, "latency")


def test_another_trial_can_be_chosen_by_its_row(open_page: Open, report: Path) -> None:
    page = open_page(report)
    before = chart(page, "singles").locator("svg").inner_html()
    page.locator("table.trials a").nth(2).click()
    page.wait_for_selector('.charts[data-drawn="3"]')
    assert page.locator(".picker input:checked").get_attribute("value") == "3"
    assert chart(page, "singles").locator("svg").inner_html() != before


def test_of_trials_chosen_in_haste_the_last_is_shown(open_page: Open, report: Path) -> None:
    page = open_page(report)
    for number in (2, 3, 4):
        page.locator(f".picker input[value='{number}']").check(force=True)
    page.wait_for_selector('.charts[data-drawn="4"]')
    assert page.locator("figure[data-chart='cpu'] .chart svg").count() == 1


def test_a_trial_without_charts_says_so(open_page: Open, tmp_path: Path) -> None:
    folder = make_run(tmp_path, outputs=100, trials=2)
    broken = folder.trials()[0].model_copy(update={"measured_ms": None})
    folder.write_trial(broken)
    write_page([folder], tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    assert page.locator(".charts").get_attribute("data-drawn") == "2"
    page.locator(".picker input[value='1']").check(force=True)
    page.locator(".none").wait_for()
    page.wait_for_selector('.charts[data-drawn="1"]')
    assert page.locator("figure[data-chart]:not([hidden])").count() == 0
    headings = page.locator(".charts h2:visible").all_inner_texts()
    assert headings == ["Latency distribution"]


def test_dark_and_light_differ_and_paper_is_light(open_page: Open, report: Path) -> None:
    page = open_page(report, scheme="dark")

    def colours() -> list[str]:
        return [
            page.evaluate("getComputedStyle(document.body).backgroundColor"),
            chart(page, "cpu")
            .locator(".role-axis-label text")
            .first.evaluate("each => getComputedStyle(each).fill"),
        ]

    dark = colours()
    page.emulate_media(color_scheme="light")
    light = colours()
    assert all(one != other for one, other in zip(dark, light, strict=True))
    page.emulate_media(color_scheme="dark", media="print")
    assert colours() == light


def test_on_paper_the_metrics_are_unfolded(open_page: Open, report: Path) -> None:
    page = open_page(report)
    folded = page.locator("details.on-paper")
    for event, opened in (("beforeprint", True), ("afterprint", False)):
        page.evaluate(f"window.dispatchEvent(new Event('{event}'))")
        assert folded.evaluate("each => each.open") is opened


def test_tables_are_sorted_by_value_with_the_keyboard(open_page: Open, report: Path) -> None:
    page = open_page(report)
    table = page.locator("table.trials")
    header = table.locator("th", has_text="p99")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    cells = "rows => rows.map((row) => Number(row.cells[8].dataset.value))"
    values = table.locator("tbody tr").evaluate_all(cells)
    assert values == sorted(values)
    page.keyboard.press("Enter")
    assert table.locator("tbody tr").evaluate_all(cells) == sorted(values, reverse=True)


def test_the_command_is_copied(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("[data-copy]").click()
    page.locator("[data-copy]", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "streamgauge run espbench"


def test_names_from_outside_run_nothing(open_page: Open, tmp_path: Path) -> None:
    evil = (
        "</script><img src=x onerror=document.title='gone'><script>document.title='gone'</script>"
    )
    folder = make_run(tmp_path, outputs=100, spec={"tags": {"x": evil}, "queries": (evil,)})
    write_page([folder], tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    assert page.title() == folder.name
    assert evil in page.locator("header .aside").first.inner_text()
    assert evil in page.locator(".picker label").first.inner_text()


def test_runs_on_one_page_do_not_disturb_each_other(open_page: Open, tmp_path: Path) -> None:
    folders = [make_run(tmp_path, outputs=500, trials=2) for _ in range(2)]
    write_page(folders, tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    second = page.locator("#run-1")
    second.locator("input[value='2']").check(force=True)
    page.wait_for_selector('#run-1 .charts[data-drawn="2"]')
    assert page.locator("#run-0 .charts").get_attribute("data-drawn") == "1"
    second.locator('figure[data-chart="cpu"] .chart').hover()
    settle(page)
    assert second.locator("output.cursor").inner_text() != ""
    assert page.locator("#run-0 output.cursor").inner_text() == ""
