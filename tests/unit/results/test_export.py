import csv
import io
import json
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import NotReady
from streamgauge.planning import Asked, load_experiment, plan_run, preset_names
from streamgauge.results import tables
from streamgauge.results.export import export
from streamgauge.results.folder import RunFolder
from streamgauge.results.package import package, packages, preset
from streamgauge.spec.run import RunSpec
from tests.unit.runs import make_trial, three_trials, write_run


def test_parquet_holds_the_tables_as_they_are(tmp_path):
    folder = three_trials(tmp_path / "runs", 100)
    files = export(folder, "parquet", tmp_path / "out")
    assert [file.name for file in files] == [
        "trials.parquet",
        "latencies.parquet",
        "timeline.parquet",
    ]
    assert pq.read_table(files[0]).to_pylist() == tables.trials(folder).to_pylist()
    assert len(pq.read_table(files[1])) == 6000


def test_csv_and_json_say_the_same(tmp_path):
    folder = three_trials(tmp_path / "runs", 100)
    export(folder, "csv", tmp_path / "out")
    export(folder, "json", tmp_path / "out")
    with (tmp_path / "out" / "trials.csv").open() as file:
        lines = list(csv.DictReader(file))
    objects = json.loads((tmp_path / "out" / "trials.json").read_text())
    assert [float(line["latency.p99"]) for line in lines] == [
        each["latency.p99"] for each in objects
    ]
    assert len(json.loads((tmp_path / "out" / "latencies.json").read_text())) == 6000
    assert not list((tmp_path / "out").glob(".*"))


def test_quotes_in_a_path_are_no_sql(tmp_path):
    folder = write_run(tmp_path / "runs", [make_trial()])
    files = export(folder, "csv", tmp_path / "it's'; DROP TABLE exported; --")
    assert all(file.exists() for file in files)


def test_an_unwritable_place_names_the_option(tmp_path):
    folder = write_run(tmp_path / "runs", [make_trial()])
    (tmp_path / "file").write_text("")
    with pytest.raises(NotReady) as raised:
        export(folder, "csv", tmp_path / "file")
    assert raised.value.remedy is not None
    assert "--output" in raised.value.remedy


def unpacked(folder: RunFolder, place: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(package(folder))) as archive:
        archive.extractall(place)
    return place / folder.record().id


def test_a_package_has_what_another_machine_needs(tmp_path):
    folder = three_trials(tmp_path / "runs", 100)
    place = unpacked(folder, tmp_path / "out")
    assert {file.name for file in place.iterdir()} == {
        "README.md",
        "preset.yaml",
        "results.csv",
        "repeats.csv",
        "run.json",
        "packages.txt",
    }
    assert "streamgauge run --preset preset.yaml" in (place / "README.md").read_text()
    assert len((place / "results.csv").read_text().splitlines()) == 4
    facts = json.loads((place / "run.json").read_text())
    assert facts["machine"]["cpu"] == "a fast one"
    assert facts["workload_version"] == "1"
    assert "owner" not in facts
    assert package(folder) == package(folder)


def test_a_packaged_run_is_planned_as_it_was(tmp_path):
    asked = {
        "rates": ["1k/s", "333.3333/s"],
        "duration": "90s",
        "warmup": "1500ms",
        "repeats": 3,
        "engine": "reference",
        "engine_options": {"fault": "drop"},
        "parameters": {"warehouses": 2},
        "load": {"acks": "1", "idempotence": False, "linger": "0ms", "batch": "16KiB"},
        "objectives": ("latency.p99<2s",),
        "tags": {"branch": "<script>: #1", "yes": "no"},
        "kafka": "host:9092",
        "service_settings": {"kafka.topic.min.insync.replicas": "2"},
    }
    given_ = {name: Asked(value) for name, value in asked.items()}
    planned = plan_run("espbench/q1,q3", given_)
    folder = RunFolder.create(tmp_path / "runs", planned, ["streamgauge", "run"], {}, "1")
    file = unpacked(folder, tmp_path / "out") / "preset.yaml"
    again = plan_run(None, {"preset": Asked(str(file))})
    ignored = {"origins", "preset", "services"}
    assert again.model_dump(exclude=ignored) == planned.model_dump(exclude=ignored)
    assert load_experiment(again).plan() == load_experiment(planned).plan()
    assert again.services == {}
    assert "--service kafka=ADDRESS" in (file.parent / "README.md").read_text()


