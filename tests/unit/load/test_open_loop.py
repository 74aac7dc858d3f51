from itertools import pairwise

import pytest

from streamgauge.load import shapes
from streamgauge.load.open_loop import OVERRUN_MS, OpenLoop, Stream, Tick
from streamgauge.load.payloads import Memory
from streamgauge.load.schedule import Constant, Share
from streamgauge.load.shapes import Spans
from streamgauge.spec.form import JSON

START_MS = 1_000_000


class Clock:
    """Time that passes only by sleeping, and a little with every look at it."""

    def __init__(self, look_ns: int = 1000) -> None:
        self.now_ns = START_MS * 1_000_000
        self.look_ns = look_ns

    def __call__(self) -> int:
        self.now_ns += self.look_ns
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


class Broker:
    """Keeps what it is given; takes nothing while `full` says so."""

    def __init__(self, clock: Clock, record_ns: int = 0) -> None:
        self.clock = clock
        self.record_ns = record_ns
        self.taken: list[tuple[str, bytes, int, int]] = []
        self.full_until_ns = 0

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
        if self.clock.now_ns < self.full_until_ns:
            raise BufferError
        self.taken.append((topic, value, partition, self.clock.now_ns))
        self.clock.now_ns += self.record_ns

    def poll(self, timeout: float) -> int:
        self.clock.sleep(timeout)
        return 0

    def __len__(self) -> int:
        return 0


