"""The whole experiment against simulated engines: from the guess to the answer."""

from dataclasses import replace

import pytest

from streamgauge.errors import UsageError
from streamgauge.experiments.conclusions import by_growth, in_growth
from streamgauge.experiments.search_answer import SearchAnswer, Searches
from streamgauge.experiments.sustainable import Sustainable
from streamgauge.measure.sustained import decide
from streamgauge.planning import Asked, load_experiment, plan_run
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Pace, TrialResult, TrialSpec, Verdict
from streamgauge.units import format_rate
from tests.simulated import KINDS, Runs, simulate


def asked(*rates: float, queries: tuple[str, ...] = ("q3",), **changes: object) -> RunSpec:
    fields: dict[str, object] = {
        "workload": "espbench",
        "queries": queries,
        "engine": "reference",
        "experiment": "sustainable",
        "duration_s": 60.0,
        "warmup_s": 30.0,
        "experiment_options": {"survey": True},
    }
    if rates:
        fields |= {"rates": rates, "origins": {"rates": "option"}}
    return RunSpec.model_validate(fields | changes)


def search(run: RunSpec, trial: Runs) -> tuple[list[TrialResult], SearchAnswer, int]:
    """Go on until the experiment is over, each time as if it were resumed."""
    history: list[TrialResult] = []
    while (spec := Sustainable(run).next_trial(history)) is not None:
        assert spec.number == len(history) + 1
        written = trial(spec).model_dump_json()
        history.append(TrialResult.model_validate_json(written))
    experiment = Sustainable(run)
    answer = experiment.answer(history)
    (found, *_) = answer.searches
    assert Searches.model_validate_json(answer.model_dump_json()) == answer
    return history, found, experiment.exit_code(history)


SURVEYED = ("steady", "noisy", "micro-batches", "silent")


@pytest.mark.parametrize("kind", SURVEYED)
def test_a_survey_finds_the_limit_of_an_engine(kind: str) -> None:
    engine = KINDS[kind]
    history, found, code = search(asked(), simulate(engine))
    assert found.rate == pytest.approx(engine.limit, rel=0.15)
    assert (found.limit, code) == ("engine", 0)
    assert "sustained, confirmed 3 of 3" in str(found.conclusion)
    assert next(trial.role for trial in found.trials) == "guess"
    shares = [result.spec.rate / found.rate for result in history[-2:]]
    assert shares == pytest.approx([0.9, 0.5], rel=0.01)
    assert "NaN" not in str(found)


def test_a_steady_engine_takes_at_most_12_trials_to_the_confirmation() -> None:
    _, found, _ = search(asked(duration_s=180.0, warmup_s=60.0), simulate(KINDS["steady"]))
    roles = [trial.role for trial in found.trials]
    assert len(roles) - roles.count("latency") <= 12
    assert roles.count("confirm") == 3


def test_a_guess_that_is_wrong_costs_trials_and_not_the_answer() -> None:
    _, found, _ = search(asked(), simulate(KINDS["steady"], catch_up=7.0))
    assert found.rate == pytest.approx(50_000, rel=0.1)
    _, found, _ = search(asked(), simulate(KINDS["steady"], catch_up=0.1))
    assert found.rate == pytest.approx(50_000, rel=0.1)


def guessed(start_s: float, rate: float) -> Runs:
    """Return an engine that needs that long to start, and nothing else is known of it."""

    def run(spec: TrialSpec) -> TrialResult:
        result = simulate(KINDS["steady"])(spec)
        if not spec.backlog:
            return result
        backlog = spec.rate * spec.duration_s
        told = {"rate.offered": spec.rate, "rate.catch_up": backlog / (start_s + backlog / rate)}
        return result.model_copy(update={"metrics": told})

    return run


