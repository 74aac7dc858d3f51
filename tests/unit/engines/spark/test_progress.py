import json
from pathlib import Path

from streamgauge.engines.spark.progress import ProgressReporter, offsets
from streamgauge.jobfile import ProgressWriter
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.values import Json

STREAMS = {"t-1": "sensor1", "t-2": "sensor2"}


def event(*ends: Json) -> dict[str, Json]:
    return {"batchId": 3, "sources": [{"description": "Kafka", "endOffset": end} for end in ends]}


def test_offsets_are_ordered_by_partition_number() -> None:
    ends: Json = {
        "t-1": {str(number): number * 100 for number in (10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9)}
    }
    assert offsets(event(ends), STREAMS) == {"sensor1": [n * 100 for n in range(11)]}


def test_every_source_is_heard() -> None:
    found = offsets(event({"t-1": {"0": 5}}, {"t-2": {"0": 7}}), STREAMS)
    assert found == {"sensor1": [5], "sensor2": [7]}


def test_a_source_that_has_not_begun_says_nothing() -> None:
    assert offsets(event(None, {"t-2": {"0": 7}}), STREAMS) == {"sensor2": [7]}
    assert offsets({}, STREAMS) == {}


class Query:
    def __init__(self, *, data: bool, active: bool) -> None:
        self.status = {"message": "", "isDataAvailable": data, "isTriggerActive": active}


def test_batches_and_idleness_are_reported(tmp_path: Path) -> None:
    inputs = {"sensor1": "t-1", "sensor2": "t-2"}
    endpoints = Endpoints(KafkaEndpoint("127.0.0.1:1"), inputs, "t-out", 1, "group")
    batch = event({"t-1": {"0": 5}}, None)
    with ProgressWriter(tmp_path / "progress.jsonl", clock=lambda: 8.5) as writer:
        reporter = ProgressReporter(endpoints, writer, gc_ms=lambda: 40)
        reporter.report_status(Query(data=True, active=False))
        reporter.report_batch(batch)
        reporter.report_status(Query(data=False, active=True))
        reporter.report_status(Query(data=False, active=False))
    lines = [json.loads(x) for x in (tmp_path / "progress.jsonl").read_text().splitlines()]
    before, after = {"sensor1": [0], "sensor2": [0]}, {"sensor1": [5], "sensor2": [0]}
    assert lines == [
        {"at": 8.5, "finished": before, "idle": False, "gc_ms": 40},
        {"at": 8.5, "finished": after, "idle": False, "event": batch},
        {"at": 8.5, "finished": after, "idle": False, "gc_ms": 40},
        {"at": 8.5, "finished": after, "idle": True, "gc_ms": 40},
    ]