@pytest.mark.parametrize(
    "asked",
    [
        *({"preset": name} for name in preset_names()),
        {"workload": "espbench", "shape": "bursts:2k/s,10k/s@1s/10s"},
        {"workload": "espbench", "experiment": "ceiling", "engine": "noop"},
        {
            "workload": "rovio",
            "engine": "reference",
            "partitions": "1,2",
            "cores": 1,
            "load": {"batch": "16KiB,64KiB", "acks": "1", "idempotence": False},
            "vary": {"P.window": "8s,4s;4s,2s", "E.fault": "drop,drop:4", "rate": "1k/s,2k/s"},
        },
        {
            "workload": "espbench",
            "queries": ["q4"],
            "engine": "noop",
            "acts": [
                {
                    "at_s": 5,
                    "service": "postgres",
                    "name": "espbench.downtime",
                    "arguments": {"workplace": 1, "from_s": 6, "to_s": 7.5},
                }
            ],
            "vary": {"duration": ["1m", "2m"], "seed": [1, 2]},
        },
    ],
    ids=[*preset_names(), "bursts", "ceiling", "several factors", "acts"],
)
def test_whatever_can_be_asked_for_can_be_packaged(tmp_path, asked):
    planned = plan_run(None, {name: Asked(value) for name, value in asked.items()})
    folder = RunFolder.create(tmp_path / "runs", planned, ["streamgauge"], {}, "1")
    file = unpacked(folder, tmp_path / "out") / "preset.yaml"
    again = plan_run(None, {"preset": Asked(str(file))})
    assert load_experiment(again).plan() == load_experiment(planned).plan()


def test_senders_on_each_core_of_a_cluster_are_one_where_there_is_none(tmp_path):
    asked = {"senders": Asked("spark=spark://a:1")}
    planned = plan_run("espbench", asked)
    folder = RunFolder.create(tmp_path / "runs", planned, ["streamgauge"], {}, "1")
    file = unpacked(folder, tmp_path / "out") / "preset.yaml"
    assert plan_run(None, {"preset": Asked(str(file))}).load.senders == 1


def test_a_quick_run_stays_quick_in_its_package(tmp_path):
    planned = plan_run("espbench", {"quick": Asked(True), "engine": Asked("noop")})
    folder = RunFolder.create(tmp_path / "runs", planned, ["streamgauge"], {}, "1")
    file = unpacked(folder, tmp_path / "out") / "preset.yaml"
    again = plan_run(None, {"preset": Asked(str(file))})
    assert again.quick
    assert load_experiment(again).plan() == load_experiment(planned).plan()


@given(
    st.lists(st.floats(0.001, 1e7), min_size=1, max_size=4),
    st.floats(0.001, 1e5),
    st.floats(0, 1e5),
)
def test_no_rate_and_no_time_loses_a_digit(rates, duration_s, warmup_s):
    spec = RunSpec(
        workload="espbench",
        queries=("q3",),
        rates=tuple(rates),
        duration_s=duration_s,
        warmup_s=warmup_s,
        engine="noop",
        origins={"rates": "option", "duration": "option", "warmup": "option"},
    )
    from streamgauge.results.folder import Owner, RunRecord
    from streamgauge.units import parse_duration, parse_rate

    record = RunRecord(
        id="x", started="", spec=spec, command=[], machine={}, owner=Owner(pid=1, started=0)
    )
    fields = yaml.safe_load(yaml.safe_dump(preset(record)))
    assert tuple(parse_rate(each) for each in fields["rates"]) == spec.rates
    assert parse_duration(fields["duration"]) == duration_s
    assert parse_duration(fields["warmup"]) == warmup_s


def test_a_file_that_a_parameter_names_is_told_of(tmp_path):
    sensors = tmp_path / "sensors.csv"
    sensors.write_text("")
    folder = write_run(tmp_path / "runs", [], parameters={"sensors": str(sensors)})
    readme = (unpacked(folder, tmp_path / "out") / "README.md").read_text()
    assert f"It needs a file that is not included: {sensors}" in readme


def test_packages_are_named_with_their_versions():
    names = [line.partition("==")[0] for line in packages()]
    assert {"streamgauge", "pyspark", "numpy", "duckdb"} <= set(names)
    assert names == sorted(names)
    assert "pytest" not in names
