from pathlib import Path

import pytest
from pydantic import ValidationError

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import Espbench, sensors
from streamgauge.workloads.espbench.workload import Parameters


def test_a_long_ring_needs_a_sensor_file() -> None:
    with pytest.raises(ValidationError, match="more than 7000000 lines needs a sensor file"):
        Parameters(ring=7_000_001)
    assert Parameters(ring=40_000_000, sensors="recording.txt").ring == 40_000_000


def test_a_bad_line_of_a_sensor_file_is_found_before_anything_is_started(tmp_path: Path) -> None:
    file = tmp_path / "recording.txt"
    lines = [line.rpartition(b"\t")[0] for line in sensors.lines(10_000, 1, seed=1)]
    file.write_bytes(b"\n".join([*lines, b"not a sensor line"]))
    parameters = Parameters(sensors=str(file)).model_dump(mode="json")
    with pytest.raises(UsageError, match="line 10001: 1 columns"):
        Espbench().check(parameters)
    Espbench().check({**parameters, "ring": 10_000})