@pytest.mark.parametrize(
    ("start_s", "rate", "times"), [(20.0, 3e6, 16), (20.0, 1e5, 4), (40.0, 2e6, 4)]
)
def test_a_backlog_too_small_for_an_engine_is_followed_by_a_greater_one(
    start_s: float, rate: float, times: int
) -> None:
    history, found, _ = search(asked(transport="flight"), guessed(start_s, rate))
    guesses = [result.spec.duration_s for result in history if result.spec.backlog]
    assert guesses == [10.0, times * 10.0]
    told = [trial.reason for trial in found.trials[:2]]
    assert told[1] == f"caught up at {format_rate(rate)}" != told[0]
    assert found.catch_up == pytest.approx(rate)


def test_a_backlog_too_great_for_an_engine_is_followed_by_a_smaller_one() -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = guessed(20.0, 3e6)(spec)
        died = {"status": "failed", "cause": "out of memory", "metrics": {}}
        too_much = spec.backlog and spec.duration_s > 40.0
        return result.model_copy(update=died) if too_much else result

    history, found, _ = search(asked(transport="flight"), run)
    guesses = [result.spec.duration_s for result in history if result.spec.backlog]
    assert guesses == [10.0, 160.0, 40.0]
    assert found.catch_up == pytest.approx(3e6)
    assert found.trials[1].reason == "out of memory"


def test_an_engine_that_takes_any_backlog_in_no_time_is_not_underrated() -> None:
    _, found, _ = search(asked(transport="flight"), guessed(start_s=50.0, rate=1e8))
    assert found.catch_up == pytest.approx(6e6 / 2)


def test_an_engine_that_is_busy_for_long_is_guessed_once() -> None:
    _, found, _ = search(asked(transport="flight"), guessed(start_s=50.0, rate=4e4))
    roles = [trial.role for trial in found.trials]
    assert roles.count("guess") == 1
    assert found.catch_up == pytest.approx(2e6 / 100)


def test_a_guess_that_fails_leaves_a_fallback() -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = simulate(KINDS["steady"])(spec)
        if not spec.backlog:
            return result
        return result.model_copy(update={"status": "failed", "cause": "it died", "metrics": {}})

    _, found, code = search(asked(), run)
    assert found.rate == pytest.approx(50_000, rel=0.1)
    assert found.catch_up is None
    assert code == 0


@pytest.mark.parametrize(("spoiled", "guesses"), [({1}, 3), ({2}, 3), ({1, 2}, 2), ({2, 3}, 3)])
def test_a_guess_that_something_else_spoiled_is_repeated_once(
    spoiled: set[int], guesses: int
) -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = guessed(20.0, 5e4)(spec)
        broken = {"status": "invalid", "cause": "the broker died", "metrics": {}}
        return result.model_copy(update=broken) if spec.number in spoiled else result

    history, found, code = search(asked(), run)
    backlogs = [result.spec.duration_s for result in history if result.spec.backlog]
    assert len(backlogs) == guesses
    assert all(backlogs[number - 1] == backlogs[number] for number in spoiled if number < guesses)
    assert (found.catch_up is None) == (spoiled == {1, 2})
    assert found.rate == pytest.approx(50_000, rel=0.1)
    assert code == 0


def test_the_driver_as_the_limit_ends_with_4() -> None:
    _, found, code = search(asked(), simulate(KINDS["steady"], driver=20_000))
    assert found.limit == "harness"
    assert found.rate == pytest.approx(20_000, rel=0.06)
    assert "the harness was the limit" in str(found.conclusion)
    assert code == 4


def test_wrong_answers_at_every_rate_end_with_1() -> None:
    wrong = Verdict(holds=False, reason="of 10 expected and 9 outputs: 1 missing")

    def run(spec: TrialSpec) -> TrialResult:
        return simulate(KINDS["steady"])(spec).model_copy(update={"correct": wrong})

    _, found, code = search(asked(), run)
    assert (found.rate, code) == (None, 1)
    assert "no rate passes" in str(found.conclusion)


