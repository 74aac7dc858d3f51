"""What `--dry-run` shows of an experiment whose trials depend on those before."""

import json

import pytest

from streamgauge.cli.main import execute

SEARCH = ["run", "espbench/q3", "-e", "reference", "-x", "sustainable", "--dry-run"]


def test_a_search_is_outlined(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(SEARCH) == 0
    said = capsys.readouterr().out
    for word in ("guess", "bracket", "bisection to 5 %", "confirmation", "latency"):
        assert word in said
    assert "14 trial(s) if all goes well, 56 min 28 s of load" in said


def test_a_survey_is_stamped(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--survey", "--rate", "1k/s,2k/s"]) == 0
    said = capsys.readouterr().out
    assert "survey: a rough answer" in said
    assert "1k/s and 2k/s" in said
    assert "guess" not in said


def test_the_trials_are_counted_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trials"] == 14
    assert sum(stage["trials"] for stage in told["outline"]) == 14


def test_crossed_limits_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--rate", "2k/s,1k/s"]) == 2
    assert "leave nothing to search" in capsys.readouterr().err


def test_what_planning_changed_and_what_is_done_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["run", "espbench/q4,q5", "-e", "reference", "--rate", "50k/s", "--dry-run"]
    assert execute([*asked, "--quick", "--warmup", "1s"]) == 0
    said = capsys.readouterr().out
    assert "warm-up lengthened from 1 s to 5 s" in said
    act = "at 0 s: espbench.downtime (workplace=3, from_s=10.0, to_s=20.0) on postgres"
    assert act in said
    assert "W raised from 1 to 3" in said
    assert "at least 50 s of load" in said


def test_every_combination_is_shown_with_what_was_varied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["run", "espbench/q1", "-E", "mode=microbatch", "--dry-run"]
    vary = ["--vary", "rate=1k/s,10k/s", "--vary", "E.trigger=0s,1s"]
    assert execute([*asked, *vary]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [(line.split()[1], line.split()[-1]) for line in lines[:4]] == [
        ("1k/s", "E.trigger=0s"),
        ("1k/s", "E.trigger=1s"),
        ("10k/s", "E.trigger=0s"),
        ("10k/s", "E.trigger=1s"),
    ]
    assert execute([*asked, *vary, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["planned"]
    assert planned[3]["factors"] == {"rate": "10k/s", "E.trigger": "1s"}
    assert planned[3]["mode"] == "microbatch"


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        (["rate=1k/s,2k/s", "rate=3k/s"], "--vary rate is given twice"),
        (["rate"], "--vary rate: there is no value"),
        (["rates=1k/s,2k/s"], "Did you mean rate?"),
    ],
)
def test_factors_that_make_no_sense_end_with_2(
    vary: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for each in vary for word in ("--vary", each)]
    assert execute(["run", "espbench/q1", *options, "--dry-run"]) == 2
    assert said in capsys.readouterr().err


def test_more_trials_than_anybody_waits_for_end_at_once_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["run", "espbench/q1", "--repeats", "99999999", "--dry-run"]) == 2
    assert "these are 99,999,999 trials" in capsys.readouterr().err


def test_a_backlog_has_no_pace(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["run", "--preset", "windows", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "36 trial(s), with backlogs of 36 min of load, sent as fast as possible" in said
    assert "at least" not in said
