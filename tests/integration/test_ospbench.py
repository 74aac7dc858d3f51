"""OSPBench: its loads, and what goes wrong with records, on a real broker and a real Spark."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration, pytest.mark.spark]

STOPS_S = 2
STOPS = {"bad": f"1000000@{STOPS_S}s/speed"}
engines = pytest.mark.parametrize(
    "engine", ["reference", pytest.param("spark", marks=pytest.mark.thorough)]
)


def spec_of(stage: str, **changes: Any) -> Any:
    fields: dict[str, Any] = {"rate": 95.0, "duration_s": 5.0, "warmup_s": 1.0, "partitions": 2}
    return make_spec(stage, workload_name="ospbench", **{**fields, **changes})


@engines
def test_bursts_are_answered(bench: Bench, tmp_path: Path, engine: str) -> None:
    spec = spec_of("stage4", shape="burst:95/s,4x/2s", duration_s=6.0, engine=engine)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.correct.holds is True, result.correct.reason
    bursts = 3 * 4 * 95 + 4 * 95  # a second of warm-up has the first rate, the tail the last one
    assert 2 * bursts <= result.inputs <= 2 * (bursts + 95) + 20
    assert result.counts.expected > 100


@engines
def test_an_engine_that_starts_with_a_backlog_tells_when_it_had_caught_up(
    bench: Bench, tmp_path: Path, engine: str
) -> None:
    lasts_s = 30.0 if engine == "spark" else 8.0  # Spark takes some of it to start
    times = {"warmup_s": 3.0, "duration_s": lasts_s}
    spec = spec_of("stage2", shape="backlog:950/s@3s,95/s", engine=engine, **times)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    assert result.correct.holds is True, result.correct.reason
    assert result.kept_up.holds is True, result.kept_up.reason
    assert 0 <= result.metrics["catch_up.seconds"] < lasts_s
    assert not [name for name in result.metrics if name.startswith("latency.")]
    assert any("had caught up" in warning for warning in result.warnings)
    assert result.phases["send backlog"] >= 3
    assert result.pace is None


@pytest.mark.parametrize(
    ("stage", "parameters", "options"),
    [
        # Nothing but sentinels goes on when speed stops.
        ("stage3", STOPS, {}),
        pytest.param("stage3", STOPS, {"join": "native"}, marks=pytest.mark.thorough),
        pytest.param("stage4", {"bad": "7@2s"}, {"join": "native"}, marks=pytest.mark.thorough),
        ("stage6", {"bad": "7@2s"}, {"conf.spark.sql.session.timeZone": "America/New_York"}),
    ],
)
def test_what_cannot_be_parsed_has_no_answer_and_all_else_is_right(
    bench: Bench, tmp_path: Path, stage: str, parameters: dict[str, Any], options: dict[str, str]
) -> None:
    spec = spec_of(stage, engine="spark", parameters=parameters, engine_options=options)
    assert spec.mode == ("realtime" if stage == "stage6" else "microbatch")
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.correct.holds is True, result.correct.reason
    points, seconds = 5 * 12, 7
    if stage == "stage3":
        assert points * STOPS_S <= result.counts.expected <= points * STOPS_S + 4
    else:
        # The two seconds with the bad records, and those that look back at them, lack some points.
        complete = points * (seconds - 2)
        assert complete - 3 * 2 * 7 <= result.counts.expected < complete + 4
