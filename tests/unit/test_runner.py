"""What a run looks at before it starts anything."""

from pathlib import Path

import pytest

from streamgauge import machine, runner
from streamgauge.errors import NotReady
from streamgauge.planning import Asked, plan_run


@pytest.mark.parametrize(
    ("limit", "named"), [("NEEDED_DISK", "free; a trial may need"), ("NEEDED_MEMORY", "of memory")]
)
def test_a_machine_without_room_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, named: str
) -> None:
    monkeypatch.setattr(machine, limit, 1 << 60)
    spec = plan_run("espbench/q3", {"engine": Asked("reference")})
    with pytest.raises(NotReady, match=named):
        runner.start(spec, tmp_path, ["test"], lambda _: None, [])
    assert list(tmp_path.iterdir()) == []
