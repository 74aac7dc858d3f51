"""The reference engine's part: windows that close when every partition has passed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engines.reference.faults import Output
from streamgauge.jobfile import JobSpec
from streamgauge.services.redis import RedisEndpoint, connect
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Services
from streamgauge.spec.query import Query
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters
from streamgauge.workloads.ysb.store import WINDOW, Row, Store

_PART = "batch-0"
_TIMES = r'^\{"id":\d+,"intended":\d+,.*"event_time":"(?P<time>\d+)"'


def tables(query: str, services: Services) -> Mapping[str, pa.Table]:  # noqa: ARG001
    """Read nothing: the campaign of an ad is known from the seed."""
    return {}


def printed(query: str, exact: bytes) -> bytes | None:  # noqa: ARG001 - the same for both
    """Print an answer as it is: the buffer has done so."""
    return exact


def writer(query: str, services: Services) -> WindowWriter:  # noqa: ARG001 - only one writes
    """Return what writes windows to Redis."""
    return WindowWriter(RedisEndpoint.of(services["redis"]))


def buffer(job: JobSpec, query: Query) -> EventTimeWindows:
    """Return what holds counts back until their window is over."""
    return EventTimeWindows(job, query)


class EventTimeWindows:
    """Keeps counts until every partition has passed the end of their window."""

    empty = True
    """Silence closes no window: a sentinel does."""

    def __init__(self, job: JobSpec, query: Query) -> None:
        self._answers = query.answers
        self._allowed_ms = Parameters.model_validate(job.parameters).allowed_delay_ms
        self._reached_ms = [0] * job.partitions
        self._closed_ms = 0
        """Windows that ended by then were answered."""
        self._partials: pa.Table | None = None

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the counts of all windows that are over now, each with its window in front."""
        self._note_reached(records)
        new = self._answers.expected(records, context)
        new = new.filter(pc.greater(new["window_end"], self._closed_ms))
        partials = new if self._partials is None else pa.concat_tables([self._partials, new])
        over_ms = min(self._reached_ms) - self._allowed_ms
        over = pc.less_equal(partials["window_end"], over_ms)
        self._partials = partials.filter(pc.invert(over))
        self._closed_ms = max(self._closed_ms, over_ms)
        found = self._answers.merge(partials.filter(over), context)
        found = found.filter(pc.invert(found["optional"]))
        count = pc.replace_substring_regex(
            pc.cast(found["value"], pa.string()), pattern=r",\d+,\d+$", replacement=","
        )
        lines = pc.cast(pc.binary_join_element_wise(found["key"], count, ","), pa.binary())
        return found.set_column(found.schema.get_field_index("value"), "value", lines)

    def _note_reached(self, records: pa.Table) -> None:
        found = pc.extract_regex(records["value"], pattern=_TIMES)
        times = pc.cast(pc.cast(pc.struct_field(found, "time"), pa.string()), pa.int64())
        latest = pa.table({"partition": records["partition"], "time": times})
        for row in latest.group_by("partition").aggregate([("time", "max")]).to_pylist():
            partition = row["partition"]
            self._reached_ms[partition] = max(self._reached_ms[partition], row["time_max"])


class WindowWriter:
    """Writes counts to Redis."""

    def __init__(self, redis: RedisEndpoint) -> None:
        self._store, self._redis = Store(redis), connect(redis)
        self._unset: set[str] = set()

    def write(self, outputs: Sequence[Output]) -> None:
        """Write these counts; the first write stays."""
        self._store.write(_PART, [_row(each) for each in outputs if each.key not in self._unset])

    def spoil(self, fault: str, output: Output) -> None:
        """Leave a count out, write it with too early a time, or write an unexpected one."""
        window, campaign, seen, last, _ = _row(output)
        if fault == "unset":
            self._unset.add(output.key)
        elif fault == "early":
            count = f"{seen},{last},,{window}"
            self._redis.hset(f"{WINDOW}{window}", f"{campaign}/{_PART}", count)
        else:
            self._store.write(_PART, [(window - 100 * WINDOW_MS, campaign, seen, last, None)])

    def close(self) -> None:
        """Close the connections."""
        self._store.close()
        self._redis.close()


def _row(output: Output) -> Row:
    window, campaign, seen, last, _ = output.value.decode().split(",")
    return int(window), campaign, int(seen), int(last), None
