"""Several searches in one chart."""

import json
import re
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.report.scaling.several import write_curves
from streamgauge.results.folder import RunFolder
from tests.simulated import write_search
from tests.unit.experiments.scalability.test_experiment import asked, scaled


def searched(runs: Path, per_instance: float, **settings: object) -> RunFolder:
    options = {"metric": "capacity", "load": "rate:4k/s..40k/s*1.4", "resources": "instances:1,2"}
    machine: dict[str, object] = {"cores": 2, "host": "bench", "cpu": "fast"}
    spec = asked(**options, settings=settings)
    return write_search(runs, spec, scaled(per_instance), machine)


def test_runs_that_differ_in_a_setting_are_named_by_it(tmp_path: Path) -> None:
    fast = searched(tmp_path, 14_000, engine_options={"trigger": "0s"})
    slow = searched(tmp_path, 9_000, engine_options={"trigger": "4s"})
    write_curves([fast, slow], "resources", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    (data,) = re.findall(r'id="curves-[^"]+">(.*?)</script>', page)
    points = json.loads(data)["layer"][-1]["data"]["values"]
    assert {row["series"] for row in points} == {"uc2, trigger=0s", "uc2, trigger=4s"}
    assert "cores in all" in page


def test_runs_that_are_alike_have_their_own_names(tmp_path: Path) -> None:
    runs = [searched(tmp_path / name, 9_000) for name in ("a", "b")]
    write_curves(runs, "resources", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(run.name in page for run in runs)


def test_runs_without_such_a_search_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of these runs is a search for demand"):
        write_curves([searched(tmp_path, 9_000)], "load", tmp_path / "page.html")
