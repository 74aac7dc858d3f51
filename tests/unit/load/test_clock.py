from __future__ import annotations

import time

from streamgauge.load.clock import HurriedClock
from streamgauge.load.open_loop import OpenLoop, Stream
from streamgauge.load.payloads import Memory
from streamgauge.load.schedule import Constant
from streamgauge.spec.form import FRONT


class Producer:
    def __init__(self) -> None:
        self.values: list[bytes] = []

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
        self.values.append(value)

    def poll(self, timeout: float) -> int:
        return 0

    def __len__(self) -> int:
        return 0


def test_a_backlog_of_an_hour_is_sent_at_once_with_the_times_of_its_schedule() -> None:
    clock, producer = HurriedClock(), Producer()
    stream = Stream("t", 1, Memory([b"x"]), 0, 1, next=0, step=1, form=FRONT)
    loop = OpenLoop(
        producer,  # type: ignore[arg-type]
        [stream],
        Constant(1.0),
        3600,
        lambda: 0,
        clock_ns=clock.time_ns,
        sleep=clock.sleep,
    )
    began_s, start_ms = time.monotonic(), clock.time_ns() // 1_000_000
    loop.run(start_ms, lambda tick: None)
    assert time.monotonic() - began_s < 60
    assert loop.sent == 3600
    times = [int(value.split(b";")[1]) for value in producer.values]
    assert times == [start_ms + 1000 * number for number in range(3600)]
    assert clock.time_ns() // 1_000_000 >= times[-1], "what follows is later than the backlog"
