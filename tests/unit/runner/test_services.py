"""How a run keeps its services up."""

from pathlib import Path

from streamgauge.runner.services import ServiceSet
from streamgauge.services.choice import embedded
from streamgauge.services.embedded import Embedded
from tests.unit.services.toys import Toy


def up(services: ServiceSet) -> dict[str, str]:
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
    with ServiceSet(toys, Path("logs")) as services:
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
    with ServiceSet(toys, Path("logs")) as services:
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
    with ServiceSet([kafka], tmp_path / "logs"):
        assert kafka.options.log_dir == tmp_path / "logs"
