"""TPC-C's value rules and keys, on one warehouse of two."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamgauge.workloads.espbench import rows, tables
from streamgauge.workloads.espbench.rows import ITEMS, Part
from streamgauge.workloads.espbench.schema import TABLES

WAREHOUSES, SEED = 2, 11


def make(name: str, first: int = 0, end: int = 10) -> pa.Table:
    return Part(name, first, end, WAREHOUSES, SEED).make()


@pytest.fixture(scope="module")
def made() -> dict[str, pa.Table]:
    return {name: make(name, 0, 20) for name in TABLES}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_valid_and_ordered_by_key(made: dict[str, pa.Table], name: str) -> None:
    table = made[name]
    table.validate(full=True)
    keys = table.select(TABLES[name].key)
    assert keys.sort_by([(column, "ascending") for column in keys.column_names]).equals(keys)
    assert keys.group_by(keys.column_names).aggregate([]).num_rows == len(table)


def test_cardinalities(made: dict[str, pa.Table]) -> None:
    lines = int(tables.order_lines(WAREHOUSES, SEED).sum())
    assert {name: len(table) for name, table in made.items()} == {
        "customer": 60_000,
        "item": 100_000,
        "workplace": 21,
        "order": 60_000,
        "order_line": lines,
        "production_order": lines,
        "production_order_line": lines,
    }
    assert lines == pytest.approx(600_000, rel=0.01)


@pytest.mark.parametrize("name", TABLES)
def test_foreign_keys_find_their_rows(made: dict[str, pa.Table], name: str) -> None:
    for key in TABLES[name].foreign_keys:
        target = made[key.table].select(TABLES[key.table].key)
        lost = (
            made[name]
            .select(key.columns)
            .join(target, list(key.columns), list(TABLES[key.table].key), "left anti")
        )
        assert len(lost) == 0


@pytest.mark.parametrize("name", TABLES)
def test_rows_do_not_depend_on_how_the_work_is_divided(name: str) -> None:
    whole = make(name, 0, 4)
    if name in ("item", "workplace"):
        assert make(name, 2, 4).equals(whole)
    else:
        assert pa.concat_tables([make(name, 0, 1), make(name, 1, 4)]).equals(whole)


def test_another_seed_gives_other_rows() -> None:
    other = Part("customer", 0, 1, WAREHOUSES, SEED + 1).make()
    assert not pc.any(pc.equal(other["c_data"], make("customer", 0, 1)["c_data"])).as_py()


def test_order_line_counts_are_those_of_the_table(made: dict[str, pa.Table]) -> None:
    counted = tables.order_lines(WAREHOUSES, SEED)
    assert counted.tolist() == made["order"]["o_ol_cnt"].to_pylist()
    per_order = np.bincount(made["order_line"]["ol_o_id"].to_numpy())[1:]
    assert counted.tolist() == per_order.tolist()
    assert set(counted) == set(range(5, 16))


def test_every_customer_has_one_order_within_his_district(made: dict[str, pa.Table]) -> None:
    customers = made["order"]["o_c_id"].to_numpy()
    assert sorted(customers) == made["customer"]["c_id"].to_pylist()
    orders = made["order"]["o_id"].to_numpy()
    assert ((customers - 1) // 3_000 == (orders - 1) // 3_000).all()
    assert (customers != orders).mean() > 0.99


@pytest.mark.parametrize(
    ("table", "column", "pattern"),
    [
        ("customer", "c_first", r"[0-9A-Za-z]{8,16}"),
        ("customer", "c_middle", r"OE"),
        ("customer", "c_last", r"((BAR|OUGHT|ABLE|PRI|PRES|ESE|ANTI|CALLY|ATION|EING)){3}"),
        ("customer", "c_street_1", r"[0-9A-Za-z]{10,20}"),
        ("customer", "c_state", r"[0-9A-Za-z]{2}"),
        ("customer", "c_zip", r"[0-9]{4}11111"),
        ("customer", "c_phone", r"[0-9]{16}"),
        ("customer", "c_data", r"[0-9A-Za-z]{300,500}"),
        ("item", "i_name", r"[0-9A-Za-z]{14,24}"),
        ("item", "i_data", r"[0-9A-Za-z]{26,50}"),
        ("order_line", "ol_dist_info", r"[0-9A-Za-z]{24}"),
    ],
)
def test_strings_keep_to_their_rule(
    made: dict[str, pa.Table], table: str, column: str, pattern: str
) -> None:
    values = made[table][column].slice(0, 20_000).to_pylist()
    assert all(re.fullmatch(pattern, value) for value in values)


@pytest.mark.parametrize(
    ("table", "column", "low", "high"),
    [
        ("customer", "c_discount", 0, 0.5),
        ("item", "i_im_id", 1, 10_000),
        ("item", "i_price", 1, 100),
        ("order", "o_carrier_id", 1, 10),
        ("order_line", "ol_i_id", 1, ITEMS),
        ("order_line", "ol_supply_w_id", 1, WAREHOUSES),
        ("production_order_line", "pol_wp_id", 1, 21),
    ],
)
def test_numbers_fill_their_range(
    made: dict[str, pa.Table], table: str, column: str, low: float, high: float
) -> None:
    values = made[table][column].drop_null().cast(pa.float64())
    limits = pc.min_max(values).as_py()
    assert low <= limits["min"] <= limits["max"] <= high
    assert pc.mean(values).as_py() == pytest.approx((low + high) / 2, rel=0.02)


def test_a_tenth_of_the_customers_has_bad_credit(made: dict[str, pa.Table]) -> None:
    credit = made["customer"]["c_credit"].to_pylist()
    assert set(credit) == {"BC", "GC"}
    assert credit.count("BC") / len(credit) == pytest.approx(0.1, abs=0.01)


def test_a_tenth_of_the_items_is_original(made: dict[str, pa.Table]) -> None:
    original = [value.find("ORIGINAL") for value in made["item"]["i_data"].to_pylist()]
    assert np.mean(np.array(original) >= 0) == pytest.approx(0.1, abs=0.01)
    assert len({place for place in original if place >= 0}) > 20


def test_the_first_thousand_customers_of_a_district_have_all_names(
    made: dict[str, pa.Table],
) -> None:
    for district in (0, 19):
        names = made["customer"]["c_last"].slice(district * 3_000, 1_000).to_pylist()
        assert len(set(names)) == 1_000
        assert names[371] == "PRICALLYOUGHT"


def test_the_last_orders_of_a_district_are_not_delivered(made: dict[str, pa.Table]) -> None:
    orders = made["order"].to_pydict()
    undelivered = [o for o, c in zip(orders["o_id"], orders["o_carrier_id"], strict=True) if not c]
    assert undelivered == [o for o in orders["o_id"] if (o - 1) % 3_000 >= 2_100]
    lines = made["order_line"]
    open_lines = pc.is_in(lines["ol_o_id"], pa.array(undelivered, pa.int32()))
    assert pc.is_null(lines["ol_delivery_d"]).equals(open_lines)
    assert pc.greater(lines["ol_amount"], 0).equals(open_lines)


def test_production_order_lines_make_what_was_ordered(made: dict[str, pa.Table]) -> None:
    made_lines, ordered = made["production_order_line"], made["order_line"]
    assert made_lines["pol_i_id"].equals(ordered["ol_i_id"])
    assert made_lines["pol_quantity"].equals(ordered["ol_quantity"])
    assert made_lines["pol_start_ts"].null_count == len(made_lines)
    assert made_lines["pol_end_ts"].null_count == len(made_lines)


def test_only_workplace_two_is_down(made: dict[str, pa.Table]) -> None:
    down = [row for row in made["workplace"].to_pylist() if row["wp_downtime_start"] is not None]
    assert [(row["wp_id"], row["wp_downtime_start"].year) for row in down] == [
        (rows.ALWAYS_DOWN, 1970)
    ]
    assert down[0]["wp_downtime_end"].year == 9999
    assert made["workplace"]["wp_downtime_end"].null_count == 20
