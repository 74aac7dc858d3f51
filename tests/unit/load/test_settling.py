from collections.abc import Callable, Iterable

from streamgauge.load.settling import until_still


def looks(values: Iterable[int]) -> Callable[[], int]:
    remaining = iter(values)
    return lambda: next(remaining)


def no_sleep(_: float) -> None:
    pass


def test_a_number_is_looked_at_until_it_stands_still() -> None:
    grows = looks([0, 0, 0, 0, 0, 0, 0, 10, 20, 20, 30, 30, 30, 30, 30, 30, 99])
    assert until_still(grows, still_s=0.5, most_s=60, sleep=no_sleep) == 30


def test_a_number_that_never_stands_still_is_not_waited_for_without_end() -> None:
    assert until_still(looks(range(10**6)), still_s=0.5, most_s=10, sleep=no_sleep) == 100


def test_a_number_that_stays_0_is_waited_for_and_told() -> None:
    assert until_still(looks([0] * 1000), still_s=0.5, most_s=10, sleep=no_sleep) == 0
