"""Rows of the business tables by the value rules of TPC-C (clause 4.3.3), and the factory's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.workloads.espbench.dice import DIGITS, Dice, decimals, integers, times
from streamgauge.workloads.espbench.schema import TABLES
from streamgauge.workloads.espbench.times import POL_NUMBER

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Columns = Mapping[str, pa.Array]

DISTRICTS_PER_WAREHOUSE = 10
ROWS_PER_DISTRICT = 3_000
"""Customers of a district; it has as many orders, one per customer."""
ITEMS = 100_000
ALWAYS_DOWN = 2
"""The one workplace that is down from 1970 to 9999, dates that every client can read."""

_DELIVERED_PER_DISTRICT = 2_100
_NAMED_IN_TURN = 1_000
_QUANTITY = 5
_SYLLABLES = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
_LAST_NAMES = [a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
# TPC-C takes today's date; a fixed one gives the same bytes for the same seed.
_ENTRY_US = int(np.datetime64("2021-04-19T00:00:00", "us").astype(np.int64))
_END_OF_TIME_US = int(np.datetime64("9999-12-31T00:00:00", "us").astype(np.int64))


@dataclass(frozen=True)
class Part:
    """Name the rows to make: those of the districts from `first` to before `end`.

    Items and workplaces belong to no district: any part of them is the whole table.
    """

    table: str
    first: int
    end: int
    warehouses: int
    seed: int

    def make(self) -> pa.Table:
        """Make the rows."""
        return pa.table(dict(_MAKERS[self.table](self)), schema=TABLES[self.table].arrow)

    @property
    def ids(self) -> Ints:
        """Number the customers, or orders, of these districts."""
        return np.arange(self.first * ROWS_PER_DISTRICT, self.end * ROWS_PER_DISTRICT) + 1


def line_counts(orders: Ints, seed: int) -> Ints:
    """Give O_OL_CNT of these orders: 5 to 15."""
    return Dice(seed, orders).integers("o_ol_cnt", 5, 15)


def workplaces(warehouses: int) -> int:
    """Give the number of workplaces."""
    return 10 * warehouses + 1


def _customers(part: Part) -> Columns:
    ids, dice = part.ids, Dice(part.seed, part.ids)
    one = np.ones(len(ids), np.int64)
    return {
        "c_id": integers(ids),
        "c_first": dice.strings("c_first", 8, 16),
        "c_middle": pa.repeat("OE", len(ids)),
        "c_last": _last_names(ids, dice),
        "c_street_1": dice.strings("c_street_1", 10, 20),
        "c_street_2": dice.strings("c_street_2", 10, 20),
        "c_city": dice.strings("c_city", 10, 20),
        "c_state": dice.strings("c_state", 2, 2),
        "c_zip": _followed_by(dice.strings("c_zip", 4, 4, DIGITS), "11111"),
        "c_phone": dice.strings("c_phone", 16, 16, DIGITS),
        "c_since": times(one * _ENTRY_US),
        "c_credit": pc.if_else(pa.array(dice.integers("c_credit", 1, 10) == 1), "BC", "GC"),
        "c_credit_lim": decimals(one * 50_000_00, 12),
        "c_discount": decimals(dice.integers("c_discount", 0, 5_000), 4, 4),
        "c_balance": decimals(one * -10_00, 12),
        "c_ytd_payment": decimals(one * 10_00, 12),
        "c_payment_cnt": integers(one),
        "c_delivery_cnt": integers(one * 0),
        "c_data": dice.strings("c_data", 300, 500),
    }


def _last_names(ids: Ints, dice: Dice) -> pa.Array:
    """Name the first customers of a district in turn, the others by NURand(255, 0, 999)."""
    in_district = (ids - 1) % ROWS_PER_DISTRICT
    low, high = dice.integers("c_last.a", 0, 255), dice.integers("c_last.x", 0, 999)
    drawn = (low | high) % 1_000
    chosen = np.where(in_district < _NAMED_IN_TURN, in_district, drawn)
    return pa.array(_LAST_NAMES).take(pa.array(chosen))


def _items(part: Part) -> Columns:
    ids = np.arange(1, ITEMS + 1)
    dice = Dice(part.seed, ids)
    return {
        "i_id": integers(ids),
        "i_im_id": integers(dice.integers("i_im_id", 1, 10_000)),
        "i_name": dice.strings("i_name", 14, 24),
        "i_price": decimals(dice.integers("i_price", 1_00, 100_00), 5),
        "i_data": _item_data(dice),
    }


def _item_data(dice: Dice) -> pa.Array:
    """Give 26 to 50 letters; a tenth of the items has ORIGINAL somewhere among them."""
    plain = dice.strings("i_data", 26, 50)
    before = dice.strings("i_data.before", 0, 21)
    after = dice.strings("i_data.after", 18, 21)
    original = pa.array(dice.integers("i_data.original", 1, 10) == 1)
    return pc.if_else(original, _followed_by(_followed_by(before, "ORIGINAL"), after), plain)


def _orders(part: Part) -> Columns:
    ids, dice = part.ids, Dice(part.seed, part.ids)
    return {
        "o_id": integers(ids),
        "o_c_id": integers(_customers_of(part, dice)),
        "o_entry_d": times(_entry_us(ids)),
        "o_carrier_id": integers(dice.integers("o_carrier_id", 1, 10), ~_delivered(ids)),
        "o_ol_cnt": integers(line_counts(ids, part.seed)),
        "o_all_local": integers(np.ones(len(ids))),
    }


def _customers_of(part: Part, dice: Dice) -> Ints:
    """Give every customer of a district one of its orders, in random order."""
    draws = dice.words("o_c_id").reshape(-1, ROWS_PER_DISTRICT)
    first_ids = part.ids[::ROWS_PER_DISTRICT]
    customers: Ints = (draws.argsort(axis=1, kind="stable") + first_ids[:, None]).ravel()
    return customers


def _order_lines(part: Part) -> Columns:
    orders, numbers, dice = _lines(part)
    delivered = _delivered(orders)
    amounts = np.where(delivered, 0, dice.integers("ol_amount", 1, 9_999_99))
    return {
        "ol_o_id": integers(orders),
        "ol_number": integers(numbers),
        "ol_i_id": integers(_items_of(dice)),
        "ol_supply_w_id": integers(1 + _district(orders) // DISTRICTS_PER_WAREHOUSE),
        "ol_delivery_d": times(_entry_us(orders), ~delivered),
        "ol_quantity": integers(np.full(len(orders), _QUANTITY)),
        "ol_amount": decimals(amounts, 6),
        "ol_dist_info": dice.strings("ol_dist_info", 24, 24),
    }


def _production_orders(part: Part) -> Columns:
    orders, numbers, _ = _lines(part)
    return {
        "po_o_id": integers(orders),
        "po_ol_number": integers(numbers),
        "po_date": times(_entry_us(orders)),
    }


def _production_order_lines(part: Part) -> Columns:
    orders, numbers, dice = _lines(part)
    unset = np.ones(len(orders), np.bool_)
    return {
        "pol_o_id": integers(orders),
        "pol_ol_number": integers(numbers),
        "pol_number": integers(np.full(len(orders), POL_NUMBER)),
        "pol_i_id": integers(_items_of(dice)),
        "pol_quantity": integers(np.full(len(orders), _QUANTITY)),
        "pol_wp_id": integers(dice.integers("pol_wp_id", 1, workplaces(part.warehouses))),
        "pol_start_ts": times(orders, unset),
        "pol_end_ts": times(orders, unset),
    }


def _workplaces(part: Part) -> Columns:
    ids = np.arange(1, workplaces(part.warehouses) + 1)
    up = ids != ALWAYS_DOWN
    return {
        "wp_id": integers(ids),
        "wp_downtime_start": times(np.zeros(len(ids)), up),
        "wp_downtime_end": times(np.full(len(ids), _END_OF_TIME_US), up),
    }


def _lines(part: Part) -> tuple[Ints, Ints, Dice]:
    """Give order id and number of each order line, and dice for them."""
    counts = line_counts(part.ids, part.seed)
    orders = np.repeat(part.ids, counts)
    numbers = np.arange(len(orders)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    return orders, numbers, Dice(part.seed, orders * 16 + numbers)


def _items_of(dice: Dice) -> Ints:
    """Give the item of each order line; its production order line makes the same."""
    return dice.integers("ol_i_id", 1, ITEMS)


def _district(orders: Ints) -> Ints:
    return (orders - 1) // ROWS_PER_DISTRICT


def _delivered(orders: Ints) -> Bools:
    """Return which orders are delivered: all but the last 900 of each district."""
    return (orders - 1) % ROWS_PER_DISTRICT < _DELIVERED_PER_DISTRICT


def _entry_us(orders: Ints) -> Ints:
    """Let the orders of a district come in one per second."""
    return _ENTRY_US + (orders - 1) % ROWS_PER_DISTRICT * 1_000_000


def _followed_by(strings: pa.Array, text: str | pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(strings, text, "")


_MAKERS: Mapping[str, Callable[[Part], Columns]] = {
    "customer": _customers,
    "item": _items,
    "workplace": _workplaces,
    "order": _orders,
    "order_line": _order_lines,
    "production_order": _production_orders,
    "production_order_line": _production_order_lines,
}
