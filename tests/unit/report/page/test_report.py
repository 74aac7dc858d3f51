import base64
import hashlib
import json
import re
import shutil
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.measure.matching import EXAMPLES
from streamgauge.report.page.report import report_page, write_page, write_report
from streamgauge.report.page.run_view import MOST_CHARTED
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import Verdict
from tests.unit.conftest import TrialMaker
from tests.unit.report.conftest import RunMaker

EVIL = "</script><script>alert(1)</script>"


def page_of(*folders: RunFolder) -> str:
    return report_page(folders)


def block(page: str, name: str) -> dict[str, object]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    assert found is not None
    loaded = json.loads(found[1])
    assert isinstance(loaded, dict)
    return loaded


def text_of(page: str) -> str:
    """What a reader sees: without scripts, data and styles."""
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)


def test_the_page_has_its_parts_in_order_and_warns_before_any_chart(make: RunMaker) -> None:
    folder = make()
    record = folder.record()
    folder.write(record.model_copy(update={"warnings": ["beware of this"]}))
    text = text_of(page_of(folder))
    parts = [
        "The trial is valid, gave the right answers and kept up.",
        "beware of this",
        "Set-up",
        "streamgauge run espbench",
        "Rates and lag",
        "Latency over time",
        "Latency distribution",
        "Resources",
        "Correctness",
        "What the metrics mean",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.index("beware of this") < text.index("<figure")


def test_every_chart_has_its_data(make: RunMaker) -> None:
    data = block(page_of(make()), "run-0-trial-1")
    assert isinstance(data["charts"], dict)
    assert set(data["charts"]) == {
        "input", "output", "lag", "fit", "throughput", "latency", "singles", "event_latency",
        "processing_latency", "window_latency", "boundaries",
        "cpu", "load", "memory", "disk", "network", "batches", "gc",
    }  # fmt: skip
    assert set(data["charts"]["input"]) == {"t", "offered", "sent", "ingested"}


def test_the_page_can_load_nothing_and_run_only_its_own_scripts(make: RunMaker) -> None:
    page = page_of(make())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = unescape(policy[1])
    assert allowed.startswith("default-src 'none';")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert re.findall(r"'sha256-([^']*)'", allowed) == digests
    assert len(scripts) == 2
    assert not re.search(r"<(link|img|iframe)|src=|@import|url\(", text_of(page))


def test_names_are_text(make: RunMaker) -> None:
    folder = make(spec={"tags": {"branch": EVIL}, "queries": (EVIL,)})
    result = folder.trials()[0]
    wrong = Verdict(holds=False, reason=EVIL)
    folder.write_trial(result.model_copy(update={"correct": wrong, "settings": {EVIL: EVIL}}))
    examples = pa.table(
        {
            "kind": ["wrong"],
            "key": [EVIL],
            "expected": [EVIL.encode()],
            "got": [b"\xff\x00"],
            "at": [1],
        },
        schema=EXAMPLES,
    )
    validation = folder.trial_folder(1) / "validation"
    pq.write_table(examples, validation / "examples.parquet")
    page = page_of(folder)
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "�" in page


def test_a_parameter_of_the_workload_is_text(make: RunMaker) -> None:
    asked = {"parameters": {"sensors": EVIL}, "origins": {"parameters": "option"}}
    page = page_of(make(spec=asked))
    assert "alert(1)</script>" not in page
    assert "sensors=&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in text_of(page)


def test_wrong_answers_are_shown_beside_the_right_ones(make: RunMaker) -> None:
    folder = make()
    rows = [
        {"kind": kind, "key": f"{kind}-{n}", "expected": b"12;ok", "got": None, "at": n}
        for kind in ("missing", "wrong")
        for n in range(20)
    ]
    file = folder.trial_folder(1) / "validation" / "examples.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=EXAMPLES), file)
    text = text_of(page_of(folder))
    assert "<td>missing</td><td>missing-0</td><td><code>12;ok</code></td>" in text
    assert "missing-4" in text
    assert "missing-5" not in text


def test_repeats_are_drawn_thin_and_pooled_bold(make: RunMaker) -> None:
    page = page_of(make(trials=4, repeats=2, outputs=1000))
    found = re.search(r'id="run-0-distribution">(.*?)</script>', page)
    assert found is not None
    lines = json.loads(found[1])
    assert [(line["name"], line["bold"]) for line in lines] == [
        ("q1 at 1k/s", False), ("q1 at 1k/s", False), ("q1 at 1k/s", True),
        ("q3 at 1k/s", False), ("q3 at 1k/s", False), ("q3 at 1k/s", True),
    ]  # fmt: skip
    assert lines[2]["t"][-1] > lines[1]["t"][-1]


def test_what_was_varied_has_a_column_and_is_in_the_trial_s_name(make: RunMaker) -> None:
    folder = make(trials=2)
    for result, trigger in zip(folder.trials(), ("0s", "1s"), strict=True):
        factors = {"E.trigger": trigger, "partitions": "1"}
        spec = result.spec.model_copy(update={"factors": factors})
        folder.write_trial(result.model_copy(update={"spec": spec}))
    text = text_of(page_of(folder))
    assert "E.trigger" in text
    assert "E.trigger=1s, partitions=1" in text


def test_several_runs_are_on_one_page(make: RunMaker) -> None:
    first, second = make(), make(spec={"engine": "other"})
    text = text_of(page_of(first, second))
    assert first.name in text
    assert second.name in text
    assert 'id="run-1"' in text


@pytest.mark.slow
def test_of_many_trials_only_the_first_have_charts(
    tmp_path: Path, make: RunMaker, make_trial: TrialMaker
) -> None:
    folder = make(trials=MOST_CHARTED + 1, outputs=200)
    for number in range(MOST_CHARTED + 2, 301):
        folder.trial_folder(number).mkdir()
        result = make_trial(number)
        spec = result.spec.model_copy(update={"number": number})
        folder.write_trial(result.model_copy(update={"spec": spec}))
    page = page_of(folder)
    assert (
        f"The first {MOST_CHARTED} trials have charts; {300 - MOST_CHARTED} more have none." in page
    )
    assert page.count('type="radio"') == MOST_CHARTED
    assert text_of(page).count('<td class="number" data-value="300">300</td>') == 1
    assert len(page) < 4_000_000


def test_a_run_without_trials_says_so(make: RunMaker) -> None:
    folder = make(trials=0)
    text = text_of(page_of(folder))
    assert "No trial has finished" in text
    assert "<figure" not in text


def test_of_an_interrupted_run_the_finished_trials_are_shown(make: RunMaker) -> None:
    folder = make(trials=2)
    (folder.trial_folder(2) / "trial.json").unlink()
    folder.write(folder.record().model_copy(update={"status": "interrupted"}))
    text = text_of(page_of(folder))
    assert "Unfinished and left out: trial 002." in text
    assert "The finished trial is valid" in text


@pytest.mark.parametrize("name", ["latency.parquet", "timeline.parquet", "sender.parquet"])
def test_a_file_that_is_cut_off_is_told_and_the_rest_is_shown(make: RunMaker, name: str) -> None:
    folder = make()
    file = folder.trial_folder(1) / name
    file.write_bytes(file.read_bytes()[:100])
    page = page_of(folder)
    assert f"{name} of trial 1 cannot be read" in text_of(page)
    charts = block(page, "run-0-trial-1")["charts"]
    assert isinstance(charts, dict)
    assert "batches" in charts


def test_a_trial_that_left_nothing_but_its_result_is_shown_without_charts(make: RunMaker) -> None:
    folder = make()
    place = folder.trial_folder(1)
    for file in [*place.glob("*.parquet"), place / "progress.jsonl"]:
        file.unlink()
    shutil.rmtree(place / "validation")
    assert block(page_of(folder), "run-0-trial-1")["charts"] == {}


def test_a_trial_that_broke_off_before_its_load_has_no_charts(make: RunMaker) -> None:
    folder = make()
    broken = folder.trials()[0].model_copy(
        update={"measured_ms": None, "status": "failed", "cause": "the engine died: killed"}
    )
    folder.write_trial(broken)
    page = page_of(folder)
    assert "the engine died: killed" in text_of(page)
    assert block(page, "run-0-trial-1") == {"charts": {}, "said": {}}


def test_an_empty_timeline_is_no_timeline(make: RunMaker) -> None:
    folder = make()
    pq.write_table(pa.table({}), folder.trial_folder(1) / "timeline.parquet")
    charts = block(page_of(folder), "run-0-trial-1")["charts"]
    assert isinstance(charts, dict)
    assert "cpu" not in charts
    assert "behind" in charts


def test_what_was_done_on_purpose_is_marked(make: RunMaker) -> None:
    folder = make()
    begin_ms, _ = folder.trials()[0].measured_ms or (0, 0)
    events = [
        {"at": begin_ms / 1000 - 5000, "trial": 1, "act": "of an earlier try"},
        {"at": begin_ms / 1000 + 5, "trial": 1, "act": "workplace 1 gets a downtime"},
        {"at": begin_ms / 1000 + 5, "trial": 2, "act": "of another trial"},
    ]
    folder.live.write_text("\n".join(map(json.dumps, events)) + '\n{"at": 1, "act": "cut o')
    data = block(page_of(folder), "run-0-trial-1")
    assert isinstance(data["charts"], dict)
    assert isinstance(data["said"], dict)
    assert data["charts"]["acts"] == {"t": [5.0], "says": ["workplace 1 gets a downtime"]}
    assert "workplace 1 gets a downtime at 5 s" in data["said"]["singles"]


def test_a_newer_schema_is_refused(make: RunMaker) -> None:
    folder = make()
    file = folder.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": 999}))
    with pytest.raises(UsageError, match="newer version"):
        page_of(folder)


def test_an_unreadable_trial_is_refused_by_name(make: RunMaker) -> None:
    folder = make()
    (folder.trial_folder(1) / "trial.json").write_text('{"spec": ')
    with pytest.raises(UsageError, match="not a readable trial"):
        page_of(folder)


def test_the_report_lies_in_the_run_s_folder(make: RunMaker) -> None:
    folder = make()
    assert write_report(folder) == folder.path / "report.html"
    assert (folder.path / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_is_named(make: RunMaker, tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"cannot write .*page\.html"):
        write_page([make()], tmp_path / "nowhere" / "page.html")
