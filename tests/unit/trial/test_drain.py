"""When an engine has begun and come to the end, on a clock that is set by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from streamgauge.load.protocol import Marker
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Progress
from streamgauge.spec.records import Record
from streamgauge.trial.drain import STILL_S, TIMELY_S, Drainage, still_s
from streamgauge.workloads.espbench.workload import Espbench
from streamgauge.workloads.rovio import Rovio

Finished = dict[tuple[str, int], int]
Q1, Q3, Q5 = (Espbench.queries[name] for name in ("q1", "q3", "q5"))
MARKERS = [
    Marker(stream="sensor1", partition=p, offset=9, id=100 + p, value=b"", appended_ms=p)
    for p in (0, 1)
]
BEFORE: Finished = {("sensor1", 0): 10, ("sensor1", 1): 9}
PAST: Finished = {("sensor1", 0): 10, ("sensor1", 1): 10}


@dataclass
class Job:
    """An engine that reports what it is told to."""

    reported: Progress | None = None

    def progress(self) -> Progress | None:
        return self.reported

    def report(self, finished: Finished, *, idle: bool = True) -> None:
        self.reported = Progress(finished, idle, at=0.0)


@dataclass
class Channel:
    """Streams with as many outputs as they are told to have."""

    ends: list[int] = field(default_factory=lambda: [0, 0])
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    answers: list[Record] = field(default_factory=list)
    followed: list[Sequence[int]] = field(default_factory=list)
    closed: int = 0

    def committed(self) -> Mapping[tuple[str, int], int]:
        return self.offsets

    def log_end(self, name: str) -> list[int]:
        return list(self.ends)

    def follow(self, name: str, starts: Sequence[int]) -> "Channel":
        self.followed.append(starts)
        return self

    def read(self) -> list[Record]:
        found, self.answers = self.answers, []
        return found

    def close(self) -> None:
        self.closed += 1

    def answer(self, *ids: int) -> None:
        self.answers += [Record(0, n, 0, b"%d;0;anything" % id_) for n, id_ in enumerate(ids)]


class Bench:
    """A drainage with all that it looks at."""

    def __init__(self, query=Q3, job=None, marker_key=lambda marker: str(marker.id)) -> None:
        self.now_s, self.table_answered = 1000.0, False
        self.channel, self.job = Channel(), job or Job()
        places = {stream: stream for stream in query.streams}
        output = "out" if query.output == "topic" else None
        endpoints = Endpoints("kafka", KafkaEndpoint("x:1"), places, output, 2, "group")
        self.drainage = Drainage(
            query,
            endpoints,
            self.channel,  # type: ignore[arg-type]  # what a drainage needs of one
            lambda markers: self.table_answered,
            self.job,
            marker_key,
            lambda: self.now_s,
        )
        self.drainage.follow()

    def drained(self, after_s: float = 0.0) -> bool:
        self.now_s += after_s
        return self.drainage.drained(MARKERS)

    def passed(self) -> bool:
        return self.drainage.passed(MARKERS)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_engine_consumes_when_its_progress_is_past_every_marker(bench: Bench) -> None:
    assert not bench.passed()
    bench.job.report(BEFORE)
    assert not bench.passed()
    assert bench.drainage.outstanding(MARKERS) == 1
    bench.job.report(PAST, idle=False)
    assert bench.passed()


def test_or_when_every_marker_is_answered(bench: Bench) -> None:
    bench.channel.answer(7, 100)
    assert not bench.passed()
    bench.channel.answer(101)
    assert bench.passed(), "answers that were seen before count"


def test_or_when_it_has_committed_them_to_its_group() -> None:
    bench = Bench(job=object())  # that cannot report its progress
    bench.channel.offsets = PAST
    assert bench.passed()


def test_no_report_at_all_is_nothing_to_count(bench: Bench) -> None:
    assert bench.drainage.outstanding(MARKERS) is None


def test_answers_in_tables_are_looked_up_there() -> None:
    bench = Bench(Q5)
    assert not bench.passed()
    bench.table_answered = True
    assert bench.passed()
    assert bench.channel.followed == [], "there is no output to follow"


def test_a_query_that_answers_no_markers_needs_progress() -> None:
    bench = Bench(Q1, marker_key=None)
    bench.channel.answer(100, 101)
    assert not bench.passed()
    assert bench.channel.followed == []


def test_it_is_drained_when_its_outputs_rest_after_the_end(bench: Bench) -> None:
    bench.job.report(PAST)
    assert not bench.drained()
    assert not bench.drained(STILL_S - 0.1)
    bench.channel.ends = [1, 0]
    assert not bench.drained(0.2), "one more came"
    assert not bench.drained(STILL_S - 0.1)
    assert bench.drained(0.1)
    assert bench.drained(TIMELY_S + 1), "progress decides, however long ago it was told"


def test_it_is_not_drained_while_it_works_and_the_rest_begins_anew(bench: Bench) -> None:
    bench.job.report(PAST)
    assert not bench.drained()
    bench.job.report(PAST, idle=False)
    assert not bench.drained(STILL_S)
    bench.job.report(PAST)
    assert not bench.drained(0.1)
    assert bench.drained(STILL_S)


def test_answers_decide_only_where_progress_has_stopped_short(bench: Bench) -> None:
    bench.job.report(BEFORE)
    bench.channel.answer(100, 101)
    assert not bench.drained()
    assert not bench.drained(TIMELY_S), "progress may still come"
    assert not bench.drained(0.1), "from now on its outputs must rest"
    assert bench.drained(STILL_S)


def test_progress_that_moves_takes_the_decision_back_from_answers(bench: Bench) -> None:
    bench.channel.answer(100, 101)
    bench.job.report({("sensor1", 0): 1})
    assert not bench.drained()
    for done in range(2, 5):
        bench.job.report({("sensor1", 0): done})
        assert not bench.drained(TIMELY_S - 0.1)


def test_following_again_looks_from_the_present_end_of_the_output(bench: Bench) -> None:
    bench.channel.ends = [5, 6]
    bench.drainage.follow()
    assert bench.channel.followed == [[0, 0], [5, 6]]
    assert bench.channel.closed == 1


def test_sentinels_close_windows_up_to_two_triggers_later() -> None:
    join = Rovio.queries["join"]
    assert join.needs_sentinels
    assert still_s(join, 4.0) == STILL_S + 8.0
    assert still_s(join, None) == still_s(Q3, 4.0) == STILL_S
