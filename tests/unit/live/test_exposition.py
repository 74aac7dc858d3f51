import json
import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from streamgauge.live import exposition
from streamgauge.live.follow import Follower
from streamgauge.results.folder import RunFolder
from tests.live_runs import finish, make_run, make_spec, trial, write

SPEC = make_spec()


def exposed(folder: RunFolder) -> str:
    follower = Follower(folder)
    follower.refresh()
    return exposition.write(follower)


def values(text: str) -> dict[str, float]:
    """Read samples as Prometheus does, by a parser that refuses what is not of the format."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "runs")


def test_without_a_run_there_is_nothing_but_the_end() -> None:
    assert exposition.write(None) == "# EOF\n"


def test_figures_of_the_trial_under_way(folder: RunFolder) -> None:
    write(folder, *trial(SPEC), *list(trial(SPEC, number=2))[:12])
    found = values(exposed(folder))
    assert found["streamgauge_rate_sent_per_second{}"] == 10_000
    assert found["streamgauge_rate_finished_per_second{}"] == 10_000
    assert found["streamgauge_lag_records{}"] == 301
    assert found['streamgauge_cpu_cores{role="broker"}'] == 0.2
    assert found['streamgauge_memory_bytes{role="engine"}'] == 7.2e8
    assert found["streamgauge_newest_latency_seconds{}"] == pytest.approx(0.22)
    assert found['streamgauge_phase{streamgauge_phase="measure"}'] == 1
    assert found['streamgauge_phase{streamgauge_phase="drain"}'] == 0
    assert found['streamgauge_trials_ended{holds="true",verdict="correct"}'] == 1
    assert found['streamgauge_trial_info{query="q3",trial="2"}'] == 1


def test_any_role_is_a_label(folder: RunFolder) -> None:
    lines = list(trial(SPEC))[:12]
    write(folder, *lines[:-1], {**lines[-1], "cpu.cache": 0.25, "memory.engine.driver": 4096.0})
    found = values(exposed(folder))
    assert found['streamgauge_cpu_cores{role="cache"}'] == 0.25
    assert found['streamgauge_memory_bytes{role="engine.driver"}'] == 4096


def test_the_finished_rate_stands_until_the_engine_should_have_reported(folder: RunFolder) -> None:
    name = "streamgauge_rate_finished_per_second{}"
    lines = list(trial(SPEC))
    *before, last = lines[:12]
    write(folder, *before, last)
    for late_s in range(1, 6):
        write(folder, {**last, "at": last["at"] + late_s})
        assert values(exposed(folder))[name] == 10_000
    write(folder, {**last, "at": last["at"] + 6})
    assert name not in values(exposed(folder))


def test_between_trials_there_are_no_figures(folder: RunFolder) -> None:
    write(folder, *trial(SPEC))
    finish(folder)
    text = exposed(folder)
    assert "streamgauge_rate" not in text
    assert 'status="done"' in text


def test_a_unit_ends_its_name(folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:12])
    units = re.findall(r"^# UNIT (\S+) (\S+)$", exposed(folder), re.MULTILINE)
    assert {unit for _, unit in units} == {"seconds", "bytes", "cores", "records"}
    assert all(name.endswith(f"_{unit}") for name, unit in units)


def test_help_is_the_declared_meaning(folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:12])
    text = exposed(folder)
    assert "# HELP streamgauge_cpu_cores CPU time of the role per second, newest sample.\n" in text
    assert "# HELP streamgauge_lag_records The newest sample of the distance from the log" in text
    assert "<" not in text


def test_names_are_escaped(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs")
    record = folder.record()
    odd = 'a"b\\c\nd'
    spec = record.spec.model_copy(update={"engine": odd})
    folder.write(record.model_copy(update={"spec": spec}))
    run, *_ = text_string_to_metric_families(exposed(folder))
    assert run.samples[0].labels["engine"] == odd


def test_dashboard_and_docs_name_what_is_exposed(folder: RunFolder) -> None:
    write(folder, *trial(SPEC), *list(trial(SPEC, number=2))[:12])
    exposed_names = {name.partition("{")[0] for name in values(exposed(folder))}
    docs = Path(__file__).parents[3] / "docs"
    dashboard = json.loads((docs / "grafana" / "streamgauge.json").read_text())
    asked = " ".join(each["expr"] for panel in dashboard["panels"] for each in panel["targets"])
    metrics = set(re.findall(r"streamgauge_\w+", re.sub(r"\{.*?\}", "", asked)))
    assert metrics
    assert metrics <= exposed_names
    page = (docs / "live.md").read_text().replace("`…_", "`streamgauge_rate_")
    assert [name for name in exposed_names if name.removesuffix("_per_second") not in page] == []
