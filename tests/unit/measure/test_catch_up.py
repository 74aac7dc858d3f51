from dataclasses import replace

import numpy as np
import pytest

from streamgauge.measure.behind import Offsets
from streamgauge.measure.catch_up import WorkedOff, catch_up_rate, caught_up_s, peak_rate

NO_REPORTS = Offsets(np.array([]), np.array([], dtype=np.int64))
NO_OUTPUTS = np.array([], dtype=np.int64)


def offsets(*pairs: tuple[float, int]) -> Offsets:
    return Offsets(
        np.array([at for at, _ in pairs], dtype=float), np.array([total for _, total in pairs])
    )


def backlog(
    finished: Offsets = NO_REPORTS, emitted_ms: object = NO_OUTPUTS, drained: bool = True
) -> WorkedOff:
    return WorkedOff(1_000_000, 100.0, finished, np.asarray(emitted_ms, dtype=np.int64), drained)


def test_steady_progress_tells_the_rate_without_the_start() -> None:
    seen = offsets(
        (100, 0), (108, 0), (109, 50_000), (110, 150_000), (119, 1_050_000), (120, 1_050_000)
    )
    assert catch_up_rate(backlog(seen)) == pytest.approx(100_000)


def test_progress_of_an_engine_that_did_not_come_to_the_end_tells_it_too() -> None:
    seen = offsets((100, 0), (110, 10_000), (120, 20_000), (130, 30_000))
    assert catch_up_rate(backlog(seen, drained=False)) == pytest.approx(1000)


def test_records_that_close_windows_afterwards_do_not_count() -> None:
    seen = offsets((101, 200_000), (103, 600_000), (105, 1_000_000), (109, 1_000_002))
    assert catch_up_rate(backlog(seen)) == pytest.approx(200_000)


def test_one_batch_is_told_by_its_outputs() -> None:
    seen = offsets((100, 0), (115, 1_000_000))
    assert catch_up_rate(backlog(seen, [110_000, 112_000, 114_000])) == pytest.approx(250_000)


def test_outputs_that_wait_for_windows_tell_nothing() -> None:
    seen = offsets((100, 0), (120, 1_000_000))
    waited = replace(backlog(seen, [110_000, 112_000, 114_000]), windowed=True)
    assert catch_up_rate(waited) == pytest.approx(50_000)


def test_outputs_all_at_once_leave_the_time_since_the_start() -> None:
    seen = offsets((100, 0), (120, 1_000_000), (121, 1_000_000))
    assert catch_up_rate(backlog(seen, [119_900, 120_000])) == pytest.approx(50_000)
    assert catch_up_rate(backlog(NO_REPORTS, [119_900, 120_000])) == pytest.approx(50_000)


def test_nothing_worked_off_tells_nothing() -> None:
    assert catch_up_rate(backlog(drained=False)) is None
    assert catch_up_rate(backlog(offsets((100, 0), (200, 0)), drained=False)) is None
    assert catch_up_rate(backlog(NO_REPORTS, [110_000, 120_000], drained=False)) is None


@pytest.mark.parametrize(
    ("behind_s", "after_s"),
    [([0, 1, 2], 0), ([60, 90, 40, 6, 5, 0.2], 4), ([60, 3, 60, 3], 3), ([60, 90], None)],
)
def test_an_engine_has_caught_up_when_it_is_never_behind_again(
    behind_s: list[float], after_s: float | None
) -> None:
    assert caught_up_s(np.array(behind_s, dtype=float)) == after_s


def test_the_peak_is_that_of_five_seconds() -> None:
    seen = offsets((100, 0), (105, 10_000), (110, 510_000), (115, 610_000), (130, 625_000))
    assert peak_rate(backlog(seen)) == pytest.approx(100_000)


def test_without_timely_progress_the_peak_is_that_of_the_outputs() -> None:
    emitted_ms = [110_000 + 10 * number for number in range(1001)] + [150_000]
    assert peak_rate(backlog(emitted_ms=emitted_ms)) == pytest.approx(99_800, rel=0.01)
    windowed = replace(backlog(emitted_ms=emitted_ms), windowed=True)
    assert peak_rate(windowed) is None
    assert peak_rate(backlog(emitted_ms=[110_000])) is None
