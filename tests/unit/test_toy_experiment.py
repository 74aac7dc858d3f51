"""An experiment of somebody else's package: parameters, a typed answer, and a view or none."""

import io
import json
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge import registry
from streamgauge.cli.main import execute
from streamgauge.errors import UsageError
from streamgauge.planning import Asked, load_experiment, plan_run
from streamgauge.report.page.report import report_page
from streamgauge.report.terminal.overview import render
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder
from streamgauge.runner import loop
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker

PACKAGE = '''
from pydantic import BaseModel, Field
from rich.text import Text
from streamgauge.report.page.markup import tag
from streamgauge.report.view import View


class Legs(BaseModel):
    """How to climb."""

    most: int = Field(default=3, ge=1)
    bold: bool = False
    steps: list[float] = [1.0]
    name: str | None = None


class Climbed(BaseModel):
    """Where it got to."""

    best: float
    tried: list[float]
    says: str


class Climb:
    """Climbs."""

    name = "climb"
    parameters, answers = Legs, Climbed

    def __init__(self, run):
        self._run = run
        self._asked = Legs.model_validate(run.experiment_options)

    def plan(self):
        return [self._run.trial(1, self._run.queries[0], self._run.rates[0])]

    def next_trial(self, history):
        return None if history else self.plan()[0]

    def answer(self, history):
        tried = [result.spec.rate for result in history]
        best = max(tried, default=0.0) * max(self._asked.steps)
        return Climbed(best=best, tried=tried, says="<b>up</b>")


class ClimbView(View):
    """Shows how far it got."""

    def terminal(self):
        yield Text(f"  climbed to {self.answer.best:g}")

    def sentence(self):
        return f"It climbed to {self.answer.best:g}."

    def findings(self, run):
        return tag("section", tag("h2", "The climb"))
'''


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the experiment twice: `climb` with its view, `walk` without one."""
    package = tmp_path / "lib" / "toy_for_test"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    toys = [
        EntryPoint("climb", "toy_for_test:Climb", "streamgauge.experiments"),
        EntryPoint("walk", "toy_for_test:Climb", "streamgauge.experiments"),
        EntryPoint("climb", "toy_for_test:ClimbView", "streamgauge.views"),
    ]

    def all_of(group: str) -> list[EntryPoint]:
        return [*entry_points(group=group), *(each for each in toys if each.group == group)]

    monkeypatch.setattr(registry, "entry_points", all_of)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


def planned(experiment: str, **options: object) -> RunSpec:
    fields = {"engine": "reference", "experiment": experiment, "experiment_options": options}
    return plan_run("espbench/q3", {name: Asked(value) for name, value in fields.items()})


@pytest.fixture
def run(tmp_path: Path, make_trial: TrialMaker, toys: None) -> Callable[[str], RunFolder]:
    """Leave a run of one trial, concluded as the runner does it."""

    def leave(experiment: str) -> RunFolder:
        spec = planned(experiment, steps="1,2.5")
        folder = RunFolder.create(tmp_path / "runs", spec, ["streamgauge"], {"cores": 2})
        folder.trial_folder(1).mkdir()
        folder.write_trial(make_trial(1))
        loop._conclude(folder, folder.record(), load_experiment(spec), "done")
        return folder

    return leave


def shown(folder: RunFolder) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(render(folder))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.usefixtures("toys")
class TestParameters:
    def test_text_becomes_what_the_model_says_and_the_run_keeps_all_of_it(self) -> None:
        spec = planned("climb", most="5", bold="true", steps="1, 2.5")
        assert spec.experiment_options == {
            "most": 5, "bold": True, "steps": [1.0, 2.5], "name": None,
        }  # fmt: skip
        assert planned("climb", steps="").experiment_options["steps"] == []
        assert planned("climb", name="a,b").experiment_options["name"] == "a,b"
        assert planned("climb").experiment_options["most"] == 3
        assert RunSpec.model_validate_json(spec.model_dump_json()) == spec

    def test_an_unknown_parameter_names_the_nearest(self) -> None:
        with pytest.raises(UsageError) as raised:
            planned("climb", mots="5")
        assert raised.value.message == "unknown parameter of climb 'mots'"
        assert raised.value.remedy is not None
        assert raised.value.remedy.startswith("Did you mean most?")

    @pytest.mark.parametrize(
        ("options", "field"),
        [({"most": "many"}, "most"), ({"most": "0"}, "most"), ({"steps": "1,x"}, "steps.1"),
         ({"bold": "perhaps"}, "bold")],
    )  # fmt: skip
    def test_a_wrong_value_is_told_with_its_field(
        self, options: dict[str, object], field: str
    ) -> None:
        with pytest.raises(UsageError, match=f"-X {field} must be "):
            planned("climb", **options)

    def test_the_command_line_takes_them(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = ["run", "espbench/q3", "-e", "reference", "-x", "climb", "--dry-run", "--json"]
        assert execute([*words, "-X", "most=5", "-X", "steps=1,2"]) == 0
        options = json.loads(capsys.readouterr().out)["spec"]["experiment_options"]
        assert (options["most"], options["steps"]) == (5, [1.0, 2.0])
        monkeypatch.setenv("STREAMGAUGE_EXPERIMENT_OPTIONS", "most=7 bold=yes")
        assert execute(words) == 0
        options = json.loads(capsys.readouterr().out)["spec"]["experiment_options"]
        assert (options["most"], options["bold"]) == (7, True)
        assert execute([*words, "-X", "most=few"]) == 2
        assert "-X most must be a whole number" in capsys.readouterr().err


def test_the_answer_is_read_back_as_it_was_written(run: Callable[[str], RunFolder]) -> None:
    folder = run("climb")
    answer = read_answer(folder.record())
    assert answer is not None
    assert type(answer).__name__ == "Climbed"
    written = {"best": 2500.0, "tried": [1000.0], "says": "<b>up</b>"}
    assert answer.model_dump() == folder.record().answer == written


def test_an_answer_of_another_shape_is_an_error_that_says_so(
    run: Callable[[str], RunFolder],
) -> None:
    record = run("climb").record().model_copy(update={"answer": {"best": "the top"}})
    with pytest.raises(UsageError, match="does not fit experiment climb"):
        read_answer(record)


def test_a_registered_view_shows_the_run(run: Callable[[str], RunFolder]) -> None:
    folder = run("climb")
    text, page = shown(folder), report_page([folder])
    assert "climbed to 2500" in text
    assert "p90" not in text
    assert "It climbed to 2500." in page
    assert page.index("Set-up") < page.index("The climb") < page.index("Correctness")
    assert "<td>steps</td>" in page
    assert "<td>1.0, 2.5</td>" in page


def test_without_a_view_the_trials_are_shown_and_the_answer(
    run: Callable[[str], RunFolder],
) -> None:
    folder = run("walk")
    text, page = shown(folder), report_page([folder])
    assert "p90" in text
    assert "  best: 2500.0\n" in text
    assert "  tried: [1000.0]\n" in text
    assert "  says: <b>up</b>\n" in text
    assert "The trial is valid" in page
    assert "<dt>best</dt><dd>2500.0</dd>" in page
    assert "<dd>&lt;b&gt;up&lt;/b&gt;</dd>" in page


def test_a_run_of_an_experiment_whose_package_is_gone_is_shown(
    run: Callable[[str], RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run("climb")
    monkeypatch.setattr(registry, "entry_points", entry_points)
    registry._entries.cache_clear()
    assert "best: 2500.0" in shown(folder)
    assert "<dt>best</dt><dd>2500.0</dd>" in report_page([folder])
