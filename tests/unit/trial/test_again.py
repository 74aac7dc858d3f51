"""A finished trial is validated from what lies in its folder."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.jobfile import JOB, JobFile
from streamgauge.spec.trial import TrialResult
from streamgauge.trial import again
from tests.unit.runs import make_trial

GONE = "/no/such/engine --fast"


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> TrialResult:
    """A trial of a program that is not there any more; its records are made up."""
    seen = SimpleNamespace(kept=lambda *_: "records")
    monkeypatch.setattr(again.registry, "transport", lambda _: seen)
    monkeypatch.setattr(again, "validate", lambda *given, **_: given)
    return make_trial(engine="command", engine_options={"command": GONE})


def test_the_engines_program_need_not_be_there(result: TrialResult, tmp_path: Path) -> None:
    written = JobFile(
        workload="espbench",
        query="q3",
        parameters={"warehouses": 3},
        partitions=1,
        seed=1,
        options={"command": GONE},
        watermark_delay_ms=1234,
        via={},
        inputs={},
        output=None,
        group="g",
        progress="p",
        scratch="s",
    )
    written.write(tmp_path / JOB)
    spark: Any = None
    given: Any = again.validate_again(spark, tmp_path, result)
    *_, job = given
    assert (job.options["command"], job.watermark_delay_ms) == (GONE, 1234)


def test_without_the_job_file_it_says_so(result: TrialResult, tmp_path: Path) -> None:
    spark: Any = None
    with pytest.raises(UsageError, match="trial 1 cannot be validated: cannot read the job file"):
        again.validate_again(spark, tmp_path, result)