class KeyedBroker(Broker):
    """Keeps the keys as well."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.keyed: list[tuple[bytes, bytes | None, int]] = []

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
        super().produce(topic, value, key, partition)
        self.keyed.append((value, key, partition))


def make_loop(
    broker: Broker, *, rate: float, records: int, streams: int = 1, partitions: int = 1
) -> OpenLoop:
    payloads = Memory([b"a", b"b", b"c"])
    rings = [Stream(f"s{k}", partitions, payloads, k, streams) for k in range(streams)]
    return OpenLoop(
        broker,
        rings,
        Constant(rate),
        records,
        lambda: 0,
        clock_ns=broker.clock,
        sleep=broker.clock.sleep,
    )


def ignore(_: Tick) -> None:
    pass


def test_ids_intended_times_payloads_and_partitions_follow_the_record_number() -> None:
    broker = Broker(Clock())
    make_loop(broker, rate=500.0, records=4, streams=2, partitions=3).run(START_MS, ignore)
    assert [taken[:3] for taken in broker.taken] == [
        ("s0", b"0;1000000;a", 0),
        ("s1", b"1;1000000;a", 0),
        ("s0", b"2;1000002;b", 1),
        ("s1", b"3;1000002;b", 1),
        ("s0", b"4;1000004;c", 2),
        ("s1", b"5;1000004;c", 2),
        ("s0", b"6;1000006;a", 0),
        ("s1", b"7;1000006;a", 0),
    ]


def test_no_record_is_sent_before_its_time_and_none_much_later() -> None:
    broker = Broker(Clock())
    loop = make_loop(broker, rate=10_000.0, records=5000)
    loop.run(START_MS, ignore)
    for _, value, _, at_ns in broker.taken:
        late_ns = at_ns - int(value.split(b";")[1]) * 1_000_000
        assert 0 <= late_ns < 1_000_000
    assert loop.lateness.statistics()["max"] < 0.001


def test_after_a_stall_everything_is_sent_with_its_old_intended_times() -> None:
    clock = Clock()
    broker = Broker(clock)
    broker.full_until_ns = (START_MS + 300) * 1_000_000
    loop = make_loop(broker, rate=1000.0, records=1000)
    loop.run(START_MS, ignore)
    assert loop.sent == loop.due == 1000
    assert [int(value.split(b";")[1]) for _, value, _, _ in broker.taken] == list(
        range(START_MS, START_MS + 1000)
    )
    assert loop.backpressure_s == pytest.approx(0.3, abs=0.01)
    assert loop.lateness.statistics()["max"] == pytest.approx(0.3, abs=0.01)


def test_a_wait_that_ends_with_its_first_poll_is_back_pressure_too() -> None:
    broker = Broker(Clock())
    broker.full_until_ns = (START_MS + 1) * 1_000_000
    loop = make_loop(broker, rate=1000.0, records=1)
    loop.run(START_MS, ignore)
    assert loop.sent == 1
    assert loop.backpressure_s == pytest.approx(0.001, abs=0.0001)


def test_the_loop_gives_up_a_while_after_the_schedules_end() -> None:
    clock = Clock()
    broker = Broker(clock)
    broker.full_until_ns = (START_MS + 3_600_000) * 1_000_000
    loop = make_loop(broker, rate=1000.0, records=500)
    loop.run(START_MS, ignore)
    assert loop.sent == 0
    assert loop.rows[-1].due <= 500
    assert clock.now_ns // 1_000_000 - START_MS == pytest.approx(500 + OVERRUN_MS, abs=5)


def test_rows_come_ten_times_and_reports_once_a_second() -> None:
    broker = Broker(Clock())
    reports: list[Tick] = []
    loop = make_loop(broker, rate=100.0, records=300)
    loop.run(START_MS, reports.append)
    assert len(loop.rows) == pytest.approx(30, abs=1)
    assert [tick.sent for tick in reports] == pytest.approx([100, 200], abs=2)


def test_rows_come_as_often_when_the_sender_cannot_keep_its_schedule() -> None:
    broker = Broker(Clock(), record_ns=20_000)
    loop = make_loop(broker, rate=100_000.0, records=80_000)
    loop.run(START_MS, ignore)
    at_ms = [row.at_ms for row in loop.rows]
    assert loop.sent == 80_000
    assert max(later - earlier for earlier, later in pairwise(at_ms)) < 120


def test_a_start_in_the_future_is_waited_for() -> None:
    broker = Broker(Clock())
    make_loop(broker, rate=1000.0, records=1).run(START_MS + 5000, ignore)
    assert broker.taken[0][3] >= (START_MS + 5000) * 1_000_000


@pytest.mark.parametrize("senders", [1, 2, 3])
@pytest.mark.parametrize("follows", ["number", "key"])
def test_keys_and_partitions_follow_the_record_number_whoever_sends(
    senders: int, follows: str
) -> None:
    partitions, records, keys = 3, 500, [b"a", b"bb", b"c", b"dd"]
    taken = []
    for number in range(senders):
        broker = KeyedBroker(Clock())
        broker.full_until_ns = (START_MS + 20) * 1_000_000
        stream = Stream(
            "s0",
            partitions,
            Memory([b'"x":%d}' % i for i in range(5)]),
            0,
            1,
            next=partitions + number,
            step=senders,
            form=JSON,
            keys=Memory(keys),
            chosen=Memory([2, 0, 0, 1]) if follows == "key" else None,
        )
        loop = OpenLoop(
            broker,
            [stream],
            Share(Constant(7000.0), number, senders),
            len(range(number, records, senders)),
            lambda: 0,
            clock_ns=broker.clock,
            sleep=broker.clock.sleep,
        )
        loop.run(START_MS, ignore)
        taken += broker.keyed
    intended = [START_MS + int(i * 1000 // 7000) for i in range(records)]
    assert sorted(taken) == sorted(
        (
            b'{"id":%d,"intended":%d,"x":%d}' % (i, intended[i - partitions], i % 5),
            keys[i % 4],
            i % partitions if follows == "number" else [2, 0, 0, 1][i % 4],
        )
        for i in range(partitions, partitions + records)
    )


def test_keyed_records_without_room_until_the_end_are_given_up() -> None:
    broker = KeyedBroker(Clock())
    broker.full_until_ns = (START_MS + 3_600_000) * 1_000_000
    stream = Stream("s0", 1, Memory([b"a"]), 0, 1, keys=Memory([b"k"]))
    loop = OpenLoop(
        broker,
        [stream],
        Constant(1000.0),
        500,
        lambda: 0,
        clock_ns=broker.clock,
        sleep=broker.clock.sleep,
    )
    loop.run(START_MS, ignore)
    assert loop.sent == 0
    assert loop.backpressure_s == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize(("senders", "partitions"), [(2, 1), (3, 2), (4, 4), (5, 3)])
def test_several_senders_send_what_one_would_have_sent(senders: int, partitions: int) -> None:
    alone = Broker(Clock())
    make_loop(alone, rate=7000.0, records=1001, partitions=partitions).run(START_MS, ignore)
    together: list[tuple[str, bytes, int]] = []
    for number in range(senders):
        broker = Broker(Clock())
        payloads = Memory([b"a", b"b", b"c"])
        stream = Stream("s0", partitions, payloads, 0, 1, next=number, step=senders)
        share = Share(Constant(7000.0), number, senders)
        records = len(range(number, 1001, senders))
        loop = OpenLoop(
            broker,
            [stream],
            share,
            records,
            lambda: 0,
            clock_ns=broker.clock,
            sleep=broker.clock.sleep,
        )
        loop.run(START_MS, ignore)
        assert loop.sent == loop.due == records
        together += [taken[:3] for taken in broker.taken]
    assert sorted(together) == sorted(taken[:3] for taken in alone.taken)


def test_a_pause_of_the_load_is_kept() -> None:
    broker = Broker(Clock())
    schedule = shapes.steps([(1000.0, 50), (0.0, 500), (1000.0, 50)]).schedule(Spans(0, 600, 0), 1)
    stream = Stream("s0", 1, Memory([b"a"]), 0, 1)
    loop = OpenLoop(
        broker,
        [stream],
        schedule,
        100,
        lambda: 0,
        clock_ns=broker.clock,
        sleep=broker.clock.sleep,
    )
    loop.run(START_MS, ignore)
    times = [at_ns // 1_000_000 - START_MS for *_, at_ns in broker.taken]
    assert times == [*range(50), *range(550, 600)]
