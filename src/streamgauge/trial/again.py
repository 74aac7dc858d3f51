"""Validate a trial once more, from the records that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.jobfile import JOB, JobFile, JobFileError
from streamgauge.planning import load_engine, trial_query
from streamgauge.spec.trial import TrialResult
from streamgauge.trial import kept
from streamgauge.validation.validator import Validation, validate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def validate_again(spark: SparkSession, folder: Path, result: TrialResult) -> Validation:
    """Recompute the answers of a finished trial and compare its kept outputs with them.

    What the engine ran is read from the trial's folder: the engine need not be able to run here.

    Raises:
        UsageError: The trial has no engine, or its records or its job file were not kept.
    """
    spec = result.spec
    if spec.engine is None:
        raise UsageError(f"trial {spec.number} has no engine, so it has no answers to validate")
    query = trial_query(spec)
    recorded = registry.transport(spec.transport).kept(spec, query, folder)
    tables = kept.read_tables(folder)
    answers = load_engine(spec.engine).answers
    try:
        job = JobFile.read(folder / JOB).job
    except JobFileError as error:
        raise UsageError(f"trial {spec.number} cannot be validated: {error}") from None
    return validate(spark, query, recorded, tables, job, answers=answers)
