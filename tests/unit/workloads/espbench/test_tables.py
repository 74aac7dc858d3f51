from pathlib import Path

import pytest

from streamgauge.workloads.espbench import tables

SEED = 5


def test_each_order_comes_with_the_lines_that_it_has() -> None:
    assert list(tables.each_order(2, SEED)) == tables.order_lines(2, SEED).tolist()


def test_order_lines_do_not_depend_on_the_number_of_warehouses() -> None:
    assert tables.order_lines(1, SEED).tolist() == tables.order_lines(2, SEED)[:30_000].tolist()


@pytest.mark.parametrize("minimum", [1, 3])
def test_few_order_lines_need_the_minimum_of_warehouses(minimum: int) -> None:
    assert tables.warehouses_for(1_000, minimum, SEED) == minimum


@pytest.mark.parametrize("warehouses", [1, 2, 7])
def test_warehouses_are_raised_by_the_counted_order_lines(warehouses: int) -> None:
    there = int(tables.order_lines(warehouses, SEED).sum())
    assert tables.warehouses_for(there, 1, SEED) == warehouses
    assert tables.warehouses_for(there + 1, 1, SEED) == warehouses + 1


def test_cache_folder_tells_version_size_and_seed() -> None:

    name = tables.folder(Path("cache"), 3, 42).name
    assert name == f"espbench-v{tables.VERSION}-w3-s42"
