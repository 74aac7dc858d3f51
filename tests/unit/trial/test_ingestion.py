from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.protocol import SenderSummary
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.transports.kafka import KafkaTransport
from streamgauge.trial.bench import Bench
from streamgauge.trial.ingestion import (
    READ_BACK,
    Ingestion,
    measured_records,
    to_read_back,
)

REMEMBERED = KafkaTransport.remembers
offsets = st.integers(0, 10**9)


def make_spec(**changes: Any) -> TrialSpec:
    fields: dict[str, Any] = {
        "number": 1,
        "workload": "espbench",
        "query": "q3",
        "parameters": {},
        "engine": None,
        "rate": 1000.0,
        "duration_s": 60.0,
        "warmup_s": 10.0,
    }
    return TrialSpec(**(fields | changes))


@pytest.mark.parametrize("rate", [100_000.0, 500_000.0, 1_000_000.0, 1_500_000.0])
def test_what_is_read_back_lies_in_the_measured_time(rate: float) -> None:
    measured = measured_records(make_spec(rate=rate), Fraction(1))
    kept = range(0, int(rate * 72))
    chosen = to_read_back(measured, kept, REMEMBERED)
    assert len(chosen) == READ_BACK
    assert chosen[0] in measured
    assert chosen[-1] in measured


def test_a_partition_has_its_share_of_what_was_due() -> None:
    measured = measured_records(make_spec(partitions=4), Fraction(18_000, 72_000))
    assert measured == range(2501, 17_501)


def test_the_middle_is_read_back_where_the_broker_remembers_it() -> None:
    assert to_read_back(range(100_001, 700_001), range(720_001), REMEMBERED) == range(
        300_001, 500_001
    )


def test_a_load_that_never_came_to_the_measured_time_tells_the_size_of_its_records() -> None:
    assert to_read_back(range(50_000, 90_000), range(20_000), REMEMBERED) == range(20_000)


@given(offsets, offsets, offsets, offsets)
def test_only_what_is_kept_for_sure_is_read_back(a: int, b: int, c: int, d: int) -> None:
    measured, kept = range(min(a, b), max(a, b)), range(min(c, d), max(c, d))
    chosen = to_read_back(measured, kept, REMEMBERED)
    assert len(chosen) <= READ_BACK
    assert max(kept.start, kept.stop - REMEMBERED) <= chosen.start <= chosen.stop <= kept.stop


@pytest.fixture
def trial(tmp_path: Path) -> Ingestion:
    """A trial of a given broker whose load is over."""
    offsets_s = iter([0.001, -0.003])
    kafka = RunningService(
        "kafka", "broker", KafkaEndpoint("127.0.0.1:1"), clock_offset=lambda: next(offsets_s)
    )
    bench = Bench({"kafka": kafka}, lambda: pytest.fail("no Spark"), tmp_path, "test")
    load = LoadSpec(acks="0", idempotence=False)
    trial = Ingestion(make_spec(load=load), bench, tmp_path / "001", lambda _: None)
    trial.state.sender = SenderSummary(
        senders=1,
        due=1000,
        sent=1000,
        acknowledged=1000,
        errors=0,
        backpressure_s=0.0,
        send_lateness={},
        fifo=False,
        cpu_s=1.0,
        request={},
    )
    return trial


def test_without_acknowledgements_what_lies_in_the_log_counts(trial: Ingestion) -> None:
    trial._appended = 900
    result = trial._result()
    assert (result.status, result.inputs) == ("done", 900)
    assert result.kept_up.holds is False
    assert "the broker took 90 % of what was due" in result.kept_up.reason


def test_a_given_brokers_clock_is_compared_and_judged(trial: Ingestion) -> None:
    for _ in range(2):
        trial._compare_clocks()
    assert "at most 3 ms off" in trial._result().valid.reason
    trial.state.clock_offset_s = 0.02
    result = trial._result()
    assert (result.status, result.valid.holds, result.kept_up.holds) == ("invalid", False, None)
