"""The production times stream: a product enters and leaves the workplace of its order line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from streamgauge.errors import UsageError

POL_NUMBER = 1
"""Every order line is produced in one step, so its production order has this one line."""
ENTER, LEAVE = 0, 1
_EVENTS_PER_BLOCK = 8_192


def blocks(order_lines: Iterable[int], count: int, first_order: int = 1) -> Iterator[list[bytes]]:
    """Render the first `count` events, some at a time; no order line is ever repeated.

    Args:
        order_lines: How many lines each order has, orders numbered on from `first_order`.
        count: How many events: an order with n lines gives 2n of them,
            enter(1), leave(1), … enter(n), leave(n).
        first_order: The id of the first order.

    Raises:
        UsageError: There are fewer events than `count`.
    """
    missing = count
    block: list[bytes] = []
    for order, size in enumerate(order_lines, first_order):
        if missing <= 0:
            break
        prefix = b"%d\t" % order
        block += [prefix + suffix for suffix in _suffixes(size)[:missing]]
        missing -= 2 * size
        if len(block) >= _EVENTS_PER_BLOCK:
            yield block
            block = []
    if missing > 0:
        raise UsageError(
            f"{count} production times are wanted, but the order lines give {count - missing}",
            "raise `warehouses`, or lower the rate or the duration",
        )
    if block:
        yield block


@cache
def _suffixes(size: int) -> list[bytes]:
    """Render what follows the order id for each event of an order with `size` lines."""
    return [
        b"%d\t%d\t%d" % (number, POL_NUMBER, is_end)
        for number in range(1, size + 1)
        for is_end in (ENTER, LEAVE)
    ]
