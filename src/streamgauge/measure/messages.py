"""Read what a form puts in front of its records, many at once."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import TrialInvalid
from streamgauge.spec.form import FRONT, Form

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Headers:
    """The ids and intended times of messages, in their order."""

    keys: pa.Array
    """Ids as strings."""
    ids: Integers
    intended: Integers
    """Epoch milliseconds."""


def headers(values: pa.Array, form: Form = FRONT) -> Headers:
    """Read the headers of recorded inputs of that form.

    Raises:
        TrialInvalid: A message has none. All that we sent has one, so it is not ours.
    """
    found = pc.extract_regex(values, pattern=form.pattern)
    if found.null_count:
        refuse(values, pc.is_null(found), f"it does not begin with {form.looks}")
    ids = pc.struct_field(found, "id")
    return Headers(
        keys=pc.cast(ids, pa.string()),
        ids=integers(ids, values, "id"),
        intended=integers(pc.struct_field(found, "intended"), values, "intended time"),
    )


def output_keys(values: pa.Array, form: Form = FRONT) -> pa.Array:
    """Return the id that each output begins with, null where it begins with none."""
    found = pc.extract_regex(values, pattern=form.output_pattern)
    # The fields below a null struct hold empty text, so the struct's own nulls must be kept.
    ids = pc.cast(pc.struct_field(found, "id"), pa.string())
    return pc.if_else(pc.is_valid(found), ids, pa.scalar(None, pa.string()))


def integers(cells: pa.Array, values: pa.Array, what: str) -> Integers:
    """Turn text into numbers.

    Raises:
        TrialInvalid: A cell is not a whole number of 64 bits.
    """
    try:
        numbers = pc.cast(pc.cast(cells, pa.string()), pa.int64())
    except pa.ArrowInvalid as error:
        raise TrialInvalid(f"an input record has a bad {what}: {error}") from error
    if numbers.null_count:
        refuse(values, pc.is_null(numbers), f"it has no {what}")
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)


def refuse(values: pa.Array, bad: pa.Array, reason: str) -> None:
    """Raise the error for the first bad input record."""
    first = values.filter(bad)[0].as_py()
    raise TrialInvalid(f"cannot read the input record {(first or b'')[:80]!r}: {reason}")


def refuse_json(values: pa.Array, reason: str) -> None:
    """Refuse the first record that is JSON; records that are broken on purpose are not."""
    for value in values.to_pylist():
        try:
            json.loads(value)
        except ValueError:
            continue
        refuse(pa.array([value]), pa.array([True]), reason)
