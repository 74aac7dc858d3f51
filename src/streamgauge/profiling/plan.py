"""The operators that a query's plan fuses into one stage of generated code."""

from __future__ import annotations

import re
from collections.abc import Mapping

Plan = Mapping[int, tuple[str, ...]]
"""Operators by the number of their fused stage, the first to see a record first."""

_OPERATOR = re.compile(r"\*\s?\((\d+)\)\s+([A-Za-z]\w*)")


def read_plan(text: str) -> dict[int, tuple[str, ...]]:
    """Read Spark's plan: an operator of stage 2 comes after `*(2)`, the last to see it on top."""
    found: dict[int, list[str]] = {}
    for number, operator in _OPERATOR.findall(text):
        found.setdefault(int(number), []).append(operator)
    return {number: tuple(reversed(operators)) for number, operators in found.items()}
