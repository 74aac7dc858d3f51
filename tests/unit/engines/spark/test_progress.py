import json
from pathlib import Path

import pytest

from streamgauge.engines.spark.progress import ProgressReporter, finished_batch, offsets
from streamgauge.jobfile import ProgressWriter
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.progress import BatchReport
from streamgauge.spec.values import Json

STREAMS = {"t-1": "sensor1", "t-2": "sensor2"}
# As Spark 4.3 rendered it for a windowed aggregation; shortened where nothing is read.
EVENT = json.loads("""
{"id": "1d593d07-eda6-4caf-b769-994b10ab6cd4", "name": null,
 "timestamp": "2026-11-18T18:56:26.982Z", "batchId": 5, "batchDuration": 613, "numInputRows": 596,
 "inputRowsPerSecond": 1001.7, "processedRowsPerSecond": 972.3,
 "durationMs": {"addBatch": 481, "commitOffsets": 18, "getBatch": 0, "latestOffset": 15,
                "queryPlanning": 73, "triggerExecution": 613, "walCommit": 25},
 "eventTime": {"avg": "2026-11-18T18:56:26.696Z", "watermark": "2026-11-18T18:56:26.397Z"},
 "stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 1, "numRowsUpdated": 1,
                     "numRowsRemoved": 1, "commitTimeMs": 3, "numRowsDroppedByWatermark": 2,
                     "memoryUsedBytes": 800,
                     "customMetrics": {"loadedMapCacheHitCount": 20}}],
 "sources": [{"description": "KafkaV2[Subscribe[t-1]]", "startOffset": {"t-1": {"0": 1569}},
              "endOffset": {"t-1": {"0": 2165}}, "latestOffset": {"t-1": {"0": 2165}},
              "numInputRows": 596, "metrics": {"maxOffsetsBehindLatest": "0"}}],
 "sink": {"description": "KafkaTable@24647d3", "numOutputRows": 1}}
""")
BATCH = {
    "began_ms": 1_795_028_186_982,
    "took_ms": 613,
    "phases": {
        "addBatch": 481,
        "commitOffsets": 18,
        "getBatch": 0,
        "latestOffset": 15,
        "queryPlanning": 73,
        "walCommit": 25,
    },
    "records": 596,
    "dropped": 2,
    "state_rows": 1,
    "state_bytes": 800,
}


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


def test_an_event_of_spark_becomes_a_batch_in_words_of_every_engine() -> None:
    assert finished_batch(EVENT) == BatchReport.model_validate(BATCH)


def test_a_batch_without_state_tells_of_nothing_dropped() -> None:
    stateless = {**EVENT, "stateOperators": []}
    assert finished_batch(stateless).dropped is None
    without = {key: value for key, value in EVENT.items() if key != "stateOperators"}
    assert finished_batch(without).dropped is None


def test_what_several_operators_dropped_is_added_up() -> None:
    operators = [{"numRowsDroppedByWatermark": rows} for rows in (3, 0, 4)]
    assert finished_batch({**EVENT, "stateOperators": operators}).dropped == 7


def test_the_size_of_state_is_that_of_its_files_where_it_has_some() -> None:
    in_memory = {"numRowsDroppedByWatermark": 0, "numRowsTotal": 3, "memoryUsedBytes": 500}
    files = {"rocksdbSstFileSize": 70, "rocksdbCommitFlushLatency": 4}
    in_files = {**in_memory, "memoryUsedBytes": 9000, "customMetrics": files}
    batch = finished_batch({**EVENT, "stateOperators": [in_memory, in_files]})
    assert (batch.state_rows, batch.state_bytes) == (6, 570)


def test_a_batch_whose_whole_is_not_told_took_as_long_as_its_phases() -> None:
    durations = {"latestOffset": 4, "walCommit": 8}
    batch = finished_batch({**EVENT, "durationMs": durations})
    assert (batch.took_ms, batch.phases) == (12, durations)


class Query:
    def __init__(self, message: str, *, data: bool = False, active: bool = True) -> None:
        self.status = {"message": message, "isDataAvailable": data, "isTriggerActive": active}


ENDPOINTS = Endpoints(
    transport="kafka",
    via=KafkaEndpoint("127.0.0.1:1"),
    inputs={"sensor1": "t-1", "sensor2": "t-2"},
    output="t-out",
    partitions=1,
    group="group",
)


def test_continuous_processing_has_finished_what_it_has_committed(tmp_path: Path) -> None:
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()

    def epoch(number: int, first: int, second: int) -> None:
        sources = "\n".join(
            json.dumps(each) for each in ({"t-1": {"0": first}}, {"t-2": {"0": second}})
        )
        (tmp_path / "offsets" / str(number)).write_text('v1\n{"batchWatermarkMs":0}\n' + sources)

    with ProgressWriter(tmp_path / "progress.jsonl", clock=lambda: 8.5) as writer:
        reporter = ProgressReporter(ENDPOINTS, writer)
        reporter.report_epoch(tmp_path)
        for number, first in enumerate((5, 9, 9)):
            epoch(number, first, 3)
            (tmp_path / "commits" / f".{number}.crc").touch()
            (tmp_path / "commits" / str(number)).touch()
            epoch(number + 1, first + 70, 3)  # not committed yet
            reporter.report_epoch(tmp_path)
    lines = [json.loads(x) for x in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert [(line["finished"]["sensor1"][0], line["idle"]) for line in lines] == [
        (0, True), (5, False), (9, False), (9, True),
    ]  # fmt: skip


def test_batches_and_idleness_are_reported(tmp_path: Path) -> None:
    with ProgressWriter(tmp_path / "progress.jsonl", clock=lambda: 8.5) as writer:
        reporter = ProgressReporter(ENDPOINTS, writer, gc_ms=lambda: 40)
        reporter.report_status(Query("Processing new data", data=True, active=False))
        reporter.report_batch(EVENT)
        reporter.report_status(Query("No new data but cleaning up state"))
        reporter.report_status(Query("Waiting for next trigger", active=False))
    lines = [json.loads(x) for x in (tmp_path / "progress.jsonl").read_text().splitlines()]
    before, after = {"sensor1": [0], "sensor2": [0]}, {"sensor1": [2165], "sensor2": [0]}
    assert lines == [
        {"at": 8.5, "finished": before, "idle": False, "gc_ms": 40},
        {"at": 8.5, "finished": after, "idle": False, "batch": BATCH},
        {"at": 8.5, "finished": after, "idle": False, "gc_ms": 40},
        {"at": 8.5, "finished": after, "idle": True, "gc_ms": 40},
    ]


@pytest.mark.parametrize(
    ("query", "idle"),
    [
        (Query("Getting offsets from KafkaV2[Subscribe[t-1]]"), True),
        (Query("Getting offsets from KafkaV2[Subscribe[t-1]]", data=True), False),
        (Query("Waiting for data to arrive"), True),
        (Query("Processing new data", data=True), False),
        (Query("No new data but cleaning up state"), False),
        (Query("Initializing sources", active=False), True),
    ],
)
def test_to_look_for_data_is_no_work(tmp_path: Path, query: Query, idle: bool) -> None:
    with ProgressWriter(tmp_path / "progress.jsonl") as writer:
        ProgressReporter(ENDPOINTS, writer).report_status(query)
    assert json.loads((tmp_path / "progress.jsonl").read_text())["idle"] is idle
