"""The search on simulated systems: monotone, noisy, capped by the driver, contradictory."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.scalability.grid import (
    Begin,
    Cell,
    Grid,
    Metric,
    Optimum,
    Outcome,
    Strategy,
    contradictions,
    expected_trials,
)

Says = Callable[[Cell], Outcome]
METRICS: tuple[Metric, ...] = ("demand", "capacity")
STRATEGIES: tuple[Strategy, ...] = ("full", "linear", "binary")
BEGINS: tuple[Begin, ...] = ("lower-bound", "guess", "nothing")

grids = st.builds(
    Grid,
    loads=st.integers(1, 8),
    resources=st.integers(1, 6),
    metric=st.sampled_from(METRICS),
    strategy=st.sampled_from(STRATEGIES),
    begin=st.sampled_from(BEGINS),
)
outcomes = st.sampled_from(("pass", "fail", "untold"))


def run(grid: Grid, says: Says) -> dict[Cell, Outcome]:
    """Search to the end; every cell is tried once."""
    known: dict[Cell, Outcome] = {}
    while (cell := grid.next(known)) is not None:
        assert cell not in known
        assert 0 <= cell[0] < grid.loads
        assert 0 <= cell[1] < grid.resources
        known[cell] = says(cell)
    return known


def monotone(capacities: list[int]) -> Says:
    """Return a system that carries so many of the loads with each of the resources."""
    return lambda cell: "pass" if cell[0] < capacities[cell[1]] else "fail"


@st.composite
def systems(draw: st.DrawFn) -> tuple[Grid, list[int]]:
    grid = draw(grids)
    sizes = st.integers(0, grid.loads)
    return grid, sorted(draw(st.lists(sizes, min_size=grid.resources, max_size=grid.resources)))


def truth(grid: Grid, capacities: list[int]) -> list[int | None]:
    if grid.metric == "capacity":
        return [capacity - 1 if capacity else None for capacity in capacities]
    return [
        next((place for place, most in enumerate(capacities) if load < most), None)
        for load in range(grid.loads)
    ]


@given(systems())
def test_every_strategy_finds_the_truth_of_a_monotone_system(system: tuple[Grid, list[int]]):
    grid, capacities = system
    known = run(grid, monotone(capacities))
    assert [each.place for each in grid.found(known)] == truth(grid, capacities)
    assert len(known) <= grid.most
    assert not list(contradictions(known))
    assert all(each.limit in ("engine", "list") for each in grid.found(known))


@given(systems(), st.integers(0, 40))
def test_a_search_goes_on_wherever_it_was_cut_off(system: tuple[Grid, list[int]], cut: int):
    grid, capacities = system
    whole = run(grid, monotone(capacities))
    part = dict(list(whole.items())[:cut])
    order = list(whole)
    while (cell := grid.next(dict(sorted(part.items())))) is not None:
        assert cell == order[len(part)]
        part[cell] = whole[cell]
    assert part == whole


@given(grids, st.randoms())
def test_a_search_ends_whatever_the_trials_say(grid: Grid, random: Random):
    says = {
        (load, size): random.choice(["pass", "fail", "untold"])
        for load in range(grid.loads)
        for size in range(grid.resources)
    }
    known = run(grid, lambda cell: says[cell])
    assert len(known) <= grid.loads * grid.resources
    for line, found in enumerate(grid.found(known)):
        assert found.limit is not None
        if found.place is not None:
            assert known[grid.cell(line, found.place)] == "pass"


@given(grids)
def test_none_passes_and_all_pass(grid: Grid):
    none = grid.found(run(grid, lambda _: "fail"))
    assert none == [Optimum(None, "engine")] * grid.lines
    found = grid.found(run(grid, lambda _: "pass"))
    if grid.metric == "demand":
        assert found == [Optimum(0, "engine")] * grid.lines
    else:
        assert found == [Optimum(grid.loads - 1, "list")] * grid.lines


@given(grids)
def test_a_driver_that_can_do_nothing_says_nothing_of_the_engine(grid: Grid):
    found = grid.found(run(grid, lambda _: "untold"))
    assert found == [Optimum(None, "harness")] * grid.lines


@given(systems(), st.integers(0, 8))
def test_the_driver_as_the_limit_is_no_verdict_on_the_engine(
    system: tuple[Grid, list[int]], driver: int
):
    grid, capacities = system
    engine = monotone(capacities)
    known = run(grid, lambda cell: "untold" if cell[0] >= driver else engine(cell))
    for line, (found, real) in enumerate(
        zip(grid.found(known), truth(grid, capacities), strict=True)
    ):
        if found.limit == "harness":
            if found.place is not None and real is not None:
                assert found.place <= real, "a capacity that is told is a lower end"
        elif found.place is not None:
            assert found.place == real or grid.metric == "capacity"
            assert known[grid.cell(line, found.place)] == "pass"


def test_without_loads_or_resources_there_is_nothing_to_try():
    for grid in (Grid(0, 3), Grid(3, 0), Grid(0, 3, "capacity"), Grid(3, 0, "capacity")):
        assert grid.next({}) is None


@pytest.mark.parametrize("metric", METRICS)
def test_with_the_lower_bound_each_trial_goes_forward(metric: Metric):
    grid = Grid(6, 4, metric, "linear", "lower-bound")
    known = run(grid, monotone([1, 3, 4, 6]))
    cells = list(known)
    assert len(known) <= 9
    for before, after in pairwise(cells):
        assert after[0] >= before[0]
        assert after[1] >= before[1]


def test_what_passed_with_less_is_tried_again_only_if_nothing_above_passes():
    grid = Grid(6, 3, "capacity")
    known = run(grid, monotone([2, 2, 3]))
    assert list(known) == [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (2, 2), (3, 2)]
    assert [each.place for each in grid.found(known)] == [1, 1, 2]


def test_what_fails_with_all_resources_ends_the_search_for_greater_loads():
    known = run(Grid(10, 3), monotone([1, 2, 2]))
    assert max(load for load, _ in known) == 2


def test_a_guess_goes_the_way_that_the_outcome_points_to():
    grid = Grid(4, 6, "demand", "linear", "guess")
    known = run(grid, monotone([0, 0, 0, 2, 3, 4]))
    assert [cell for cell in known if cell[0] == 1] == [(1, 3), (1, 2)]
    assert [cell for cell in known if cell[0] == 2] == [(2, 3), (2, 4)]


def test_contradictions_are_found():
    known: dict[Cell, Outcome] = {(0, 0): "fail", (1, 0): "pass", (1, 1): "fail", (2, 1): "fail"}
    assert list(contradictions(known)) == [((1, 0), (0, 0)), ((1, 0), (1, 1))]
    assert not list(contradictions({(0, 0): "pass", (1, 0): "untold", (2, 0): "fail"}))


@given(grids, st.integers(0, 2**32))
def test_a_noisy_system_is_searched_and_told_within_its_noise(grid: Grid, seed: int):
    random = Random(seed)
    slope = random.uniform(0.2, 3)

    def says(cell: Cell) -> Outcome:
        return "pass" if cell[0] + 1 <= slope * (cell[1] + 1) * random.gauss(1, 0.1) else "fail"

    known = run(grid, says)
    for found in grid.found(known):
        assert found.limit in ("engine", "list")


@given(grids)
def test_the_number_of_trials_expected_is_no_greater_than_the_most(grid: Grid):
    assert 1 <= expected_trials(grid) <= grid.most


def test_the_survey_on_two_cores_takes_at_most_seven_trials():
    assert Grid(6, 2, "demand").most == 7
    capacity = Grid(6, 2, "capacity")
    assert capacity.most == 8
    assert all(
        len(run(capacity, monotone([one, two]))) <= 7
        for one in range(7)
        for two in range(one + 1, 7)
    )
    assert expected_trials(capacity) <= 7
