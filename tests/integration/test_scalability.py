"""A search over a grid with the real services, as short as it can be; it measures nothing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streamgauge.results.folder import RunFolder
from tests.integration.test_run import COMMAND, environment

pytestmark = [pytest.mark.integration, pytest.mark.spark]
__all__ = ["environment"]

SEARCH = ["run", "theodolite/uc1-topic", "-x", "scalability", "-X", "resources=cores:1", "--quick"]


def search(environment: dict[str, str], *more: str) -> tuple[dict[str, Any], int]:
    engine = ["-e", "reference", "-X", "load=rate:200/s", "--warmup", "1s", "--json"]
    command = [*COMMAND, *SEARCH, *engine, *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def test_what_an_engine_carries_is_found_and_exported(
    environment: dict[str, str], tmp_path: Path
) -> None:
    easy = ["--objective", "lag.trend<0.5*rate"]  # three points have no exact slope
    told, code = search(environment, "-X", "metric=capacity", "--duration", "12s", *easy)
    (found,) = told["answer"]["searches"]
    assert (code, told["status"]) == (0, "done")
    assert found["points"][0]["found"] == "200/s"
    (result,) = RunFolder(Path(told["path"])).trials()
    assert result.lag is not None
    assert (result.lag.by, len(result.lag.lags)) == ("offsets", 3)
    assert abs(result.metrics["lag.trend"]) < 100
    assert result.metrics["resources.cores"] == 1
    assert "Capacity: uc1-topic" in (Path(told["path"]) / "report.html").read_text()
    export = ["export", told["path"], "--format", "theodolite", "-o", str(tmp_path / "out")]
    subprocess.run([*COMMAND, *export], env=environment, check=True, capture_output=True)
    assert (tmp_path / "out" / "exp1_capacity.csv").read_text() == "load,resources\n200,1\n"


def test_a_trial_whose_lag_grows_beyond_doubt_is_cut_short(environment: dict[str, str]) -> None:
    told, code = search(environment, "-E", "fault=hang:300", "--duration", "80s")
    (found,) = told["answer"]["searches"]
    (tried,) = found["tried"]
    assert (code, tried["outcome"], tried["cut"]) == (1, "fail", [1])
    assert tried["values"]["lag.trend"] == pytest.approx(200, rel=0.2)
    (result,) = RunFolder(Path(told["path"])).trials()
    assert result.cut_s is not None
    assert 40 <= result.cut_s < 70
    assert (result.status, result.correct.holds, result.kept_up.holds) == ("done", None, False)
    assert "the lag clearly grew" in result.kept_up.reason
