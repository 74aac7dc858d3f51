from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.planning import Asked, plan_run, trial_query
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import HasTables, ShapesQueries
from streamgauge.workloads.rovio import Rovio
from streamgauge.workloads.rovio.parameters import Parameters


def spec(query: str = "aggregation", **parameters: Any) -> TrialSpec:
    return TrialSpec(
        number=1,
        workload="rovio",
        query=query,
        parameters=Parameters(**parameters).model_dump(mode="json"),
        engine="reference",
        rate=100.0,
        duration_s=1.0,
        warmup_s=0.0,
    )


def test_windows_may_have_any_length_and_slide() -> None:
    chosen = Parameters(window="1m,500ms")
    assert (chosen.size_ms, chosen.slide_ms) == (60_000, 500)
    assert Parameters.model_validate(chosen.model_dump(mode="json")) == chosen


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"window": "4s,8s"}, "no longer than the window"),
        ({"window": "4s,0s"}, "must be positive"),
        ({"window": "8s"}, "window"),
        ({"window": "2h,2h"}, "3600"),
        ({"window": "10m,1ms"}, "1000 windows"),
        ({"window": [0.0015, 0.0015]}, "whole milliseconds"),
        ({"disorder": 0.1}, "allowed_delay"),
        ({"disorder": 0.6, "late": 0.6, "allowed_delay": "1s"}, "together at most 1"),
        ({"keys": "gamma"}, "keys"),
        ({"selectivity": 1.5}, "selectivity"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Parameters(**given)


def test_the_command_line_may_choose_the_window() -> None:
    run = plan_run("rovio/join", {"parameters": Asked({"window": "60s,60s", "keys": "zipf"})})
    assert run.parameters["window"] == [60.0, 60.0]
    assert run.queries == ("join",)


def test_the_parameters_give_the_query_its_window() -> None:
    assert isinstance(Rovio(), ShapesQueries)
    query = trial_query(spec(window="2s,1s"))
    assert query.window_ms == 2000
    assert query.sample is not None
    assert query.sample(12_500, b"10000,7,99") == 0.5
    assert trial_query(spec("join")).window_ms == 8000


def test_both_streams_have_records_and_a_sentinel() -> None:
    for stream in ("purchases", "ads"):
        payloads = Rovio().payloads(spec("join", ring=50), stream, 200)
        assert sum(len(block) for block in payloads.blocks) == 200
        assert payloads.marker is None
        assert payloads.sentinel is not None


def test_an_aggregation_repeats_its_ring_and_a_join_does_not_meet_its_own_repetition() -> None:
    def drawn(query: str, **changes: Any) -> int:
        trial = spec(query, ring=50, window="2s,1s").model_copy(update=changes)
        return sum(len(each) for each in Rovio().payloads(trial, "purchases", 10_000).blocks)

    assert drawn("aggregation") == 50
    assert drawn("join") == 2 * 2 * 100
    shaped = {"shape": "fluctuate:900/s", "rate": 700.0, "duration_s": 9.0}
    assert drawn("join", **shaped) == pytest.approx(2 * 2 * 900, rel=0.02)


def test_no_database_is_needed() -> None:
    assert not isinstance(Rovio(), HasTables)