def test_a_query_that_emits_nothing_sustains_nothing() -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = simulate(KINDS["silent"])(spec)
        if result.pace is None:
            return result
        nothing = result.pace.model_copy(update={"behind_p95_s": None})
        return result.model_copy(update={"pace": nothing})

    history, found, code = search(asked(1000.0, 4000.0), run)
    assert (found.rate, code) == (None, 1)
    assert [result.spec.duration_s for result in history] == [60.0, 120.0]


def test_an_engine_that_dies_above_some_rate_is_rated_below_it() -> None:
    def run(spec: TrialSpec) -> TrialResult:
        result = simulate(KINDS["steady"])(spec)
        if spec.backlog or spec.rate < 30_000:
            return result
        dead = {"status": "failed", "cause": "the engine died: out of memory", "pace": None}
        return result.model_copy(update=dead)

    _, found, code = search(asked(), run)
    assert found.rate == pytest.approx(30_000, rel=0.06)
    assert code == 0


def test_a_trial_that_could_not_be_told_is_repeated_for_twice_as_long() -> None:
    history: list[TrialResult] = []
    experiment = Sustainable(asked(1000.0, 2000.0))
    first = experiment.next_trial(history)
    assert first is not None
    result = simulate(KINDS["steady"])(first)
    assert result.pace is not None
    growth = result.pace.behind_growth.model_copy(update={"decision": "undecided"})
    untold = result.pace.model_copy(update={"behind_growth": growth})
    again = experiment.next_trial([result.model_copy(update={"pace": untold})])
    assert again is not None
    assert (again.rate, again.duration_s) == (1000.0, 2 * first.duration_s)


def test_one_rate_is_a_guess_and_two_are_limits() -> None:
    history, found, _ = search(asked(40_000.0), simulate(KINDS["steady"]))
    assert not any(result.spec.backlog for result in history)
    assert [result.spec.rate for result in history[:2]] == [20_000, 44_000]
    history, found, code = search(asked(1000.0, 2000.0), simulate(KINDS["steady"]))
    assert (found.rate, found.limit, code) == (2000.0, "search", 0)


def test_several_queries_are_searched_one_after_the_other() -> None:
    spec = asked(1000.0, 2000.0, queries=("q3", "identity"))
    history, _, code = search(spec, simulate(KINDS["steady"]))
    queries = [result.spec.query for result in history]
    assert queries == sorted(queries, reverse=True)
    assert queries.count("identity") == queries.count("q3")
    searches = Sustainable(spec).answer(history).searches
    assert [each.query for each in searches] == ["q3", "identity"]
    assert code == 0


def test_it_tells_what_a_trial_is_for() -> None:
    history, _, _ = search(asked(), simulate(KINDS["steady"]))
    experiment = Sustainable(asked())
    told = [experiment.why(result.spec, history[:k]) for k, result in enumerate(history)]
    assert told[:4] == [*["how fast does it catch up?"] * 2, *["an end of the bracket"] * 2]
    assert told[-1] == "latency at the rate found"
    assert told.count("does it hold each time?") == 3


def test_an_unfinished_search_says_so() -> None:
    experiment = Sustainable(asked(1000.0, 2000.0))
    (found,) = experiment.answer([]).searches
    assert found.rate is None
    assert "not over" in str(found)
    assert experiment.exit_code([]) == 0


