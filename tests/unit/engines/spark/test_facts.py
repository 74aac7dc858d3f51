import pytest

from streamgauge.engines.spark.facts import LEAST_RATE, MODES, QueryFacts
from streamgauge.errors import UsageError

FACTS = QueryFacts(
    default="microbatch",
    refused={"realtime": "it cannot run Python"},
    watermark_delay_ms=1,
    watermark_delay_partitioned_ms=100,
)


def test_the_default_is_used_when_no_mode_is_wanted() -> None:
    assert FACTS.choose_mode("q2", None, 1e3) == "microbatch"


def test_an_allowed_mode_is_used() -> None:
    assert FACTS.choose_mode("q2", "continuous", 1e3) == "continuous"


def test_a_refused_mode_is_refused_with_the_reason_and_the_way_out() -> None:
    with pytest.raises(UsageError, match="q2 in mode realtime: it cannot run Python") as caught:
        FACTS.choose_mode("q2", "realtime", 1e3)
    assert caught.value.remedy == "Use -E mode=microbatch or mode=continuous."


def test_an_unknown_mode_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UsageError, match="'real-time'") as caught:
        FACTS.choose_mode("q2", "real-time", 1e3)
    assert "Did you mean realtime?" in str(caught.value.remedy)
    assert all(mode in str(caught.value.remedy) for mode in MODES)


@pytest.mark.parametrize(("partitions", "delay_ms"), [(1, 1), (2, 100), (64, 100)])
def test_several_partitions_have_a_watermark_delay_of_their_own(
    partitions: int, delay_ms: int
) -> None:
    assert FACTS.watermark_delay("microbatch", partitions) == delay_ms


CLOSED = QueryFacts(default="realtime", closed_by_records=frozenset({"realtime"}))


def test_records_close_windows_only_where_no_second_has_too_few() -> None:
    assert CLOSED.choose_mode("q1", None, LEAST_RATE) == "realtime"
    assert CLOSED.choose_mode("q1", None, LEAST_RATE - 0.1) == "microbatch"
    assert CLOSED.choose_mode("q1", "realtime", LEAST_RATE) == "realtime"
    with pytest.raises(UsageError, match="fewer than 10 records of a partition") as caught:
        CLOSED.choose_mode("q1", "realtime", LEAST_RATE - 0.1)
    assert "mode=microbatch" in str(caught.value.remedy)
    assert "mode=realtime" not in str(caught.value.remedy)
