from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.lateness import Lateness
from streamgauge.load.protocol import LINES, SenderJob, Sent, TickLine
from streamgauge.load.senders import add_ticks, add_up, share_cpus
from streamgauge.spec.trial import TrialSpec

late = st.lists(st.tuples(st.integers(0, 10**8), st.integers(1, 1000)), max_size=20)


def make_sent(groups: list[tuple[int, int]], **changes: object) -> Sent:
    lateness = Lateness()
    for late_ns, records in groups:
        lateness.add(late_ns, records)
    total = sum(records for _, records in groups)
    fields: dict[str, object] = {
        "due": total,
        "sent": total,
        "acknowledged": total,
        "errors": 0,
        "backpressure_s": 0.0,
        "lateness": lateness.counts,
        "fifo": True,
        "cpu_s": 1.0,
        "requests_s": [],
    }
    return Sent.model_validate(fields | changes)


@given(st.lists(late, min_size=1, max_size=4))
def test_the_lateness_of_all_is_that_of_every_record(parts: list[list[tuple[int, int]]]) -> None:
    whole = make_sent([group for part in parts for group in part])
    summary = add_up([make_sent(part) for part in parts])
    assert summary.send_lateness == add_up([whole]).send_lateness
    assert (summary.due, summary.sent) == (whole.due, whole.sent)


def test_the_worst_sender_decides_what_cannot_be_added() -> None:
    summary = add_up(
        [
            make_sent([(1, 10)], backpressure_s=0.5, errors=2, acknowledged=8),
            make_sent([(1, 10)], backpressure_s=2.0, fifo=False, requests_s=[0.002, 0.004]),
        ]
    )
    assert summary.request["mean"] == 0.003
    assert summary.senders == 2
    assert (summary.backpressure_s, summary.fifo, summary.cpu_s) == (2.0, False, 2.0)
    assert (summary.errors, summary.acknowledged) == (2, 18)


def test_what_was_sent_survives_the_pipe() -> None:
    sent = make_sent([(123_456_789, 7)])
    assert LINES.validate_json(sent.model_dump_json()) == sent


def test_senders_share_a_job_and_write_files_of_their_own() -> None:
    spec = TrialSpec(
        number=1,
        workload="espbench",
        query="q3",
        parameters={},
        engine="noop",
        rate=1000.0,
        duration_s=1.0,
        warmup_s=0.0,
    )
    whole = SenderJob(spec=spec, endpoints={}, ticks=Path("/run/sender.parquet"))
    assert whole.shared(1) == [whole]
    jobs = whole.shared(3)
    assert [(job.number, job.of, job.ticks.name) for job in jobs] == [
        (0, 3, "sender-1.parquet"),
        (1, 3, "sender-2.parquet"),
        (2, 3, "sender-3.parquet"),
    ]


@pytest.mark.parametrize(
    ("cpus", "senders", "shares"),
    [
        ([], 2, [[], []]),
        ([3], 2, [[3], [3]]),
        ([2, 3], 2, [[2], [3]]),
        ([2, 3, 4], 2, [[2, 4], [3]]),
        ([2, 3], 1, [[2, 3]]),
    ],
)
def test_senders_have_cpus_of_their_own_where_there_are_enough(
    cpus: list[int], senders: int, shares: list[list[int]]
) -> None:
    assert share_cpus(cpus, senders) == shares


def test_ticks_are_added() -> None:
    ticks = [TickLine(at_ms=k, due=10, sent=9, outstanding=k, errors=0) for k in (5, 7)]
    assert add_ticks(ticks) == TickLine(at_ms=7, due=20, sent=18, outstanding=12, errors=0)
