import io
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.report.terminal.overview import render
from streamgauge.report.view import view_of
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


@pytest.mark.parametrize(
    ("ceiling", "limit", "says"),
    [
        (320_000.0, "too late", "ceiling of the harness: 320k/s per input stream\n"),
        (1e7, None, "10M/s per input stream, and no higher one was tried"),
        (None, "too late", "ceiling of the harness: no rate held"),
    ],
)
def test_the_ceiling_is_told_below_its_steps(
    tmp_path: Path, make_trial: TrialMaker, ceiling: float | None, limit: str | None, says: str
) -> None:
    spec = RunSpec(workload="espbench", queries=("q3",), engine="noop", experiment="ceiling")
    folder = RunFolder.create(tmp_path, spec, ["test"], {"cores": 2})
    folder.trial_folder(1).mkdir()
    folder.write_trial(make_trial(1))
    answer = {"ceiling": ceiling, "limit": limit}
    folder.write(folder.record().model_copy(update={"status": "done", "answer": answer}))
    console = Console(file=io.StringIO(), width=160)
    console.print(render(folder))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert says in text
    assert "1k/s" in text.partition("ceiling of")[0]
    sentence = view_of(folder, folder.record(), folder.trials()).sentence()
    assert sentence.startswith("Ceiling of the harness: ")
    assert says.strip().split(": ")[-1] in sentence
