"""A search with the real services, as short as it can be; it measures nothing."""

import json
import subprocess

import pytest

from tests.integration.test_run import COMMAND, environment

pytestmark = [pytest.mark.integration, pytest.mark.spark]
__all__ = ["environment"]


def test_an_engine_that_dies_sustains_nothing(environment: dict[str, str]) -> None:
    search = ["-x", "sustainable", "--quick", "--warmup", "1s", "--duration", "3s", "--json"]
    engine = ["-e", "reference", "-E", "fault=die:1", "--rate", "1k/s,2k/s"]
    command = [*COMMAND, "run", "espbench/q3", *search, *engine]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    (found,) = told["answer"]["searches"]
    assert (done.returncode, found["rate"], told["status"]) == (1, None, "done")
    assert "the engine died" in found["trials"][0]["reason"]
