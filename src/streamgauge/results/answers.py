"""The answers of runs, read back as their experiments wrote them."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.results.folder import RunRecord
from streamgauge.spec.reading import first_fault


def read_answer(record: RunRecord) -> BaseModel | None:
    """Return what a run concluded; None until it has.

    Raises:
        UsageError: The run's experiment is unknown here, or has different answers now.
        NotReady: The experiment needs a package that is not installed.
    """
    if not record.answer:
        return None
    name = record.spec.experiment
    experiment = registry.load("experiments", name)
    try:
        return experiment.answers.model_validate(record.answer)
    except ValidationError as error:
        raise UsageError(
            f"the answer of {record.id} does not fit experiment {name}: {first_fault(error)}",
            "look at it with the version of the experiment that wrote it",
        ) from None
