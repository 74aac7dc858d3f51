"""Profilers and acts that another package brings."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import registry, runner
from streamgauge.errors import NotReady
from streamgauge.planning import Asked, plan_run
from streamgauge.spec.trial import ActSpec
from streamgauge.trial.bench import Bench, Event
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec

pytestmark = pytest.mark.integration

TOY = """
import json, time
from contextlib import contextmanager
from streamgauge.spec.jobs import Problem

class Toy:
    def check(self):
        return []

    @contextmanager
    def record(self, processes, folder):
        seen = {"from": time.time() * 1000, "engine": list(processes())}
        yield
        seen["to"] = time.time() * 1000
        (folder / "toy.json").write_text(json.dumps(seen))

class Lame(Toy):
    def check(self):
        return [Problem("there is no stopwatch", "Buy one.")]

def swift(endpoint, begun_ms, arguments):
    return f"{arguments['what']} after {time.time() * 1000 - begun_ms:.0f} ms at {endpoint.address}"

def slow(endpoint, begun_ms, arguments):
    time.sleep(1.1)
    return "something slow"
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else."""
    place = tmp_path / "site"
    facts = place / "toy_parts-1.dist-info"
    facts.mkdir(parents=True)
    (place / "toy_parts.py").write_text(TOY)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-parts\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(
        "[streamgauge.profilers]\ntoy = toy_parts:Toy\nlame = toy_parts:Lame\n"
        "[streamgauge.acts]\nswift = toy_parts:swift\nslow = toy_parts:slow\n"
    )
    monkeypatch.syspath_prepend(place)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()
    sys.modules.pop("toy_parts", None)


@pytest.mark.usefixtures("toy")
def test_one_that_lacks_something_is_refused_before_anything_starts(tmp_path: Path) -> None:
    asked = {"engine": "reference", "profile": "lame"}
    spec = plan_run("espbench/q3", {name: Asked(value) for name, value in asked.items()})
    with pytest.raises(NotReady, match="profiler lame is not ready: there is no stopwatch"):
        runner.start(spec, tmp_path / "runs", ["test"], lambda _: None, [])
    assert not (tmp_path / "runs").exists()


def act(name: str, at_s: float) -> ActSpec:
    return ActSpec(at_s=at_s, service="kafka", name=name, arguments={"what": "cheers"})


@pytest.mark.spark
@pytest.mark.usefixtures("toy")
def test_acts_are_done_at_their_times_and_a_profiler_sees_the_measured_span_alone(
    bench: Bench, tmp_path: Path
) -> None:
    told: list[Event] = []
    acts = (act("swift", 4.0), act("swift", 1.0))  # the load lasts for four seconds
    spec = make_spec("q3", acts=acts, profile="toy")
    result = run_trial(spec, bench, tmp_path / "001", told.append)
    assert result.status == "done"
    done = [str(event["act"]) for event in told if "act" in event]
    address = bench.services["kafka"].endpoint.address
    assert all(what.endswith(f"at {address}") for what in done)
    first_ms, last_ms = (int(what.split()[2]) for what in done)
    assert 1000 <= first_ms < 2000
    assert 4000 <= last_ms < 5000, "the very end of the load"
    assert result.spec.profile == "toy"
    seen = json.loads((tmp_path / "001" / "profile" / "toy.json").read_text())
    assert len(seen["engine"]) == 1
    assert result.measured_ms is not None
    start_ms, end_ms = result.measured_ms
    assert start_ms <= seen["from"] < seen["to"]
    assert end_ms <= seen["to"] < end_ms + 2000


@pytest.mark.usefixtures("toy")
def test_an_act_that_is_late_spoils_the_trial(bench: Bench, tmp_path: Path) -> None:
    spec = make_spec("q3", acts=(act("slow", 1.0),))
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert (result.status, result.valid.holds) == ("invalid", False)
    assert result.cause is not None
    assert result.cause.startswith("something slow, but that began ")
    assert re.search(r" late and took [1-9]", result.cause)
    assert result.cause.endswith("; both together may take 1 s")
