import re

import pytest

from streamgauge.errors import UsageError
from streamgauge.report.picture import draw
from tests.unit.report.conftest import RunMaker


def test_the_picture_shows_every_trial_and_needs_nothing_from_elsewhere(make: RunMaker) -> None:
    picture = draw(make(trials=2, outputs=3000))
    assert "q1 at 1k/s, microbatch" in picture
    assert "q3 at 1k/s, microbatch" in picture
    assert 400 < picture.count("<path") < 900
    addresses = set(re.findall(r"https?://[^\"']*", picture))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"@font-face|<image|href=", picture)


def test_a_run_without_latencies_has_no_picture(make: RunMaker) -> None:
    with pytest.raises(UsageError, match="no latencies"):
        draw(make(trials=0))
