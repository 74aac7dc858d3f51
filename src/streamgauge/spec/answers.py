"""What the answers of a query promise: the expected outputs, in plain Python over Arrow.

Tables are `pyarrow.Table`s; times in their columns are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from streamgauge.spec.values import Json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True)
class AnswerContext:
    """What an answer may need beyond the records of its own range."""

    parameters: Mapping[str, Json]
    horizon_ms: int
    """Greatest event time in the input minus the watermark delay: a later window may stay open."""
    tables: Mapping[str, pa.Table]
    """Business tables as recorded at the end of the trial, by name."""
    seed: int = 1
    """From which the data were drawn."""
    closed_by: int = 0
    """Partitions whose first record in the next window closes a window: without one from each it
    may stay open. 0 where watermarks close windows."""


class Answers(Protocol):
    """The expected outputs of one query: plain Python over Arrow, shared with no engine.

    Records have the columns partition (int32), offset (int64), timestamp (int64, append time)
    and value (binary); those of a workload that has columns may come with id, intended and these
    columns instead of the value. Instances are sent to other processes, so they must pickle.
    """

    aligned: ClassVar[int]
    """Ranges of the input begin at multiples of this offset (a count window's size, or 1)."""
    merges: ClassVar[bool]
    """True when a key's contributions may lie in several ranges and must be merged."""

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return key (string), value (binary), intended, appended, window_end (int64), optional.

        `intended` and `appended` are the greatest of the contributing inputs. `optional` outputs
        may be there or not; an optional one with a null value is not compared at all.
        """

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Merge the rows of each key, from several ranges, into one."""

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return key (string, null when unreadable), value (binary) and emitted of each output."""

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return for each pair of rows whether the output is right."""


@runtime_checkable
class AnswersInTables(Answers, Protocol):
    """Ability of answers: the query's outputs are its changes to the business tables."""

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return key (null for what should not have been done), value and emitted."""


@runtime_checkable
class AnswersInGroups(Answers, Protocol):
    """Ability of answers: keys that can only be answered together, like the pairs of a join."""

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the group (string) of each key, which is merged in one place.

        Expected rows whose key has no group are handed to every place.
        """


@runtime_checkable
class AnswersInSteps(Answers, Protocol):
    """Ability of answers: they grow, and an engine may emit any of their steps before the last.

    `merge` returns the last step of each key. The steps of a key go up in the log of outputs.
    """

    def steps(self, partials: pa.Table, outputs: pa.Table, context: AnswerContext) -> pa.Table:
        """Return for each output the step that it claims to be.

        Args:
            partials: Expected rows, as `merge` gets them.
            outputs: Of the same keys.
            context: That of `merge`.

        Returns:
            `step` and `last` (int64, from 1): which step it is and how many its key has, both null
            where it is none of them. For a step before the last also `key` (string) that no other
            step has, `value`, `intended` and `appended`, as in an expected row.
        """


@runtime_checkable
class AnswersInEventTime(Answers, Protocol):
    """Ability of answers: outputs have times of their own, and records may come too late."""

    def event_times(self, expected: pa.Table) -> pa.Array:
        """Return the event time (int64) of each expected output, as the workload defines it."""

    def ingestion_times(self, outputs: pa.Table) -> pa.Array:
        """Return when the engine took in the latest input of each output; null if not stated."""

    def lenient(self, expected: pa.Table) -> int:
        """Count the expected outputs with several right answers, because records came too late."""
