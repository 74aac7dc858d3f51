"""Presets with sizes for a survey: others than those that were published, on two cores."""

from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.planning import Asked, plan_run, preset_names, trials_of
from streamgauge.spec.run import RunSpec

SCALING = [name for name in preset_names() if name.startswith(("theodolite-", "ospbench-"))]


def plan(preset: str, **asked: object) -> RunSpec:
    return plan_run(None, {"preset": Asked(preset), **{k: Asked(v) for k, v in asked.items()}})


@pytest.mark.parametrize("name", SCALING)
def test_a_preset_is_complete_as_published_and_fits_two_cores_as_a_survey(name: str) -> None:
    published = plan(name)
    given = [trial.resources for trial in trials_of(published)]
    assert max((each.instances or 0) * each.instance_cores for each in given) in (30, 36)
    assert published.warmup_s >= 60
    survey = plan(name, survey=True)
    given = [trial.resources for trial in trials_of(survey)]
    assert max((each.instances or 0) * each.instance_cores for each in given) == 2
    assert max(each.instance_memory for each in given) == 1 << 30
    assert (survey.warmup_s, survey.duration_s, survey.repeats) == (30, 60, 1)
    assert survey.experiment_options["metric"] == "capacity"
    assert survey.queries == published.queries


def test_there_are_presets_of_both_publications() -> None:
    assert len(SCALING) == 12


def test_the_bound_is_widened_where_batches_are_long() -> None:
    bounds = {name: plan(name).objectives for name in SCALING if "-hop-" in name}
    assert bounds == {
        "ospbench-hop-150s": ("lag.trend<0.08*rate",),
        "ospbench-hop-5m": ("lag.trend<0.15*rate",),
        "ospbench-hop-10m": ("lag.trend<0.15*rate",),
        "ospbench-hop-5m15s": ("lag.trend<0.05*rate",),
    }


def test_what_was_typed_wins_over_the_sizes_of_a_survey() -> None:
    assert plan("theodolite-uc3-5m", survey=True, partitions=4).partitions == 4
    by_option = plan("theodolite-uc3-5m", experiment_options={"survey": "true"})
    assert by_option.partitions == 2


def test_sizes_of_a_survey_have_the_forms_of_all_settings(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("workload: theodolite\nsurvey_sizes: {partition: 2}\n")
    with pytest.raises(UsageError, match="survey_sizes: unknown setting 'partition'"):
        plan(str(file))
    file.write_text("workload: theodolite\nsurvey_sizes: 2\n")
    with pytest.raises(UsageError, match="survey_sizes must be SETTING: VALUE pairs"):
        plan(str(file))
