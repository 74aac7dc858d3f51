from pathlib import Path

import pyarrow.parquet as pq

from streamgauge.probes.sampler import Sampler


def until(sampler: Sampler, rows: int) -> None:
    while len(sampler.rows) < rows:
        pass


def test_all_probes_are_asked_and_written(tmp_path: Path) -> None:
    counts = iter(range(1000))
    with Sampler({"a": lambda _: {"a": float(next(counts))}}, period_s=0.001) as sampler:
        until(sampler, 3)
    sampler.write(tmp_path / "timeline.parquet")
    table = pq.read_table(tmp_path / "timeline.parquet")
    assert table["a"].to_pylist()[:3] == [0.0, 1.0, 2.0]
    assert table["at"].null_count == 0


def test_a_broken_probe_leaves_the_others_alone(tmp_path: Path) -> None:
    def broken(_: float) -> dict[str, float]:
        raise OSError("gone")

    probes = {"broken": broken, "good": lambda _: {"good": 1.0}}
    with Sampler(probes, period_s=0.001) as sampler:
        until(sampler, 2)
    assert sampler.newest["good"] == 1.0


def test_a_sampler_may_be_stopped_twice() -> None:
    with Sampler({}, period_s=0.001) as sampler:
        sampler.stop()
    sampler.stop()
