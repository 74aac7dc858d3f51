"""What profiling costs here is kept for later profiles, where it was measured well."""

from pathlib import Path

import pytest

from streamgauge.profilers.known import keep, known
from streamgauge.profiling.overhead import Overhead


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path))


def measured(*backends: str, pairs: int = 12, what: str = "ysb/topic at 10k/s") -> Overhead:
    return Overhead(backends=list(backends), what=what, pairs=pairs)


def test_what_was_measured_is_known_of_each_of_its_back_ends() -> None:
    keep(measured("async-profiler", "py-spy"))
    assert known(["py-spy"]) == known(["async-profiler", "py-spy"]) is not None
    assert known(["perf", "py-spy"]) is None


def test_nothing_is_known_where_no_back_end_has_sampled() -> None:
    keep(measured("async-profiler"))
    assert known([]) is None


def test_the_newest_counts_unless_it_has_too_few_pairs() -> None:
    newer = measured("jfr", what="espbench/q3 at 1k/s", pairs=10)
    keep(measured("jfr"))
    keep(newer)
    keep(measured("jfr", pairs=9))
    assert known(["jfr"]) == newer
