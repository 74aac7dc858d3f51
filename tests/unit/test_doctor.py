from pathlib import Path

import pytest

from streamgauge.doctor import examine, system


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (system.operating_system("Linux"), "ok"),
        (system.operating_system("Darwin"), "missing"),
        (system.python((3, 11, 0)), "ok"),
        (system.python((3, 10, 14)), "missing"),
        (system.cores(1), "missing"),
        (system.cores(2), "warn"),
        (system.cores(4), "ok"),
        (system.memory(system.GIB), "missing"),
        (system.memory(3 * system.GIB), "warn"),
        (system.memory(8 * system.GIB), "ok"),
        (system.disk(Path("/"), system.GIB // 2), "missing"),
        (system.disk(Path("/"), 2 * system.GIB), "warn"),
        (system.disk(Path("/"), 20 * system.GIB), "ok"),
        (system.realtime_priority(False), "warn"),
        (system.realtime_priority(True), "ok"),
        (system.steal(0.0), "ok"),
        (system.steal(0.2), "warn"),
        (system.steal(None), "warn"),
    ],
)
def test_each_finding_that_is_not_ok_has_a_remedy(finding, state):
    assert finding.state == state
    assert (finding.remedy is None) == (state == "ok")


@pytest.mark.parametrize(("source", "state"), [("tsc", "ok"), ("hpet", "warn"), (None, "warn")])
def test_clock_source(tmp_path, source, state):
    if source:
        folder = tmp_path / "devices/system/clocksource/clocksource0"
        folder.mkdir(parents=True)
        (folder / "current_clocksource").write_text(f"{source}\n")
    assert system.clock_source(tmp_path).state == state


@pytest.mark.parametrize(
    ("governors", "state"),
    [
        ([], "ok"),
        (["performance", "performance"], "ok"),
        (["performance", "powersave"], "warn"),
    ],
)
def test_cpu_governor(tmp_path, governors, state):
    for number, governor in enumerate(governors):
        folder = tmp_path / f"devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    assert system.cpu_governor(tmp_path).state == state


def test_steal_is_measured_over_a_sample(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu 100 0 100 800 0 0 0 0 0 0\ncpu0 1\n")

    def a_while(_seconds):
        stat.write_text("cpu 150 0 100 830 0 0 0 20 50 0\ncpu0 1\n")

    assert system.steal_share(stat, sleep=a_while) == pytest.approx(0.2)


def test_steal_without_proc_is_unknown(tmp_path):
    assert system.steal_share(tmp_path / "stat", sleep=lambda _s: None) is None


def test_this_machine_is_looked_at(tmp_path):
    findings = system.system_findings([tmp_path / "not" / "yet"])
    assert [finding.name for finding in findings][:3] == ["operating system", "python", "cores"]
    assert str(tmp_path) in next(each.value for each in findings if each.name == "disk")


def test_a_disk_is_looked_at_once(tmp_path):
    first, second = tmp_path / "runs", tmp_path / "data"
    first.mkdir()
    second.mkdir()
    (finding,) = system.disks([first, second])
    assert str(first) in finding.value


def test_trying_realtime_priority_leaves_this_process_as_it_was():
    import os

    before = os.sched_getscheduler(0)
    system.may_use_fifo()
    assert os.sched_getscheduler(0) == before


def test_a_folder_that_cannot_be_written_is_a_finding_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(file / "cache"))
    found = {each.name: each for each in examine(tmp_path, start=False, progress=print)}
    assert found["folder of cache"].state == "missing"
    assert found["folder of cache"].remedy
    assert "memory" in found


def test_a_folder_that_cannot_be_written_is_missing_even_for_root(tmp_path):
    (tmp_path / "file").write_text("")
    findings = examine(tmp_path / "file" / "runs", start=False, progress=print)
    (found,) = [each for each in findings if each.name == "folder of runs"]
    assert found.state == "missing"