def test_the_outline_counts_what_a_good_search_takes() -> None:
    stages = Sustainable(asked()).outline()
    assert sum(stage.trials for stage in stages) == 2 + 2 + 5 + 3 + 2
    assert "guess" in stages[0].what
    limits = Sustainable(asked(1000.0, 2000.0)).outline()
    assert "1k/s and 2k/s" in limits[0].what


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"rates": ["2k/s", "1k/s"]}, "2k/s and 1k/s"),
        ({"rates": ["2k/s", "2k/s"]}, "2k/s is named twice"),
        ({"rates": ["1k/s", "2k/s", "3k/s"]}, "two limits"),
        ({"repeats": 3}, "repeats"),
        ({"shape": "poisson:1k/s"}, "constant rates"),
        ({"objectives": ("latency.p99<2s",)}, "objectives"),
        ({"survey": True, "quick": True}, "exclude"),
        ({"duration": "179s"}, "needs 3 min"),
        ({"warmup": "59s"}, "needs 60 s"),
        ({"experiment": "fixed-rate", "survey": True}, "does not search"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], part: str) -> None:
    fields = {"engine": "reference", "experiment": "sustainable", **given}
    with pytest.raises(UsageError) as raised:
        plan_run("espbench/q3", {name: Asked(value) for name, value in fields.items()})
    assert part in f"{raised.value.message} {raised.value.remedy}"


def karimov(preset: str, **given: object) -> RunSpec:
    fields = {"preset": f"karimov-{preset}", **given}
    return plan_run("rovio/aggregation", {name: Asked(value) for name, value in fields.items()})


def test_limits_close_to_a_known_rate_leave_ends_and_confirmations() -> None:
    run = karimov("fluctuate", rates=["1.43M/s", "1.5M/s"])
    assert sum(stage.trials for stage in Sustainable(run).outline()) == 2 + 3 + 1


@pytest.mark.parametrize(
    ("preset", "given", "rates"),
    [
        ("fluctuate", {"shape": "fluctuate:1.35M/s"}, [1.05e6]),
        ("aggregation", {"rates": ["1.5M/s", "1.35M/s", "750k/s"]}, [1.5e6, 1.35e6, 7.5e5]),
        ("overload", {"rates": ["1.5M/s", "2.25M/s"]}, [1.5e6, 2.25e6]),
    ],
)
def test_at_a_known_rate_a_preset_needs_no_search(
    preset: str, given: dict[str, object], rates: list[float]
) -> None:
    run = karimov(preset, experiment="fixed-rate", **given)
    trials = load_experiment(run).plan()
    assert [trial.rate for trial in trials] == pytest.approx(rates)
    assert {trial.transport for trial in trials} == {"flight"}


def test_the_backlog_of_an_overload_fits_into_the_queues() -> None:
    """At 150 % of 2 million a second, for warm-up and measured time, 32 bytes a record."""
    assert karimov("overload").load.queue > 1e6 * 242 * 32


def planned(**given: object) -> RunSpec:
    fields = {"experiment": "sustainable", **given}
    return plan_run("espbench/q3", {name: Asked(value) for name, value in fields.items()})


def test_the_times_are_those_of_the_method() -> None:
    spec = planned(engine="reference")
    assert (spec.warmup_s, spec.duration_s) == (60, 180)
    survey = planned(engine="reference", survey=True)
    assert (survey.warmup_s, survey.duration_s) == (30, 60)
    options = {"mode": "microbatch", "trigger": "10s"}
    slow = planned(engine="spark", engine_options=options)
    assert (slow.warmup_s, slow.duration_s) == (200, 300)
    longer = planned(engine="reference", duration="4m")
    assert (longer.warmup_s, longer.duration_s) == (60, 240)
    assert Sustainable(spec).least_times(None, 60_000) == (120, 300)
    assert Sustainable(survey).least_times(None, 60_000) == (60, 180)
    with pytest.raises(UsageError, match="too short"):
        planned(engine="reference", survey=True, duration="50s")


def test_a_run_folder_keeps_the_search(tmp_path) -> None:
    spec = asked(1000.0, 2000.0)
    folder = RunFolder.create(tmp_path, spec, [], {})
    first = Sustainable(folder.record().spec).next_trial(folder.trials())
    assert first is not None
    folder.trial_folder(1).mkdir()
    folder.write_trial(simulate(KINDS["steady"])(first))
    second = Sustainable(folder.record().spec).next_trial(folder.trials())
    assert second is not None
    assert (second.number, second.rate) == (2, 2000.0)


