"""The files of Theodolite, read as its notebooks read them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.results.theodolite import export_theodolite
from tests.simulated import write_search
from tests.unit.experiments.scalability.test_experiment import asked, scaled
from tests.unit.runs import make_trial, write_run


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def demand_by_slopes(place: Path, ratio: float) -> dict[int, int]:
    """Compute the demand from the raw files: the least resources whose lag grows slowly enough."""
    slopes: dict[tuple[int, int], list[float]] = {}
    for file in place.glob("exp1_*lag-trend*.csv"):
        _, load, resources, *_ = file.stem.split("_")
        told = rows_of(file)
        assert list(told[0])[1:] == ["timestamp", "value"]
        at = [float(row["timestamp"]) for row in told]
        lag = [float(row["value"]) for row in told]
        slope = float(np.polyfit(np.array(at) - at[0], lag, 1)[0])
        slopes.setdefault((int(load), int(resources)), []).append(slope)
    suitable = [cell for cell, found in slopes.items() if np.median(found) < ratio * cell[0]]
    return {load: min(r for each, r in suitable if each == load) for load, _ in suitable}


def test_the_demand_can_be_computed_from_the_raw_files(tmp_path: Path) -> None:
    spec = asked(load="rate:2k/s,5k/s,12k/s,40k/s", settings={"repeats": 2})
    files = export_theodolite(write_search(tmp_path / "runs", spec, scaled()), tmp_path / "out")
    found = {int(row["load"]): int(row["resources"]) for row in rows_of(files[0])}
    assert files[0].name == "exp1_demand.csv"
    assert found == {2000: 1, 5000: 1, 12000: 2}
    assert demand_by_slopes(tmp_path / "out", 0.05) == found
    assert (tmp_path / "out" / "exp1_2000_1_lag-trend_2.csv").exists()


def test_a_capacity_has_its_load_first(tmp_path: Path) -> None:
    spec = asked(metric="capacity", load="rate:2k/s,5k/s,12k/s", resources="instances:1,2")
    files = export_theodolite(write_search(tmp_path / "runs", spec, scaled()), tmp_path / "out")
    assert files[0].name == "exp1_capacity.csv"
    rows = [(row["load"], row["resources"]) for row in rows_of(files[0])]
    assert rows == [("5000", "1"), ("12000", "2")]


def test_other_runs_have_no_such_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a search for demand or capacity"):
        export_theodolite(write_run(tmp_path, [make_trial()]), tmp_path / "out")
