"""Validate a run once more, from the records that it kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from streamgauge.results.folder import RunFolder
from streamgauge.services import runtime
from streamgauge.spec.trial import Counts
from streamgauge.trial.again import validate_again
from streamgauge.validation.session import Session


def validate_run(folder: RunFolder, tell: Callable[[int], None]) -> dict[int, Counts]:
    """Validate every finished trial of a run once more, from its kept records."""
    folder.record()  # refuses what another version wrote
    done = [result for result in folder.trials() if result.status == "done"]
    found = {}
    with TemporaryDirectory(dir=runtime.data_dir()) as place, Session(Path(place)) as session:
        for result in done:
            number = result.spec.number
            tell(number)
            again = validate_again(session.get(), folder.trial_folder(number), result)
            found[number] = again.counts
    return found
