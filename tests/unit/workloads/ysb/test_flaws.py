"""What is wrong in the original benchmark, and cannot happen here; see docs/workloads/ysb.md.

That a replayed batch counts nothing twice, that a late write changes no time, and that what an
engine remembers lasts longer than an event, is shown with a real Redis in tests/integration.
"""

from __future__ import annotations

from itertools import chain

import pyarrow as pa

from streamgauge.load.open_loop import OpenLoop, Stream
from streamgauge.load.payloads import Memory
from streamgauge.load.schedule import Constant
from streamgauge.measure import latency
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.matching import match
from streamgauge.measure.verdicts import LoadFacts, valid
from streamgauge.spec.form import JSON
from streamgauge.spec.trial import LoadSpec
from streamgauge.spec.values import Span
from streamgauge.workloads.ysb import Ysb, data
from streamgauge.workloads.ysb.answers import Views
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters
from tests.unit.load.test_open_loop import START_MS, Broker, Clock
from tests.unit.workloads.ysb.events import BEGIN, FIRST, context, event, records

VIEWS = Views()


def latencies(*rows: tuple[int, int, int]) -> pa.Table:
    """Answer windows of one event: its time, and when the count came, after the beginning."""
    values = [event(number, at_ms) for number, (_, at_ms, _) in enumerate(rows)]
    answers = VIEWS.merge(VIEWS.expected(records(*values), context()), context())
    lines = [f"{BEGIN + start},{FIRST},1,{BEGIN + at},250.0" for start, at, _ in rows]
    emitted = [BEGIN + came for *_, came in rows]
    columns = [[0] * len(rows), list(range(len(rows))), emitted, lines]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, RECORDS, strict=True)]
    logged = pa.table(arrays, schema=RECORDS)
    outputs = VIEWS.outputs(logged)
    for name in ("partition", "offset"):
        outputs = outputs.append_column(name, logged[name])
    found = match(answers, outputs, VIEWS.agree, VIEWS)
    assert found.counts.correct == len(rows)
    return found.latencies


def test_a_window_whose_last_event_came_early_has_no_negative_latency() -> None:
    """Flaw 1: latency is taken from the last event, not from the window's end."""
    found = latency.seconds(latencies((0, 2_000, 2_300)))
    assert found["event_latency"].tolist() == [0.3]
    assert found["window_latency"].tolist() == [-7.7], "the original's, told but never clipped"


def test_pre_window_latency_and_window_time_make_the_whole() -> None:
    """Flaw 8: what is spent before the window is told apart."""
    found = latency.summarize(latencies((0, 2_000, 2_300)))
    parts = found["pre_window_latency.max"], found["processing_latency.max"]
    assert parts == (0.25, 0.05)
    assert sum(parts) == found["event_latency.max"]


def test_every_sender_draws_the_same_ads() -> None:
    """Flaw 5: the number of ads does not grow with the number of generators."""
    parameters = Parameters(campaigns=7)
    one, two = (list(chain.from_iterable(data.payloads(parameters, 3, 4000))) for _ in range(2))
    assert one == two
    shown = {payload.split(b'"ad_id":"')[1][:36] for payload in one}
    assert shown == set(data.ads(7, 3))
    assert len(shown) == 70


def test_a_sender_that_stalls_keeps_the_event_times_and_is_found_out() -> None:
    """Flaw 6: the event time is that of the schedule, and falling behind is no footnote."""
    broker = Broker(Clock())
    broker.full_until_ns = (START_MS + 300) * 1_000_000
    payloads = [b'"event_time":"%d"}']
    stream = Stream("s", 1, Memory(payloads), 0, 1, form=JSON, shifts=Memory([0]))
    clock, sleep = broker.clock, broker.clock.sleep
    loop = OpenLoop(broker, [stream], Constant(1000.0), 500, lambda: 0, clock_ns=clock, sleep=sleep)
    loop.run(START_MS, lambda _: None)
    assert [value for _, value, _, _ in broker.taken] == [
        b'{"id":%d,"intended":%d,"event_time":"%d"}' % (n, START_MS + n, START_MS + n)
        for n in range(500)
    ]
    late = LoadFacts(due=500, sent=500, lateness_p99_s=0.29, clock_moved_s=0.0)
    assert valid(LoadSpec(), late).holds is False


def test_windows_that_are_cut_off_are_in_no_statistics() -> None:
    """Flaw 7: a window counts when all of it lies in the measured time."""
    rows = latencies((0, 9_000, 10_500), (10_000, 19_000, 20_500), (20_000, 29_000, 30_500))
    span = Span(BEGIN + 4_000, BEGIN + 24_000)
    counted = latency.measured(rows, span, Ysb.queries["redis"].window_ms)
    assert counted["window_end"].to_pylist() == [BEGIN + 2 * WINDOW_MS]


def test_event_times_are_off_as_they_were_drawn() -> None:
    broker = Broker(Clock())
    stream = Stream(
        "s", 2, Memory([b'"t":"%d"}']), 0, 1, form=JSON, shifts=Memory([0, 40, -50_000])
    )
    clock, sleep = broker.clock, broker.clock.sleep
    loop = OpenLoop(broker, [stream], Constant(1000.0), 4, lambda: 0, clock_ns=clock, sleep=sleep)
    loop.run(START_MS, lambda _: None)
    times = [int(value.split(b'"t":"')[1][:-2]) - START_MS for _, value, _, _ in broker.taken]
    assert times == [0, 41, -49_998, 3]
