from pathlib import Path

from streamgauge.results.folder import RunFolder
from streamgauge.runner.ceilings import known, remember
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import LoadSpec, ResourceSpec

MACHINE = {"host": "here", "cpu": "fast", "cores": 2}
ONE, TWO = ("sensor1",), ("sensor1", "sensor2")


def test_a_ceiling_is_known_for_its_machine_and_configuration_alone(
    tmp_path: Path, run_spec: RunSpec
) -> None:
    assert known(MACHINE, run_spec, {"q3": ONE}, tmp_path) == {}
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    assert known(MACHINE, run_spec, {"q3": ONE}, tmp_path) == {"q3": 80_000}
    load = LoadSpec(min_sent=1.0, queue=1)
    same = {"rates": (5.0,), "queries": ("q3",), "engine": "spark", "load": load}
    found = known(MACHINE, run_spec.model_copy(update=same), {"q1": ONE, "q3": ONE}, tmp_path)
    assert found == {"q1": 80_000, "q3": 80_000}
    changes: list[dict[str, object]] = [
        {"partitions": 2},
        {"services": {"kafka": "far:9092"}},
        {"service_settings": {"kafka.replication": 3}},
        {"load": LoadSpec(senders=2)},
        {"resources": ResourceSpec(cores=1)},
    ]
    for change in changes:
        assert known(MACHINE, run_spec.model_copy(update=change), {"q3": ONE}, tmp_path) == {}
    assert known({**MACHINE, "cores": 4}, run_spec, {"q3": ONE}, tmp_path) == {}


def test_each_query_has_the_ceiling_of_its_input_streams(tmp_path: Path, run_spec: RunSpec) -> None:
    both = {"q3": ONE, "q4": TWO}
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    assert known(MACHINE, run_spec, both, tmp_path) == {"q3": 80_000}
    remember(MACHINE, run_spec, TWO, 40_000.0, tmp_path)
    machine = {**MACHINE, "ceiling": known(MACHINE, run_spec, both, tmp_path)}
    record = RunFolder.create(tmp_path, run_spec, [], machine).record()
    assert (record.ceiling("q3"), record.ceiling("q4")) == (80_000, 40_000)
    assert record.ceiling("q5") is None
    assert RunFolder.create(tmp_path, run_spec, [], MACHINE).record().ceiling("q3") is None


def test_the_latest_ceiling_counts_and_a_broken_file_is_none(
    tmp_path: Path, run_spec: RunSpec
) -> None:
    remember(MACHINE, run_spec, ONE, 80_000.0, tmp_path)
    remember(MACHINE, run_spec, ONE, 160_000.0, tmp_path)
    assert known(MACHINE, run_spec, {"q3": ONE}, tmp_path) == {"q3": 160_000}
    (tmp_path / "ceilings.json").write_text("{")
    assert known(MACHINE, run_spec, {"q3": ONE}, tmp_path) == {}
