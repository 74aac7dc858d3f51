"""A profiler that another package brings looks at an engine while it is measured."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import registry, runner
from streamgauge.errors import NotReady
from streamgauge.planning import Asked, plan_run
from streamgauge.trial.bench import Bench
from streamgauge.trial.phases import run_trial
from tests.integration.trials import make_spec

pytestmark = pytest.mark.integration

TOY = """
import json, time
from contextlib import contextmanager
from streamgauge.spec.engine import Problem

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
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else that brings profilers."""
    place = tmp_path / "site"
    facts = place / "toy_profiler-1.dist-info"
    facts.mkdir(parents=True)
    (place / "toy_profiler.py").write_text(TOY)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-profiler\nVersion: 1\n")
    names = "toy = toy_profiler:Toy\nlame = toy_profiler:Lame\n"
    (facts / "entry_points.txt").write_text(f"[streamgauge.profilers]\n{names}")
    monkeypatch.syspath_prepend(place)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()
    sys.modules.pop("toy_profiler", None)


@pytest.mark.spark
@pytest.mark.usefixtures("toy")
def test_it_looks_at_the_engine_in_the_measured_span_alone(bench: Bench, tmp_path: Path) -> None:
    result = run_trial(make_spec("q3", profile="toy"), bench, tmp_path / "001", lambda _: None)
    assert result.status == "done"
    assert result.spec.profile == "toy"
    seen = json.loads((tmp_path / "001" / "profile" / "toy.json").read_text())
    assert len(seen["engine"]) == 1
    assert result.measured_ms is not None
    start_ms, end_ms = result.measured_ms
    assert start_ms <= seen["from"] < seen["to"]
    assert end_ms <= seen["to"] < end_ms + 2000


@pytest.mark.usefixtures("toy")
def test_one_that_lacks_something_is_refused_before_anything_starts(tmp_path: Path) -> None:
    asked = {"engine": "reference", "profile": "lame"}
    spec = plan_run("espbench/q3", {name: Asked(value) for name, value in asked.items()})
    with pytest.raises(NotReady, match="profiler lame is not ready: there is no stopwatch"):
        runner.start(spec, tmp_path / "runs", ["test"], lambda _: None, [])
    assert not (tmp_path / "runs").exists()
