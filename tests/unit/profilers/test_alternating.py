"""On and off in turn: whole segments are told, and the stacks of the last one are kept."""

import json
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from streamgauge.probes.processes import read_processes
from streamgauge.profilers.alternating import SEGMENTS, Overhead
from streamgauge.profilers.looking import Backends
from streamgauge.profiling.profile import read_profile
from tests.unit.profilers.test_looking import BURN, Toy


class Quick(Overhead):
    backends: ClassVar[Backends] = {"python": (Toy,), "native": (), "java": ()}
    segment_s = 0.03


def test_neighbours_are_on_and_off(tmp_path: Path) -> None:
    overhead = Quick()
    with subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE) as child:
        with overhead.record(lambda: [child.pid], tmp_path):
            while read_processes()[child.pid].cpu_s < 0.3:
                pass
        child.kill()
    overhead.read()
    segments = json.loads((tmp_path / SEGMENTS).read_text())
    assert len(segments) >= 4
    assert [each["on"] for each in segments[:4]] == [False, True, True, False]
    assert all(each["end_ms"] - each["start_ms"] >= 30 for each in segments)
    found = read_profile(tmp_path)
    assert found is not None
    assert found.stacks.samples == 4
    assert not list(tmp_path.glob("raw*"))
