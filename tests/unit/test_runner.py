"""What a run looks at before it starts anything, and how it keeps its services up."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from streamgauge import machine, runner
from streamgauge.errors import Interrupted, NotReady, StreamgaugeError
from streamgauge.planning import Asked, plan_run
from streamgauge.results.folder import find
from streamgauge.services.choice import embedded
from streamgauge.services.service import Embedded, RunningService
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
        assert caught.value.remedy == f"Go on with it: streamgauge run --resume {folder.path}"


def up(services: runner.ServiceSet) -> dict[str, str]:
    """Have every service alive, and tell which try of each is."""
    return {name: service.endpoint.address for name, service in services.all_up().items()}


def test_a_dead_service_is_started_again_with_all_that_need_it() -> None:
    happened: list[str] = []
    dead: set[str] = set()
    toys = [
        Toy("broker", happened, dead=dead),
        Toy("store", happened, dead=dead),
        Toy("cache", happened, needs=("store",), dead=dead),
        Toy("front", happened, needs=("cache", "broker"), dead=dead),
    ]
    with runner.ServiceSet(toys, Path("logs")) as services:
        first = {name: f"{name}-1" for name in ("broker", "store", "cache", "front")}
        assert up(services) == first
        happened.clear()
        assert up(services) == first
        assert happened == []
        dead.add("store-1")
        assert up(services) == {
            "broker": "broker-1",
            "store": "store-2",
            "cache": "cache-2",
            "front": "front-2",
        }
        assert "cache-2 begins with store-2" in happened
        assert "front-2 begins with cache-2,broker-1" in happened
        assert {each for each in happened if "ends" in each} == {
            "store-1 ends",
            "cache-1 ends",
            "front-1 ends",
        }
        happened.clear()
    assert sorted(happened) == ["broker-1 ends", "cache-2 ends", "front-2 ends", "store-2 ends"]


def test_the_services_of_a_run_end_in_the_order_of_their_needs() -> None:
    happened: list[str] = []
    dead: set[str] = set()
    toys = [
        Toy("store", happened, dead=dead),
        Toy("cache", happened, needs=("store",), dead=dead),
    ]
    with runner.ServiceSet(toys, Path("logs")) as services:
        up(services)
        happened.clear()
        dead.add("store-1")
        up(services)
        ends = [each for each in happened if "ends" in each]
        assert ends == ["cache-1 ends", "store-1 ends"]
        happened.clear()
    assert happened == ["cache-2 ends", "store-2 ends"]


def test_the_logs_of_services_that_a_run_starts_lie_in_its_folder(tmp_path: Path) -> None:
    kafka = embedded("kafka")
    assert isinstance(kafka, Embedded)
    with runner.ServiceSet([kafka], tmp_path / "logs"):
        assert kafka.options.log_dir == tmp_path / "logs"
