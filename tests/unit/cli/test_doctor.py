import json

import pytest

from streamgauge import doctor
from streamgauge.cli.main import execute
from streamgauge.doctor import Finding

FINE = Finding("cores", "ok", "8")
WARNED = Finding("steal", "warn", "9.0%", "Measure elsewhere.")
MISSING = Finding("java", "missing", "none", "Run make setup.")


@pytest.fixture
def found(monkeypatch):
    """Let the doctor find what the test says."""
    findings: list[Finding] = []
    monkeypatch.setattr(doctor, "examine", lambda *_args, **_kwargs: findings)
    return findings


def test_something_needed_that_is_missing_ends_with_3_and_its_remedy(found, capsys):
    found += [FINE, MISSING]
    assert execute(["doctor"]) == 3
    printed = capsys.readouterr().out
    assert "missing java" in printed
    assert "→ Run make setup." in printed
    assert printed.endswith("Not ready: see what is missing above.\n")


def test_a_warning_is_no_failure(found, capsys):
    found += [FINE, WARNED]
    assert execute(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("Ready.\n")


def test_json_has_every_finding(found, capsys):
    found += [FINE, MISSING]
    assert execute(["doctor", "--json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert report["ready"] is False
    assert report["findings"][1] == {
        "name": "java",
        "state": "missing",
        "value": "none",
        "remedy": "Run make setup.",
    }