def test_what_follows_a_search_can_be_chosen() -> None:
    run = asked(experiment_options={"survey": True, "after": ["fluctuate", "150%"]})
    history, found, code = search(run, simulate(KINDS["steady"]))
    *_, fluctuating, overloaded = history
    rate = found.rate
    assert isinstance(rate, float)
    assert code == 0, "an overload after the search is no failure of it"
    high = float(str(fluctuating.spec.shape).removeprefix("fluctuate:").removesuffix("/s"))
    assert high == pytest.approx(0.9 * rate, rel=0.01)
    assert fluctuating.spec.rate == pytest.approx(high * 7 / 9)
    assert overloaded.spec.rate == pytest.approx(1.5 * rate, rel=0.01)
    at = [each.at for each in found.latency]
    assert at == ["100%", "fluctuate", "150%"]


@pytest.mark.parametrize("after", ["half", "0%", "90", "fluctuate:1k/s"])
def test_what_cannot_follow_a_search_is_refused(after: str) -> None:
    with pytest.raises(ValueError, match="neither a share of the rate"):
        Sustainable(asked(experiment_options={"after": [after]}))


@pytest.mark.parametrize("guess", [(), (500.0,)])
@pytest.mark.parametrize("limit", [5_000.0, 2_000_000.0])
def test_a_quick_search_is_short_and_stays_below_the_harness(
    limit: float, guess: tuple[float, ...]
) -> None:
    run = asked(
        quick=True,
        rates=guess or (1000.0,),
        experiment_options={},
        duration_s=20.0,
        warmup_s=15.0,
        origins={"duration": "quick", "warmup": "quick", **({"rates": "option"} if guess else {})},
    )
    history, found, code = search(run, simulate(replace(KINDS["steady"], capacity=limit)))
    searched = [result.spec for result in history if not result.spec.backlog]
    assert max(spec.rate for spec in searched) <= 20_000
    assert sum(result.spec.load_s for result in history) < 180
    assert (found.rate is not None, code) == (True, 0)
    assert found.limit == "search"
    assert len(history) == 5 - bool(guess), "guess, bracket of two, confirmation, latency"


def test_a_quick_trial_whose_load_came_late_is_not_repeated() -> None:
    run = asked(1_000.0, quick=True, experiment_options={})
    trial = simulate(KINDS["steady"])

    def late(spec: TrialSpec) -> TrialResult:
        unknown = Verdict(holds=None, reason="1 % of the records came 187 ms late or more")
        return trial(spec).model_copy(update={"valid": unknown})

    _, found, code = search(run, late)
    assert (found.rate, code) == (1_100, 0)
    assert {each.outcome for each in found.trials} == {"pass"}


def test_by_growth_alone_a_rate_counts_that_is_only_too_far_behind() -> None:
    def at(rate: float, growth: str, behind_s: float) -> TrialResult:
        result = simulate(KINDS["steady"])(Sustainable(asked(1_000.0)).plan()[0])
        assert result.pace is not None
        slope = {"slope": 0.0, "low": 0.0, "high": 0.0, "blocks": 15, "decision": growth}
        pace = {"behind_growth": slope, "latency_growth": slope, "behind_p95_s": behind_s}
        told = Pace.model_validate({**result.pace.model_dump(), **pace})
        spec = result.spec.model_copy(update={"rate": rate})
        return result.model_copy(update={"spec": spec, "pace": told})

    history = [at(1_000, "none", 1), at(2_000, "none", 12), at(4_000, "trend", 1)]
    assert [decide(each).outcome for each in history] == ["pass", "fail", "fail"]
    assert by_growth(history) == (2_000, 4_000)
    assert by_growth([*history, at(1_500, "trend", 1)]) == (1_000, 1_500)
    assert by_growth([at(1_000, "undecided", 1)]) == (None, None)
    assert in_growth((2_000, 4_000)) == "by growth alone, as published: 2k/s; 4k/s grew"
