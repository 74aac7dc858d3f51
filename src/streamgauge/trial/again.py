"""Validate a trial once more, from the records that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.planning import load_engine, trial_job, trial_query
from streamgauge.spec.trial import TrialResult
from streamgauge.trial import kept
from streamgauge.validation.validator import Validation, validate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def validate_again(spark: SparkSession, folder: Path, result: TrialResult) -> Validation:
    """Recompute the answers of a finished trial and compare its kept outputs with them.

    Raises:
        UsageError: The trial has no engine, or its records were not kept.
    """
    spec = result.spec
    if spec.engine is None:
        raise UsageError(f"trial {spec.number} has no engine, so it has no answers to validate")
    query = trial_query(spec)
    recorded = registry.transport(spec.transport).kept(spec, query, folder)
    tables = kept.read_tables(folder)
    answers = load_engine(spec.engine).answers
    return validate(spark, query, recorded, tables, trial_job(spec), answers=answers)
