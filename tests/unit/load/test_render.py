import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from streamgauge.load import arrivals, render
from streamgauge.load.protocol import SenderJob
from streamgauge.planning import load_workload
from streamgauge.services.endpoints import write_endpoints
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.trial import TrialSpec
from streamgauge.workloads.espbench import sensors

COUNT = 40_000
CASES = [
    ("espbench", "q4", {}),
    ("espbench", "q4", {"ring": 500}),
    ("espbench", "q4", {"sensors": "recording.txt"}),
    ("espbench", "q5", {}),
    ("rovio", "join", {}),
    ("rovio", "join", {"ring": 500}),
]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a sensor file into the folder of the test."""
    monkeypatch.chdir(tmp_path)
    lines = (line.rpartition(b"\t")[0] for line in sensors.lines(30_000, 1, seed=3))
    Path("recording.txt").write_bytes(b"\n".join(lines))


def make_spec(workload: str, query: str, changes: dict[str, Any]) -> TrialSpec:
    parameters = load_workload(workload).parameters(**changes).model_dump(mode="json")
    return TrialSpec(
        number=1,
        workload=workload,
        query=query,
        parameters=parameters,
        engine="noop",
        rate=COUNT * 1.0,
        duration_s=1.0,
        warmup_s=0.0,
        tail_s=0.0,
    )


def blocks(spec: TrialSpec, stream: str) -> Iterator[list[bytes]]:
    payloads = load_workload(spec.workload).payloads(spec, stream, arrivals.payloads(spec))
    return map(list, payloads.blocks)


@pytest.mark.parametrize(("workload", "query", "parameters"), CASES)
def test_the_file_holds_what_a_sender_would_have_in_memory(
    workload: str, query: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    spec = make_spec(workload, query, parameters)
    streams = load_workload(workload).queries[query].streams
    endpoints = Endpoints(
        transport="kafka",
        via=KafkaEndpoint("host:1"),
        inputs=dict.fromkeys(streams, "topic"),
        output=None,
        partitions=1,
        group="group",
    )
    job = SenderJob(
        spec=spec,
        endpoints=write_endpoints(endpoints),
        ticks=tmp_path / "sender.parquet",
        payloads=tmp_path / "payloads",
    )
    (tmp_path / "render.json").write_text(job.model_dump_json())
    render.main(["render", str(tmp_path / "render.json")])
    for stream in streams:
        lines = (tmp_path / "payloads" / stream).read_bytes().splitlines()
        assert lines == list(chain.from_iterable(blocks(spec, stream)))


@pytest.mark.parametrize(("workload", "query", "parameters"), CASES)
def test_payloads_are_never_all_in_memory(
    workload: str, query: str, parameters: dict[str, Any]
) -> None:
    spec = make_spec(workload, query, parameters)
    for stream in load_workload(workload).queries[query].streams:
        assert max(len(block) for block in blocks(spec, stream)) < COUNT / 2


@pytest.mark.parametrize(
    ("workload", "query", "stream", "digest"),
    [
        ("espbench", "q4", "sensor1", "7e3b252a0883b761"),
        ("espbench", "q4", "sensor2", "87364fd135a51141"),
        ("espbench", "q5", "times", "d0709d1290186f3d"),
        ("rovio", "join", "purchases", "af91aa4001e685e3"),
        ("rovio", "join", "ads", "c2a57ca6e109eeb8"),
    ],
)
def test_a_seed_gives_the_same_payloads_in_every_version(
    workload: str, query: str, stream: str, digest: str
) -> None:
    found = hashlib.sha256()
    for payload in chain.from_iterable(blocks(make_spec(workload, query, {}), stream)):
        found.update(payload + b"\n")
    assert found.hexdigest()[:16] == digest
