"""The records of the harness's queues, generated again: all that was offered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from streamgauge.errors import TrialInvalid
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.flight.log import FILE, QueueLog
from streamgauge.transports.flight.queue import Integers, Queue, queue_of


@dataclass(frozen=True)
class QueueRecords:
    """One stream of a trial: its spec and its folder contain all that is needed."""

    spec: TrialSpec
    stream: str
    folder: Path
    in_columns: ClassVar[bool] = True

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        queue = queue_of(self.spec, self.stream)
        return [(0, end) for end in queue.ends(read_log(self.folder).filling)]

    def newest_ms(self) -> int | None:
        """Return when the newest record became available, None without records."""
        log = read_log(self.folder)
        filling = log.filling
        times = (filling.first_ms, filling.last_ms, filling.sentinel_ms, *log.at_ms[-1:])
        return max((at_ms for at_ms in times if at_ms is not None), default=None)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order."""
        log, queue = read_log(self.folder), queue_of(self.spec, self.stream)
        at = start
        for batch in queue.batches(partition, start, stop, log.filling):
            offsets = np.arange(at, at + len(batch))
            places = {
                "partition": pa.array(np.full(len(batch), partition, dtype=np.int32)),
                "offset": pa.array(offsets),
                "timestamp": pa.array(_available_ms(queue, partition, offsets, log)),
            }
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield pa.RecordBatch.from_pydict({**places, **columns})
            at += len(batch)


def _available_ms(queue: Queue, partition: int, offsets: Integers, log: QueueLog) -> Integers:
    """Return when the records of a batch became available."""
    put_ms = queue.put_ms(partition, int(offsets[0]), log.filling)
    if put_ms is not None:
        return np.full(len(offsets), put_ms)
    return log.ticks.available_ms(queue.load_index(partition, offsets))


@lru_cache(maxsize=2)
def _read_log(folder: Path, written_ns: int) -> QueueLog:  # noqa: ARG001 - tells files apart
    return QueueLog.read(folder)


def read_log(folder: Path) -> QueueLog:
    """Read what a trial's queues held.

    Raises:
        TrialInvalid: It was not written, or not to its end.
    """
    try:
        return _read_log(folder, (folder / FILE).stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        raise TrialInvalid(f"what the queues of {folder} held cannot be read: {error}") from error


def close_queues(folder: Path, outputs: int) -> None:
    """Note how many outputs count: what came after the drain does not."""
    read_log(folder).model_copy(update={"outputs": outputs}).write(folder)
