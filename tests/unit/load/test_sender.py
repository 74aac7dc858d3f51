import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from streamgauge.load import sender
from streamgauge.load.payloads import Memory, Sources
from streamgauge.load.protocol import SenderJob
from streamgauge.services.endpoints import write_endpoints
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.form import FRONT
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.kafka import sending

RECORDS = 20


class Producer:
    """Takes every record and gives some up, as librdkafka does when nobody acknowledges them."""

    given_up = 0
    unanswered = 0

    def __init__(self, settings: dict[str, Any]) -> None:
        self._report: Callable[[KafkaError | None, Any], None] = settings.get(
            "on_delivery", lambda *_: None
        )

    def list_topics(self, timeout: float) -> None:
        pass

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
        pass

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        for _ in range(self.given_up):
            self._report(KafkaError(KafkaError._MSG_TIMED_OUT), None)
        return self.unanswered

    def __len__(self) -> int:
        return 0


def make_job(folder: Path) -> SenderJob:
    spec = TrialSpec(
        number=1,
        workload="any",
        query="q",
        parameters={},
        engine="noop",
        rate=1000.0,
        duration_s=RECORDS / 1000,
        warmup_s=0.0,
        tail_s=0.0,
    )
    ticks = folder / "sender.parquet"
    endpoints = Endpoints(
        transport="kafka",
        via=KafkaEndpoint("h:1"),
        inputs={"s": "topic"},
        output=None,
        partitions=1,
        group="group",
    )
    return SenderJob(spec=spec, endpoints=write_endpoints(endpoints), ticks=ticks)


def make_workload(blocks: Iterable[list[bytes]]) -> Any:
    payloads = Payloads(blocks)
    queries = {"q": SimpleNamespace(streams=("s",), configuration=(), form=lambda _: FRONT)}
    return SimpleNamespace(queries=queries, payloads=lambda *_: payloads)


@pytest.fixture
def send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sender.Sender:
    monkeypatch.setattr(sending, "Producer", Producer)
    return sender.Sender(make_job(tmp_path), make_workload([[b"x"]]), lambda _: None)


@pytest.mark.parametrize(("given_up", "unanswered"), [(0, 0), (3, 0), (0, 2), (3, 2)])
def test_a_record_that_is_given_up_without_an_acknowledgement_is_lost(
    send: sender.Sender, monkeypatch: pytest.MonkeyPatch, given_up: int, unanswered: int
) -> None:
    monkeypatch.setattr(Producer, "given_up", given_up)
    monkeypatch.setattr(Producer, "unanswered", unanswered)
    sent = send.load(time.time_ns() // 1_000_000 - 100)  # all of it is due at once
    assert (sent.due, sent.sent, sent.errors) == (RECORDS, RECORDS, given_up)
    assert sent.acknowledged == RECORDS - given_up - unanswered


def test_a_sender_that_streams_renders_nothing_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(sending, "Producer", Producer)

    def open_(_: Payloads, path: Path) -> Sources:
        opened.append(path)
        return Sources(Memory([b"x"]))

    monkeypatch.setattr(sender, "streamed", open_)
    rendered = iter([[b"x"]])
    job = make_job(tmp_path).model_copy(update={"payloads": tmp_path})
    sender.Sender(job, make_workload(rendered), lambda _: None)
    assert opened == [tmp_path / "s"]
    assert next(rendered) == [b"x"]
