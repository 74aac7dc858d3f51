"""How services are started together, and how far the clock of another is from ours."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from streamgauge.errors import NotReady
from streamgauge.services.given import measure_offset
from streamgauge.services.starting import all_up
from streamgauge.spec.endpoints import Services
from tests.unit.services.toys import Toy, ToyRunning


def test_the_quickest_answer_tells_the_offset() -> None:
    # Times of asking and of the answer; the other clock is 20 s ahead, read half way or late.
    ours: Iterator[float] = iter([0.0, 1.0, 10.0, 10.2, 20.0, 24.0])
    theirs: Iterator[float] = iter([20.9, 30.1, 43.9])
    found = measure_offset(lambda: next(theirs), lambda: next(ours), tries=3)
    assert found == pytest.approx(20.0)


def test_services_start_at_the_same_time_but_after_what_they_need() -> None:
    happened: list[str] = []
    broker, store = Toy("broker", happened), Toy("store", happened)
    cache = Toy("cache", happened, needs=("store",))
    with all_up([broker, store, cache]) as running:
        assert happened == [
            "broker-1 begins",
            "store-1 begins",
            "store-1 is up",
            "cache-1 begins with store-1",
            "broker-1 is up",
            "cache-1 is up",
        ]
        assert {name: each.endpoint.address for name, each in running.items()} == {
            "broker": "broker-1",
            "store": "store-1",
            "cache": "cache-1",
        }
        happened.clear()
    assert happened == ["cache-1 ends", "store-1 ends", "broker-1 ends"]


def test_what_has_started_ends_when_another_does_not_start() -> None:
    happened: list[str] = []

    class Lame(Toy):
        def begin(self, stack: ExitStack, needed: Services) -> Callable[[], ToyRunning]:
            raise NotReady("no room")

    services = [Toy("store", happened), Lame("cache", happened, needs=("store",))]
    with pytest.raises(NotReady, match="no room"), all_up(services):
        pass
    assert happened == ["store-1 begins", "store-1 is up", "store-1 ends"]
