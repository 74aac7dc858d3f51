from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.load.spark_job import _slots
from streamgauge.spec.trial import MOST_SENDERS


def cluster(*cores: int) -> Any:
    """Make the context of a cluster with so many cores at each look; the last number stays."""
    seen = list(cores)
    spark = SimpleNamespace(
        resourceProfileManager=lambda: SimpleNamespace(defaultResourceProfile=lambda: "default"),
        maxNumConcurrentTasks=lambda _: seen.pop(0) if len(seen) > 1 else seen[0],
    )
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: spark))


def test_a_task_for_each_core_when_all_executors_have_called_in() -> None:
    assert _slots(cluster(0, 0, 4, 4, 8), None, lambda _: None) == 8
    assert _slots(cluster(1), None, lambda _: None) == 1


def test_a_large_cluster_is_not_taken_beyond_the_most_senders() -> None:
    assert _slots(cluster(1000), None, lambda _: None) == MOST_SENDERS


def test_a_cluster_without_a_free_core_is_told() -> None:
    with pytest.raises(SystemExit, match="no free core"):
        _slots(cluster(0), None, lambda _: None)


def test_senders_that_were_asked_for_wait_for_no_more_than_they_need() -> None:
    waits: list[float] = []
    assert _slots(cluster(0, 1, 1, 2, 3), 2, waits.append) == 2
    assert len(waits) == 3


def test_a_cluster_that_is_too_small_is_told_as_soon_as_it_has_settled() -> None:
    with pytest.raises(SystemExit, match="2 free slots, and each of 3 senders"):
        _slots(cluster(0, 1, 2), 3, lambda _: None)
