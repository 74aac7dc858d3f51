"""The production times stream: a product enters and leaves the workplace of its order line."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from streamgauge.errors import UsageError

POL_NUMBER = 1
"""Every order line is produced in one step, so its production order has this one line."""
ENTER, LEAVE = 0, 1


def lines(order_lines: ArrayLike, count: int, first_order: int = 1) -> list[bytes]:
    """Render the first `count` events; no order line ever comes again.

    Args:
        order_lines: How many lines each order has, orders numbered on from `first_order`.
        count: How many events: an order with n lines gives 2n of them,
            enter(1), leave(1), … enter(n), leave(n).
        first_order: The id of the first order.

    Raises:
        UsageError: There are fewer events than `count`.
    """
    sizes = np.asarray(order_lines, dtype=np.int64)
    ends = np.cumsum(2 * sizes)
    available = int(ends[-1]) if len(ends) else 0
    if count > available:
        raise UsageError(
            f"{count} production times asked for, the order lines give {available}",
            "raise `warehouses`, or lower the rate or the duration",
        )
    suffixes = _suffixes(int(sizes.max(initial=0)))
    orders = int(np.searchsorted(ends, count)) + 1
    rendered: list[bytes] = []
    for order, size in enumerate(sizes[:orders].tolist(), first_order):
        prefix = b"%d\t" % order
        rendered += [prefix + suffix for suffix in suffixes[: 2 * size]]
    del rendered[count:]
    return rendered


def _suffixes(size: int) -> list[bytes]:
    """Render what follows the order id for each event of an order with `size` lines."""
    return [
        b"%d\t%d\t%d" % (number, POL_NUMBER, is_end)
        for number in range(1, size + 1)
        for is_end in (ENTER, LEAVE)
    ]
