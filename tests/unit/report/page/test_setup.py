from pathlib import Path

from streamgauge.report.page import setup
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import LoadSpec


def test_only_what_differs_from_its_default_is_told() -> None:
    spec = RunSpec(
        workload="espbench",
        queries=("q1",),
        rates=(1000.0, 20_000.0),
        warmup_s=15,
        quick=True,
        engine_options={"trigger": "1s"},
        load=LoadSpec(linger_s=0.005),
        tags={"branch": "<script>"},
        origins={
            "workload": "option",
            "rates": "option",
            "duration": "environment",
            "warmup": "preset",
            "quick": "option",
            "engine_options": "option",
            "load": "option",
            "tags": "option",
        },
    )
    assert setup.differences(spec) == [
        ("rates", "1k/s, 20k/s", "1k/s", "option"),
        ("warmup", "15 s", "90 s", "preset"),
        ("quick", "yes", "no", "option"),
        ("engine_options", "trigger=1s", "–", "option"),
        ("load linger", "5 ms", "1 ms", "option"),
        ("tags", "branch=<script>", "–", "option"),
    ]


def test_what_was_varied_and_what_was_done_are_told_in_words() -> None:
    act = {"at_s": 5, "service": "postgres", "name": "a.b", "arguments": {"c": 1}}
    spec = RunSpec.model_validate(
        {
            "workload": "espbench",
            "queries": ("q1",),
            "resources": {"cores": 2},
            "vary": {"E.trigger": ("0s", "1s"), "load": ({"acks": "0"}, {"acks": "1"})},
            "acts": [act],
            "origins": {"cores": "option", "vary": "preset", "acts": "preset"},
        }
    )
    assert setup.differences(spec) == [
        ("cores", "2", "–", "option"),
        ("vary", "E.trigger=0s, 1s, load=acks=0, acks=1", "–", "preset"),
        ("acts", "at 5 s: a.b (c=1) on postgres", "–", "preset"),
    ]


def test_machine_and_versions_are_apart(tmp_path: Path, run_spec: RunSpec) -> None:
    facts = {"python": "3.12", "cores": 2, "memory_bytes": 8 << 30, "ceiling": {"q3": 200_000.0}}
    record = RunFolder.create(tmp_path, run_spec, [], facts).record()
    assert setup.machine(record) == [
        ("cores", "2"),
        ("memory", "8 GiB"),
        ("noop ceiling", "q3 200k/s"),
    ]
    assert setup.versions(record) == [("python", "3.12")]


def test_given_services_are_named(run_spec: RunSpec) -> None:
    assert setup.services(run_spec).startswith("embedded")
    given = run_spec.model_copy(update={"services": {"kafka": "broker:9092"}})
    assert setup.services(given) == "kafka at broker:9092"
