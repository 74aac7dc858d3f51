import pyarrow as pa
import pytest

from streamgauge.measure.latency import measured, seconds, summarize
from streamgauge.measure.matching import LATENCIES
from streamgauge.spec.values import Span

SPAN = Span(10_000, 20_000)


def table(*rows):
    """From (intended, appended, emitted, window_end)."""
    names = ("intended", "appended", "emitted", "window_end")
    columns = [
        {"key": str(number), "correct": True, **dict(zip(names, row, strict=True))}
        for number, row in enumerate(rows)
    ]
    return pa.Table.from_pylist(columns, schema=LATENCIES)


@pytest.mark.parametrize(
    ("intended", "counts"), [(9_999, 0), (10_000, 1), (19_999, 1), (20_000, 0)]
)
def test_a_latency_counts_by_the_intended_time_of_its_latest_input(intended, counts):
    assert len(measured(table((intended, 0, 99_999, None)), SPAN)) == counts


@pytest.mark.parametrize(
    ("window_end", "counts"), [(10_999, 0), (11_000, 1), (20_000, 1), (20_001, 0)]
)
def test_a_window_counts_when_all_of_it_lies_in_the_span(window_end, counts):
    assert len(measured(table((15_000, 0, 99_999, window_end)), SPAN, window_ms=1000)) == counts


def test_windows_cannot_be_chosen_without_their_size():
    with pytest.raises(ValueError, match="window's size"):
        measured(table((15_000, 0, 99_999, 15_000)), SPAN)


def test_latencies_in_seconds_are_never_clipped():
    values = seconds(table((1000, 1010, 1005, 1100), (2000, 2010, 4510, 3000)))
    assert values["latency"].tolist() == [-0.005, 2.5]
    assert values["event_latency"].tolist() == [0.005, 2.51]
    assert values["window_latency"].tolist() == [-0.095, 1.51]


def test_event_and_ingestion_times_count_where_they_are_known():
    rows = table((1000, 1010, 1500, None), (2000, 2010, 2600, None))
    for name, times in {"event": [900, None], "ingested": [None, 2200]}.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pa.array(times, pa.int64()))
    values = seconds(rows)
    assert values["event_latency"].tolist() == [0.6, 0.6]
    assert values["processing_latency"].tolist() == [0.4]
    assert summarize(rows)["pre_window_latency.max"] == 0.2


def test_without_windows_there_is_no_window_latency():
    metrics = summarize(table((1000, 1010, 1020, None), (2000, 2010, 2040, None)))
    assert metrics["latency.max"] == 0.03
    assert metrics["event_latency.p50"] == 0.02
    assert not [name for name in metrics if name.startswith("window_latency")]


def test_an_empty_table_has_no_metrics():
    assert summarize(measured(LATENCIES.empty_table(), SPAN)) == {}
