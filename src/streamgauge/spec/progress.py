"""What an engine reports of a batch that it has finished, in words that fit every engine."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

TIMELY_S = 5.0
"""Offsets that an engine reports less often than this say nothing about its lag."""


class BatchReport(BaseModel):
    """The field `batch` of a line of the progress file; an engine may add what it likes."""

    model_config = ConfigDict(frozen=True, strict=True)

    began_ms: FiniteFloat
    """When the batch began, epoch milliseconds."""
    took_ms: FiniteFloat = Field(ge=0)
    """Duration of the whole batch."""
    phases: dict[str, FiniteFloat] = {}
    """Milliseconds spent in each of its phases, by the engine's own names."""
    records: int | None = Field(default=None, ge=0)
    """Input records; None where the engine does not say."""
    dropped: int | None = Field(default=None, ge=0)
    """What came after the watermark and was dropped; None where the engine does not say."""
    state_rows: int | None = Field(default=None, ge=0)
    """Rows of state that the query keeps; None where the engine does not say."""
    state_bytes: int | None = Field(default=None, ge=0)
    """Bytes that they take, in memory or on disk."""


class FinishedBatch(BaseModel):
    """A line of the progress file that reports a batch that has just finished."""

    at: float
    """Epoch seconds."""
    batch: BatchReport
