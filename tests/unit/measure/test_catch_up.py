from dataclasses import replace

import numpy as np
import pytest

from streamgauge.measure.behind import Offsets
from streamgauge.measure.catch_up import WorkedOff, catch_up_rate

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
