"""Sort the outputs of answers that grow: last steps, right ones before, and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Agree = Callable[[pa.Table, pa.Table], npt.NDArray[np.bool_]]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

STEPS = pa.schema(
    [
        ("step", pa.int64()),
        ("last", pa.int64()),
        ("key", pa.string()),
        ("value", pa.binary()),
        ("intended", pa.int64()),
        ("appended", pa.int64()),
    ]
)
"""What outputs claim to be: see `AnswersInSteps`."""


@dataclass(frozen=True)
class ByStep:
    """Rows of the outputs by what they are."""

    last: Ints
    """Of the last step of their key, right or wrong."""
    intermediate: Ints
    """Of a step before, and right."""
    duplicate: Ints
    """Of a step before, when that step or a later one had already been emitted."""
    unexpected: Ints
    """Of no step, or with a value that their step does not have."""


def by_step(outputs: pa.Table, steps: pa.Table, agree: Agree) -> ByStep:
    """Compare each output with the step that it claims to be."""
    step = _int64(pc.fill_null(steps["step"], 0))
    last = _int64(pc.fill_null(steps["last"], 0))
    before = (step > 0) & (step < last)
    again = before & (step <= _greatest_before(outputs, step))
    judged = np.flatnonzero(before & ~again)
    right = np.zeros(0, dtype=bool)
    if len(judged):
        right = np.asarray(agree(steps.take(judged), outputs.take(judged)), dtype=bool)
    wrong = np.concatenate([np.flatnonzero(step < 1), judged[~right]])
    return ByStep(
        last=np.flatnonzero((step > 0) & (step == last)),
        intermediate=judged[right],
        duplicate=np.flatnonzero(again),
        unexpected=np.sort(wrong),
    )


def _greatest_before(outputs: pa.Table, step: Ints) -> Ints:
    """Return the greatest step of each output's key before it; 0 for the first."""
    key = _int64(pc.index_in(outputs["key"], value_set=pc.unique(outputs["key"])))
    order = _log_order(outputs)
    order = order[np.argsort(key[order], kind="stable")]
    # Steps of a key lie above all those of the keys before it, so that one pass serves all.
    lift = key[order] * (int(step.max(initial=0)) + 1)
    reached = np.maximum.accumulate(step[order] + lift)
    before = np.concatenate([[0], reached[:-1]]) - lift
    found = np.empty_like(step)
    found[order] = np.maximum(before, 0)
    return found


def _log_order(outputs: pa.Table) -> Ints:
    """Order outputs as they were appended: in a partition by offset, between them by time."""
    emitted, partition, offset = (
        _int64(outputs[name]) for name in ("emitted", "partition", "offset")
    )
    order = np.lexsort((offset, partition))
    reached = np.empty_like(emitted)
    for each in np.unique(partition):
        rows = order[partition[order] == each]
        # A broker's clock may step back.
        reached[rows] = np.maximum.accumulate(emitted[rows])
    return np.lexsort((offset, partition, reached))


def _int64(column: pa.ChunkedArray) -> Ints:
    values: Ints = column.cast(pa.int64()).to_numpy()
    return values
