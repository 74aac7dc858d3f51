"""Profiles of a run in the terminal, on the page, as files and in comparisons."""

import csv
import json
import re
from pathlib import Path

import pytest

from streamgauge.cli.main import execute
from streamgauge.comparison.runs import compare_runs
from streamgauge.profiling.overhead import Overhead
from streamgauge.profiling.profile import read_profile, write_profile
from streamgauge.report.page.report import report_page
from streamgauge.results.folder import RunFolder
from tests.unit.profiling.samples import profile, sample
from tests.unit.runs import make_trial, write_run

PARSE = "jvm;a;java.lang.Thread.run;x.TaskRunner.run;org.JacksonParser.parse"
WRITE = "jvm;a;java.lang.Thread.run;x.TaskRunner.run;kafka.clients.producer.KafkaProducer.send"
STRANGE = "jvm;a;native_thing;<b>odd</b>"


def profiled_run(
    runs: Path, *, trials: int = 1, parse_s: float = 6.0, by: str = "perf"
) -> RunFolder:
    """A run whose trials each read 1,000 records a second for 10 s."""
    metrics = {"rate.appended": 1000.0, "latency.p50": 0.1}
    results = [
        make_trial(
            number,
            {**metrics, "cost.deserialize": parse_s * (1 + number / 100) / 1e4},
            profile="auto",
            profiled_by=[by],
        )
        for number in range(1, trials + 1)
    ]
    folder = write_run(runs, results, repeats=trials, profile="auto")
    for result in results:
        place = folder.trial_folder(result.spec.number) / "profile"
        place.mkdir()
        made = profile(
            sample(PARSE, 60), sample(WRITE, 30), sample(STRANGE, 10), a=10.0, **{"GC Thread": 1.0}
        )
        write_profile(made.record, made.stacks, place)
    return folder


def run(*words: str) -> int:
    return execute([*words])


def test_show_tells_what_each_task_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profiled_run(tmp_path)
    assert run("show", "@0", "--runs-dir", str(tmp_path)) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"deserialize\s+\|\s+600 µs \|\s+50\d µs – 6\d\d µs \| 54\.5% \|\s+60 \| █+", shown
    )
    assert re.search(r"sink\.kafka\s+\|\s+300 µs", shown)
    assert re.search(r"jvm\.gc\s+\|\s+100 µs", shown)
    assert "unmatched, 10 samples: <b>odd</b> (10)" in shown
    assert "cost of profiling: not measured here" in shown
    assert "perf at 99 Hz, 100 samples over 10 s" in shown


def test_cycles_have_a_column_where_the_processor_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = profiled_run(tmp_path)
    where = ("@0", "--runs-dir", str(tmp_path))
    assert run("tasks", *where) == 0
    assert "by CPU share" not in capsys.readouterr().out
    place = folder.trial_folder(1) / "profile"
    found = read_profile(place)
    assert found is not None
    known = Overhead(backends=["perf"], what="q3", pairs=12)
    more = {"counters": {"cycles": 22e9}, "overhead": known}
    write_profile(found.record.model_copy(update=more), found.stacks, place)
    assert run("tasks", *where) == 0
    shown = capsys.readouterr().out
    assert "cycles per record by CPU share" in shown
    assert re.search(r"deserialize\s+\|\s+600 µs \|.*\|\s+60 \|\s+1\.2M \|", shown)
    assert "cycles per record by CPU share" in report_page([folder])
    assert run("tasks", *where, "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["profiles"]
    cycles = {each["task"]: each["cycles_by_cpu_share"] for each in told["costs"]}
    assert cycles["deserialize"] == pytest.approx(12e9)
    assert told["overhead"]["pairs"] == 12
    assert told["hz"] == {"perf": 99.0}


def test_another_task_file_is_applied_to_the_same_stacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profiled_run(tmp_path)
    mine = tmp_path / "mine.yaml"
    mine.write_text("frames:\n  all of it: 'TaskRunner'\n  never: 'nowhere'\n")
    assert run("tasks", "@0", "--tasks", str(mine), "--json", "--runs-dir", str(tmp_path)) == 0
    (told,) = json.loads(capsys.readouterr().out)["profiles"]
    costs = {each["task"]: each["cpu_s"] for each in told["costs"]}
    assert costs["all of it"] == pytest.approx(9.0)
    assert told["unused"] == ["never: nowhere"]
    assert told["events"] == 10_000
    assert told["backends"] == ["perf"]


def test_a_bad_task_file_is_told_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profiled_run(tmp_path)
    mine = tmp_path / "mine.yaml"
    mine.write_text("frames:\n  a: '('\n")
    assert run("tasks", "@0", "--tasks", str(mine), "--runs-dir", str(tmp_path)) == 2
    assert f"error: {mine} line 2: '(' of a is not a regular expression" in capsys.readouterr().err


def test_a_run_without_a_profile_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, [make_trial()])
    assert run("tasks", "@0", "--runs-dir", str(tmp_path)) == 2
    assert "has no profile\n  Run it with --profile auto." in capsys.readouterr().err


