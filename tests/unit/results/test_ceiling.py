from pathlib import Path

from streamgauge.results.ceiling import known, remember
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import LoadSpec

MACHINE = {"host": "here", "cpu": "fast", "cores": 2}
ONE, TWO = ("sensor1",), ("sensor1", "sensor2")


def test_a_ceiling_is_known_for_its_machine_and_configuration_alone(
    tmp_path: Path, run_spec: RunSpec
) -> None:
    assert known(MACHINE, run_spec, [ONE], tmp_path) is None
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    assert known(MACHINE, run_spec, [ONE], tmp_path) == 80_000
    same = {"rates": (5.0,), "queries": ("q3",), "engine": "spark", "load": LoadSpec(min_sent=1.0)}
    assert known(MACHINE, run_spec.model_copy(update=same), [ONE, ONE], tmp_path) == 80_000
    changes: list[dict[str, object]] = [
        {"partitions": 2},
        {"kafka": "far:9092"},
        {"load": LoadSpec(senders=2)},
        {"cores": 1},
    ]
    for change in changes:
        assert known(MACHINE, run_spec.model_copy(update=change), [ONE], tmp_path) is None
    assert known({**MACHINE, "cores": 4}, run_spec, [ONE], tmp_path) is None


def test_a_ceiling_depends_on_the_input_streams_and_the_lowest_counts(
    tmp_path: Path, run_spec: RunSpec
) -> None:
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    assert known(MACHINE, run_spec, [TWO], tmp_path) is None
    assert known(MACHINE, run_spec, [ONE, TWO], tmp_path) is None
    remember(MACHINE, run_spec, TWO, 40_000.0, tmp_path)
    assert known(MACHINE, run_spec, [ONE], tmp_path) == 80_000
    assert known(MACHINE, run_spec, [ONE, TWO], tmp_path) == 40_000


def test_the_latest_ceiling_counts_and_a_broken_file_is_none(
    tmp_path: Path, run_spec: RunSpec
) -> None:
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    remember(MACHINE, run_spec, ONE, 160_000.0, tmp_path)
    assert known(MACHINE, run_spec, [ONE], tmp_path) == 160_000
    (tmp_path / "ceilings.json").write_text("{")
    assert known(MACHINE, run_spec, [ONE], tmp_path) is None
