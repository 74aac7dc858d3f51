"""Ids: no two records of a trial have the same, whatever it sends and however it is shared."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load import sender
from streamgauge.load.partitioner import partition_of
from streamgauge.load.protocol import SenderJob
from streamgauge.measure.messages import headers
from streamgauge.services.endpoints import write_endpoints
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.form import FORMS, JSON, Form
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.kafka import sending

KEYS = [b"k%d" % number for number in range(7)]
Sent = tuple[str, bytes, bytes | None, int]


class Producer:
    """Delivers everything at once to the list that all producers of a test share."""

    log: list[Sent]

    def __init__(self, _: dict[str, Any]) -> None:
        self._ends: dict[tuple[str, int], int] = {}

    def list_topics(self, timeout: float) -> None:
        pass

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None,
        partition: int,
        on_delivery: Callable[[None, Any], None] | None = None,
    ) -> None:
        self.log.append((topic, value, key, partition))
        if on_delivery is not None:
            on_delivery(None, SimpleNamespace(offset=lambda: 0, timestamp=lambda: (2, 5)))

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        return 0

    def __len__(self) -> int:
        return 0


def make_sender(job: SenderJob, forms: list[Form], payloads: Payloads) -> sender.Sender:
    streams = tuple(job.endpoints["inputs"])
    query = SimpleNamespace(
        streams=streams, configuration=(), form=lambda name: forms[streams.index(name)]
    )
    workload: Any = SimpleNamespace(queries={"q": query}, payloads=lambda *_: payloads)
    return sender.Sender(job, workload, lambda _: None)


def make_job(
    folder: str, streams: int, partitions: int, senders: int, records: int, pulse: bool
) -> list[SenderJob]:
    spec = TrialSpec(
        number=1,
        workload="any",
        query="q",
        parameters={},
        engine="noop",
        rate=1000.0,
        duration_s=records / 1000,
        warmup_s=0.0,
        tail_s=0.0,
        partitions=partitions,
    )
    inputs = {f"s{number}": f"t{number}" for number in range(streams)}
    ticks = Path(folder) / "sender.parquet"
    endpoints = Endpoints(
        transport="kafka",
        via=KafkaEndpoint("h:1"),
        inputs=inputs,
        output=None,
        partitions=partitions,
        group="group",
    )
    job = SenderJob(spec=spec, endpoints=write_endpoints(endpoints), ticks=ticks, pulse=pulse)
    return job.shared(senders)


@given(
    forms=st.lists(st.sampled_from(FORMS), min_size=1, max_size=3),
    partitions=st.integers(1, 5),
    senders=st.integers(1, 4),
    records=st.integers(1, 40),
    keyed=st.booleans(),
    pulse=st.booleans(),
    rounds=st.tuples(st.integers(0, 2), st.integers(1, 3)),
    marker_size=st.sampled_from([None, 1, 3]),
)
def test_no_two_records_of_a_trial_have_the_same_id(
    forms: list[Form],
    partitions: int,
    senders: int,
    records: int,
    keyed: bool,
    pulse: bool,
    rounds: tuple[int, int],
    marker_size: int | None,
) -> None:
    payloads = Payloads(
        [[b'"x":%d}' % number for number in range(len(KEYS))]],
        marker=b'"marker":1}' if marker_size is None else None,
        markers=None if marker_size is None else partial(marker_of, marker_size),
        sentinel=b'"sentinel":1}',
        keys=[KEYS] if keyed else None,
        partition="key" if keyed else "number",
        marker_key=b"m" if keyed else None,
    )
    log: list[Sent] = []
    with (
        TemporaryDirectory() as folder,
        patch.object(sending, "Producer", Producer),
        patch.object(Producer, "log", log, create=True),
    ):
        jobs = make_job(folder, len(forms), partitions, senders, records, pulse)
        all_of_them = [make_sender(job, forms, payloads) for job in jobs]
        before, after = rounds
        markers = [marker for _ in range(before) for marker in all_of_them[0].markers().markers]
        start_ms = time.time_ns() // 1_000_000 - 100  # all of it is due at once
        load = sum(each.load(start_ms).sent for each in all_of_them)
        for _ in range(after):
            markers += all_of_them[0].markers().markers
        markers += all_of_them[0].sentinels().markers
    assert load == records * len(forms)
    ids = []
    for number, form in enumerate(forms):
        mine = [value for topic, value, *_ in log if topic == f"t{number}"]
        ids += headers(pa.array(mine, pa.binary()), form).ids.tolist()
    more = len(markers) - len(forms) * partitions  # but for the sentinels
    assert len(ids) == len(log) == load + len(markers) + more * ((marker_size or 1) - 1)
    assert len(set(ids)) == len(ids), "markers included"
    assert {marker.id for marker in markers} <= set(ids)
    special = [sent for sent in log if b"marker" in sent[1] or b"sentinel" in sent[1]]
    check_places([sent for sent in log if sent not in special], partitions, keyed)
    assert all(key == payloads.marker_key for _, _, key, _ in special)
    assert {marker.value for marker in markers} <= {value for _, value, *_ in special}


def marker_of(size: int, number: int, now_ms: int) -> list[bytes]:
    return [b'"marker":%d,"at":%d,"place":%d}' % (number, now_ms, each) for each in range(size)]


def test_a_marker_of_several_records_lies_in_one_partition_and_is_the_same_in_all_streams() -> None:
    payloads = Payloads([[b'"x":%b}']], markers=partial(marker_of, 3), dated=lambda at: b"%d" % at)
    log: list[Sent] = []
    with (
        TemporaryDirectory() as folder,
        patch.object(sending, "Producer", Producer),
        patch.object(Producer, "log", log, create=True),
    ):
        (job,) = make_job(folder, 2, 2, 1, 5, pulse=False)
        only = make_sender(job, [JSON, JSON], payloads)
        told = only.markers().markers
        start_ms = time.time_ns() // 1_000_000 - 100
        only.load(start_ms)
    assert [(marker.stream, marker.partition) for marker in told] == [
        ("s0", 0), ("s0", 1), ("s1", 0), ("s1", 1)
    ]  # fmt: skip
    sent: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for topic, value, _, partition in log[:12]:
        sent[topic, partition].append(json.loads(value))
    assert [each["place"] for group in sent.values() for each in group] == [0, 1, 2] * 4
    assert len({each["at"] for group in sent.values() for each in group}) == 1
    numbers = {place: {each["marker"] for each in group} for place, group in sent.items()}
    assert numbers["t0", 0] == numbers["t1", 0] != numbers["t0", 1] == numbers["t1", 1]
    assert [json.loads(marker.value)["place"] for marker in told] == [2] * 4
    load = [json.loads(value) for _, value, *_ in log[12:]]
    assert all(each["x"] == each["intended"] for each in load)
    assert len(load) == 10


def check_places(load: list[Sent], partitions: int, keyed: bool) -> None:
    for _, _, key, partition in load:
        if keyed:
            assert key is not None
            assert partition == partition_of(key, partitions)
        else:
            assert (key, 0 <= partition < partitions) == (None, True)


def test_markers_go_on_until_the_load_begins_and_have_smaller_ids() -> None:
    payloads = Payloads([[b"x"]], marker=b"marker")
    log: list[Sent] = []
    now_ms = [5_000]

    def sleep(seconds: float) -> None:
        now_ms[0] += round(seconds * 1000)

    clock = SimpleNamespace(
        time_ns=lambda: now_ms[0] * 1_000_000, sleep=sleep, process_time=time.process_time
    )
    with (
        TemporaryDirectory() as folder,
        patch.object(sending, "Producer", Producer),
        patch.object(Producer, "log", log, create=True),
        patch.object(sender, "time", clock),
    ):
        (job,) = make_job(folder, 1, 2, 1, 10, pulse=True)
        only = make_sender(job, FORMS[:1], payloads)
        only.markers()
        only.load(start_ms=6_000)
        (after, _) = only.markers().markers
    found = headers(pa.array([value for _, value, *_ in log], pa.binary()))
    rounds = [5_000, 5_000, 5_250, 5_500, 5_750]
    before, load = found.intended[:10].tolist(), found.intended[10:-2].tolist()
    assert before == [at_ms for at_ms in rounds for _ in range(2)]
    assert load == sorted(load)
    assert load[0] == 6_000
    assert found.intended[-2:].tolist() == [now_ms[0]] * 2
    assert [partition for *_, partition in log] == [0, 1] * (len(log) // 2)
    assert found.ids.tolist() == sorted(found.ids)
    assert after.id == 2 * 1000 + 10
