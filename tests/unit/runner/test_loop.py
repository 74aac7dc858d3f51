"""What a run looks at before it starts anything, and how it tells its end."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from streamgauge import machine, runner
from streamgauge.errors import Interrupted, NotReady, StreamgaugeError
from streamgauge.planning import Asked, plan_run
from streamgauge.results.folder import find
from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Endpoint, Services
from tests.unit.services.toys import Toy


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


def test_a_folder_of_runs_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spec = plan_run("espbench/q3", {"engine": Asked("reference")})
    with pytest.raises(NotReady, match="cannot write to"):
        runner.start(spec, tmp_path / "file" / "runs", ["test"], lambda _: None, [])


class Broken(Toy):
    """A service that does not start."""

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], RunningService[Endpoint]]:
        raise self.error

    error: BaseException


@pytest.mark.parametrize(
    ("error", "raised", "status"),
    [
        (NotReady("no room for the broker"), NotReady, "failed"),
        (KeyboardInterrupt(), Interrupted, "interrupted"),
    ],
)
def test_a_run_that_cannot_start_says_why(
    tmp_path: Path, error: BaseException, raised: type[StreamgaugeError], status: str
) -> None:
    spec = plan_run("espbench/q3", {"engine": Asked("reference")})
    service = Broken("kafka", [])
    service.error = error
    with pytest.raises(raised) as caught:
        runner.start(spec, tmp_path, ["test"], lambda _: None, [service])
    folder = find(tmp_path, "@0")
    record = folder.record()
    assert record.status == status
    if status == "failed":
        assert record.warnings == ["the run broke off: no room for the broker"]
    else:
        assert caught.value.remedy == f"Resume it: streamgauge run --resume {folder.path}"
