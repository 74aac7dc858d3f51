"""Outputs as lines: how they are read, and when one is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.workloads.ospbench.answers.records import Booleans

Column: TypeAlias = pa.Array | npt.NDArray[Any]

_TOLERANCE = 1e-9
"""Of inexact numbers, relative."""
_NUMBER = r"-?\d{1,18}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"
_KINDS = {
    "whole": r"\d{1,18}",
    "exact": _NUMBER,
    "about": _NUMBER,
    "text": r"[^,]+",
    "any": r"[^,]*",
}


@dataclass(frozen=True)
class Line:
    """Fields with commas between them; the first ones are the key."""

    keys: int
    """How many fields are the key."""
    fields: tuple[tuple[str, str], ...]
    """Name and kind of each: `whole` and `exact` numbers, those that are only `about` the same,
    `text`, and `any` text, which may be empty."""

    @cached_property
    def _key(self) -> str:
        fields = ",".join(_KINDS[kind] for _, kind in self.fields[: self.keys])
        return f"^(?P<key>{fields}),"

    @cached_property
    def _whole(self) -> str:
        fields = (f"(?P<{name}>{_KINDS[kind]})" for name, kind in self.fields)
        return f"^{','.join(fields)}$"

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with their keys, null where a line does not begin with one."""
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=self._key)
        keys = pc.cast(pc.struct_field(found, "key"), pa.string())
        keys = pc.if_else(pc.is_valid(found), keys, pa.scalar(None, pa.string()))
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which lines say the same; most do so letter by letter."""
        same = pc.equal(expected["value"], outputs["value"]).to_numpy()
        others = np.flatnonzero(~same)
        mine, theirs = (
            pc.extract_regex(table["value"].combine_chunks().take(others), pattern=self._whole)
            for table in (expected, outputs)
        )
        right = pc.is_valid(theirs).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(right)
        for name, kind in self.fields:
            a, b = (
                pc.cast(pc.struct_field(found.take(rows), name), pa.string())
                for found in (mine, theirs)
            )
            right[rows] &= _same(a, b, kind)
        same[others] = right
        return np.asarray(same, dtype=np.bool_)


def _same(mine: pa.Array, theirs: pa.Array, kind: str) -> Booleans:
    if kind in ("text", "any"):
        return np.asarray(pc.equal(mine, theirs).to_numpy(zero_copy_only=False))
    a, b = (pc.cast(each, pa.float64()).to_numpy(zero_copy_only=False) for each in (mine, theirs))
    equal: Booleans = np.isclose(b, a, rtol=_TOLERANCE, atol=0) if kind == "about" else a == b
    return equal


def joined(*columns: Column) -> pa.Array:
    """Write columns as lines."""
    return pc.binary_join_element_wise(*map(_texts, columns), ",")


def _texts(column: Column) -> pa.Array:
    """Write numbers as Java does, so that most outputs need not be read to be compared."""
    array = pa.array(column) if isinstance(column, np.ndarray) else column
    texts = pc.cast(array, pa.string())
    if not pa.types.is_floating(array.type):
        return texts
    whole = pc.invert(pc.match_substring(texts, "."))
    return pc.if_else(whole, pc.binary_join_element_wise(texts, "0", "."), texts)


def expected(keys: Sequence[Column], values: Sequence[Column], **times: Column) -> pa.Table:
    """Return answers: the fields of their keys, those that follow, and their times."""
    key = joined(*keys)
    columns = {
        "key": key,
        "value": pc.cast(joined(key, *values), pa.binary()),
        "window_end": pa.nulls(len(key), pa.int64()),
        "optional": np.zeros(len(key), dtype=np.bool_),
        **times,
    }
    return pa.table({name: columns[name] for name in EXPECTED.names}, schema=EXPECTED)
