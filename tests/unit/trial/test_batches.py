"""What batches tell: only those that ended in the measured span."""

from streamgauge.spec.progress import BatchReport, FinishedBatch
from streamgauge.spec.values import Span
from streamgauge.trial.batches import batch_metrics

SPAN = Span(100_000, 160_000)


def ended(at: float, took_ms: float = 500, dropped: int | None = None) -> FinishedBatch:
    report = BatchReport(began_ms=at * 1000 - took_ms, took_ms=took_ms, dropped=dropped)
    return FinishedBatch(at=at, batch=report)


def test_only_batches_that_ended_in_the_span_count() -> None:
    batches = [ended(99.9, 9000), *(ended(100 + second) for second in range(60)), ended(160, 9000)]
    found = batch_metrics(batches, SPAN)
    assert found["batch.p95"] == found["batch.max"] == 0.5
    assert "dropped.rate" not in found, "the engine does not tell"


def test_few_batches_carry_no_percentile() -> None:
    found = batch_metrics([ended(110.0), ended(120.0)], SPAN)
    assert "batch.p95" not in found
    assert found["batch.max"] == 0.5
    assert batch_metrics([], SPAN) == {}


def test_what_was_dropped_is_told_of_the_worst_five_seconds() -> None:
    batches = [ended(101.0, dropped=10), ended(104.0, dropped=20), ended(106.0, dropped=5)]
    assert batch_metrics(batches, SPAN)["dropped.rate"] == 6.0
    long = ended(150.0, took_ms=20_000, dropped=100)
    assert batch_metrics([long], SPAN)["dropped.rate"] == 5.0, "a batch may take longer than that"
    assert batch_metrics([ended(101.0, dropped=0)], SPAN)["dropped.rate"] == 0.0