def test_files_for_other_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = profiled_run(tmp_path, trials=2)
    where = ("--runs-dir", str(tmp_path))
    assert run("tasks", "@0", "--format", "folded", *where) == 2
    assert "has 2 profiles\n  Choose one with --trial N." in capsys.readouterr().err
    assert run("tasks", "@0", "--trial", "2", "--format", "folded", *where) == 0
    assert f"{PARSE} 60" in capsys.readouterr().out.splitlines()
    place = str(folder.trial_folder(1) / "profile")
    for format in ("csv", "speedscope", "html"):
        file = tmp_path / f"out.{format}"
        assert run("tasks", place, "--format", format, "-o", str(file)) == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert sum(float(row["cpu_s"]) for row in rows) == pytest.approx(11.0)
    assert json.loads((tmp_path / "out.speedscope").read_text())["name"] == "profile"
    assert "data-flame" in (tmp_path / "out.html").read_text()


def test_the_page_has_a_flame_graph_and_names_in_it_are_no_markup(tmp_path: Path) -> None:
    page = report_page([profiled_run(tmp_path)])
    assert "CPU time by task" in page
    assert "<b>odd" not in page
    block = re.search(r'id="run-0-flame-0">(.*?)</script>', page)
    assert block is not None
    drawn = json.loads(block[1])
    assert drawn["names"][drawn["name"][0]] == "jvm"
    assert sum(drawn["parts"][0][1::2]) == pytest.approx(1e6, abs=5)
    leaf = drawn["names"].index("<b>odd</b>")
    (box,) = (place for place, name in enumerate(drawn["name"]) if name == leaf)
    assert drawn["parts"][box] == [drawn["tasks"].index("unmatched"), 100_000]
    assert len(page) - len(report_page([write_run(tmp_path / "plain", [make_trial()])])) < 1e6


def test_compare_says_which_task_became_cheaper(tmp_path: Path) -> None:
    base, other = (
        profiled_run(tmp_path / name, trials=4, parse_s=cost)
        for name, cost in (("base", 6.0), ("other", 4.0))
    )
    (comparison,) = compare_runs(base, other)
    (pair,) = comparison.pairs
    found = {each.metric: each for each in pair.metrics}["cost.deserialize"]
    assert (found.word, found.improves) == ("cheaper", True)
    (back,) = compare_runs(other, base)
    found = {each.metric: each for each in back.pairs[0].metrics}["cost.deserialize"]
    assert (found.word, found.improves) == ("dearer", False)


def test_tasks_of_two_back_ends_are_never_compared(tmp_path: Path) -> None:
    base, other = (profiled_run(tmp_path / by, trials=4, by=by) for by in ("perf", "jfr"))
    (comparison,) = compare_runs(base, other)
    (pair,) = comparison.pairs
    found = {each.metric: each for each in pair.metrics}
    assert found["cost.deserialize"].word == "not comparable"
    assert "profiled by: perf → jfr" in pair.differences
    assert found["latency.p50"].word != "not comparable"
