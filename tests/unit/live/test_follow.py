import os
from pathlib import Path

import pytest

from streamgauge.live import follow
from streamgauge.live.follow import Chosen, Follower
from streamgauge.results.folder import RunFolder
from tests.live_runs import BEGAN, finish, make_run, make_spec, sample, trial, write

SPEC = make_spec()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "runs")


def refreshed(folder: RunFolder) -> Follower:
    follower = Follower(folder)
    follower.refresh()
    return follower


def test_who_is_new_gets_all_of_the_trial(folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:-2])
    news = refreshed(folder).since(None)
    assert news.whole
    assert len(news.samples) == 25


def test_nothing_is_lost_or_repeated_wherever_a_viewer_was_cut_off(folder: RunFolder) -> None:
    lines = list(trial(SPEC))
    follower = Follower(folder)
    seen: list[float] = []
    position = None
    for line in lines:
        write(folder, line)
        follower.refresh()
        news = follower.since(position)
        seen = [*([] if news.whole else seen), *(each.at for each in news.samples)]
        position = follower.position
    assert seen == [line["at"] for line in lines if "cpu.engine" in line]


def test_a_viewer_of_an_earlier_trial_gets_the_present_one_whole(folder: RunFolder) -> None:
    write(folder, *trial(SPEC))
    follower = refreshed(folder)
    position = follower.position
    write(folder, *list(trial(SPEC, number=2))[:10])
    follower.refresh()
    news = follower.since(position)
    assert news.whole
    assert [each.number for each in news.ended] == [1]
    assert all(each.at > BEGAN + 100 for each in news.samples)


@pytest.mark.parametrize(
    "position", ["", ":", "x", "another:10", "{}:-1", "{}:9e9", "{}:99999999", "{}:" + "9" * 5000]
)
def test_a_position_that_makes_no_sense_is_that_of_a_new_viewer(
    folder: RunFolder, position: str
) -> None:
    write(folder, *list(trial(SPEC))[:10])
    follower = refreshed(folder)
    assert follower.since(position.replace("{}", folder.name)).whole


@pytest.mark.parametrize("cut", [1, 5, 30, 31, 40, 62])
def test_who_reads_late_knows_the_same_as_who_read_every_line(folder: RunFolder, cut: int) -> None:
    lines = [*trial(SPEC), *trial(SPEC, number=2)][:cut]
    every = Follower(folder)
    for line in lines:
        write(folder, line)
        every.refresh()
    late = refreshed(folder)
    assert (late.state, late.position) == (every.state, every.position)
    assert late.since(None) == every.since(None)


def test_a_line_without_its_end_waits(folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:8])
    follower = refreshed(folder)
    with folder.live.open("a") as file:
        file.write('{"trial": 1, "phase": "dr')
    follower.refresh()
    before = follower.state
    with folder.live.open("a") as file:
        file.write('ain", "at": 5.0}\n')
    follower.refresh()
    assert before.trial is not None
    assert before.trial.phase == "warm-up"
    assert follower.state.trial is not None
    assert follower.state.trial.phase == "drain"
    assert follower.offset == folder.live.stat().st_size


def test_lines_that_are_no_events_are_passed_over(folder: RunFolder) -> None:
    folder.live.write_bytes(b'\xff\xfe\n[]\nnull\n{"trial":\n\n')
    write(folder, *list(trial(SPEC))[:8])
    assert refreshed(folder).state.begun == 1


def test_a_file_that_was_written_anew_is_read_anew(folder: RunFolder) -> None:
    write(folder, *trial(SPEC))
    follower = refreshed(folder)
    folder.live.write_text("")
    write(folder, *list(trial(SPEC))[:6])
    follower.refresh()
    assert follower.state.ended == ()
    assert follower.state.begun == 1


def test_of_a_long_trial_the_last_samples_are_kept(folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:4])
    more = follow.KEPT + 10
    write(folder, *({"trial": 1, **sample(BEGAN + 99 + n, n, 1.0)} for n in range(more)))
    follower = refreshed(folder)
    news = follower.since(f"{folder.name}:0")
    assert news.whole
    assert len(news.samples) == follow.KEPT
    assert news.samples[-1].at == BEGAN + 98 + more


def test_a_run_that_is_gone_leaves_what_was_seen(folder: RunFolder) -> None:
    write(folder, *trial(SPEC))
    follower = refreshed(folder)
    (folder.path / "run.json").unlink()
    follower.refresh()
    assert len(follower.state.ended) == 1


def test_the_report_of_the_first_part_of_a_run_is_not_that_of_the_whole(folder: RunFolder) -> None:
    report = folder.path / "report.html"
    report.write_text("the first part")
    os.utime(report, (1e9, 1e9))
    resumed = refreshed(folder)
    finish(folder)
    resumed.refresh()
    assert resumed.report is None
    report.write_text("all of it")
    assert resumed.report == report


def test_a_run_that_is_over_has_the_report_that_is_there(folder: RunFolder) -> None:
    finish(folder, report="copied in whatever order")
    os.utime(folder.path / "report.html", (1e9, 1e9))
    assert refreshed(folder).report is not None


class Time:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def test_without_a_name_the_next_run_is_waited_for(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    chosen = Chosen(runs, now_s=Time())
    assert chosen.follower() is None
    old = make_run(runs)
    finish(old)
    assert chosen.follower() is None
    new = make_run(runs)
    os.utime(new.live, (2e9, 2e9))
    found = chosen.follower()
    assert found is not None
    assert found.folder.name == new.name


def test_a_run_that_is_over_stays_until_another_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    chosen = Chosen(runs, now_s=Time())
    first = make_run(runs)
    os.utime(first.live, (1e9, 1e9))
    assert chosen.follower() is not None
    finish(first)
    stays = chosen.follower()
    assert stays is not None
    assert (stays.folder.name, stays.running) == (first.name, False)
    second = make_run(runs)
    follower = chosen.follower()
    assert follower is not None
    assert follower.folder.name == second.name


def test_a_named_run_is_followed_whatever_else_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    named = make_run(runs)
    finish(named)
    make_run(runs)
    follower = Chosen(runs, named, now_s=Time()).follower()
    assert follower is not None
    assert follower.folder.name == named.name


def test_however_many_ask_the_files_are_looked_at_once(folder: RunFolder) -> None:
    chosen = Chosen(folder.path.parent, folder, now_s=lambda: 5.0)
    assert chosen.follower() is not None
    write(folder, *trial(SPEC))
    follower = chosen.follower()
    assert follower is not None
    assert follower.state.begun == 0
