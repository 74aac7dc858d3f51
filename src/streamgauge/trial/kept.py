"""The records and tables of a trial: read back, and kept in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.errors import UsageError
from streamgauge.load.outputs import FILE as OUTPUTS
from streamgauge.spec.transport import Endpoints
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import Query
from streamgauge.validation.queue_records import QueueRecords, read_log
from streamgauge.validation.records import KafkaRecords, ParquetRecords, Records, keep

if TYPE_CHECKING:
    from streamgauge.validation.validator import Validation

OUTPUT = "out"
_EXAMPLES = "examples.parquet"


def records(
    spec: TrialSpec, endpoints: Endpoints, folder: Path, output_ends: tuple[int, ...]
) -> tuple[dict[str, Records], Records | None]:
    """Return the records of a trial that is over; outputs after these ends came too late."""
    if endpoints.flight is not None:
        close_queues(folder, *output_ends)
        return queue_records(spec, folder)
    inputs: dict[str, Records] = {
        stream: KafkaRecords(endpoints.broker, topic) for stream, topic in endpoints.inputs.items()
    }
    if endpoints.output is None:
        return inputs, None
    return inputs, KafkaRecords(endpoints.broker, endpoints.output, output_ends, gaps=True)


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Keep what the answers need beyond the topics."""
    (folder / "validation").mkdir(exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / "validation" / f"{name}.parquet", compression="zstd")


def read_tables(folder: Path) -> dict[str, pa.Table]:
    """Read back what `write_tables` kept."""
    files = (folder / "validation").glob("*.parquet")
    return {file.stem: pq.read_table(file) for file in files if file.name != _EXAMPLES}


def keep_records(folder: Path, inputs: Mapping[str, Records], output: Records | None) -> None:
    """Keep all records of the topics, so that the trial can be validated again."""
    (folder / "records").mkdir(exist_ok=True)
    for name, records in {**inputs, **({OUTPUT: output} if output else {})}.items():
        keep(records, folder / "records" / f"{name}.parquet")


def drop_records(folder: Path) -> None:
    """Remove what came back to the driver's queues: it has been looked at."""
    shutil.rmtree(folder / "records", ignore_errors=True)


def close_queues(folder: Path, outputs: int) -> None:
    """Note how many outputs count: what came after the drain does not."""
    read_log(folder).model_copy(update={"outputs": outputs}).write(folder)


def queue_records(spec: TrialSpec, folder: Path) -> tuple[dict[str, Records], Records | None]:
    """Return the records of the driver's queues, to be generated, and what came back."""
    folder = folder.absolute()
    streams = read_log(folder).handed
    inputs: dict[str, Records] = {name: QueueRecords(spec, name, folder) for name in streams}
    return inputs, ParquetRecords(folder / OUTPUTS, (read_log(folder).outputs or 0,))


def kept_records(
    folder: Path, query: Query, spec: TrialSpec
) -> tuple[dict[str, Records], Records | None]:
    """Open what `keep_records` kept."""
    if spec.transport == "flight" and (folder / OUTPUTS).exists():
        return queue_records(spec, folder)
    places = {name: folder / "records" / f"{name}.parquet" for name in (*query.streams, OUTPUT)}
    for name in query.streams:
        if not places[name].exists():
            raise UsageError(f"the records of {folder} were not kept", "run it again with --keep")
    inputs: dict[str, Records] = {name: ParquetRecords(places[name]) for name in query.streams}
    output = ParquetRecords(places[OUTPUT], gaps=True) if query.output == "topic" else None
    return inputs, output


def write_validation(folder: Path, validation: Validation) -> None:
    """Write every latency, and the first examples of each kind of error."""
    (folder / "validation").mkdir(exist_ok=True)
    pq.write_table(validation.latencies, folder / "latency.parquet", compression="zstd")
    pq.write_table(validation.examples, folder / "validation" / _EXAMPLES)
