"""What `--dry-run` shows of an experiment whose trials depend on those before."""

import json

import pytest

from streamgauge.cli.main import execute

SEARCH = ["run", "espbench/q3", "-e", "reference", "-x", "sustainable", "--dry-run"]


def test_a_search_is_outlined(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(SEARCH) == 0
    said = capsys.readouterr().out
    for word in ("probe", "bracket", "bisection to 5 %", "confirmation", "latency"):
        assert word in said
    assert "14 trial(s) if all goes well, 56 min of load" in said


def test_a_survey_is_stamped(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--survey", "--rate", "1k/s,2k/s"]) == 0
    said = capsys.readouterr().out
    assert "survey: a rough answer" in said
    assert "1k/s and 2k/s" in said
    assert "probe" not in said


def test_the_trials_are_counted_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 14


def test_crossed_limits_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*SEARCH, "--rate", "2k/s,1k/s"]) == 2
    assert "leave nothing to search" in capsys.readouterr().err
