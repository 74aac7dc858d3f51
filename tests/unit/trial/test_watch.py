from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streamgauge import machine
from streamgauge.errors import TrialFailed, TrialInvalid
from streamgauge.trial.watch import Clock, LimitPassed, Watch


@dataclass
class Thing:
    """Something that lives until it is told why it died."""

    died: str | None = None
    slow: str | None = None

    def failure(self) -> str | None:
        return self.died

    def lost(self) -> str | None:
        return self.died

    def trouble(self) -> str | None:
        return self.slow

    def processes(self) -> Sequence[int]:
        return []


@dataclass
class FakeTime:
    now_s: float = 1000.0
    stepped_s: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(
            realtime=lambda: self.now_s + self.stepped_s,
            monotonic=lambda: self.now_s,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds


def watch(tmp_path: Path, time: FakeTime, **services: Thing) -> Watch:
    return Watch(services, [tmp_path], time.clock())


def test_a_service_in_trouble_makes_the_trial_invalid_even_when_that_has_passed(
    tmp_path: Path,
) -> None:
    store = Thing(slow="it did not answer within 2 s")
    looked = watch(tmp_path, FakeTime(), redis=store)
    looked.check()
    looked.troubles.sample(0.0)
    store.slow = None
    with pytest.raises(TrialInvalid, match="redis does not work: it did not answer"):
        looked.check()


def test_an_engine_that_dies_of_a_full_store_is_not_to_blame(tmp_path: Path) -> None:
    looked = watch(tmp_path, FakeTime(), redis=Thing(slow="it refuses a write: OOM"))
    looked.job = Thing(died="an exception in a task")  # type: ignore[assignment]
    with pytest.raises(TrialInvalid, match="redis does not work: it refuses a write: OOM"):
        looked.check()


def test_a_dead_service_makes_the_trial_invalid(tmp_path: Path) -> None:
    broker = Thing()
    watched = watch(tmp_path, FakeTime(), broker=broker)
    watched.check()
    broker.died = "killed by signal 9"
    with pytest.raises(TrialInvalid, match="broker died: killed by signal 9"):
        watched.check()


def test_a_dead_engine_fails_the_trial(tmp_path: Path) -> None:
    watched = watch(tmp_path, FakeTime(), broker=Thing())
    watched.job = Thing("exit code 1")  # type: ignore[assignment]  # all that check() looks at
    with pytest.raises(TrialFailed, match="engine died: exit code 1"):
        watched.check()


def test_a_service_that_dies_just_after_its_client_is_the_cause(tmp_path: Path) -> None:
    broker, time = Thing(), FakeTime()
    watched = watch(tmp_path, time, broker=broker)
    watched.job = Thing("connection lost")  # type: ignore[assignment]

    def die(seconds: float) -> None:
        broker.died = "killed"

    watched.clock = Clock(time.clock().realtime, time.clock().monotonic, die)
    with pytest.raises(TrialInvalid, match="broker died"):
        watched.check()


def test_a_dead_sender_makes_the_trial_invalid(tmp_path: Path) -> None:
    watched = watch(tmp_path, FakeTime(), broker=Thing())
    watched.sender = Thing("exit code 1")
    with pytest.raises(TrialInvalid, match="sender died"):
        watched.check()


@dataclass
class Overrun(Thing):
    """A sender whose queue is full, or from which a transfer was broken off."""

    def overrun(self) -> str | None:
        return "the engine broke off a transfer"


def test_an_engine_that_was_overrun_is_unsustainable(tmp_path: Path) -> None:
    time = FakeTime()
    watched = watch(tmp_path, time)
    watched.sender, watched.job = Overrun(), Thing()  # type: ignore[assignment]
    with pytest.raises(TrialFailed, match="unsustainable: the engine broke off a transfer"):
        watched.check()


def test_an_engine_that_breaks_off_because_it_dies_tells_of_what(tmp_path: Path) -> None:
    time, engine = FakeTime(), Thing()
    watched = watch(tmp_path, time)
    watched.sender, watched.job = Overrun(), engine  # type: ignore[assignment]

    def die(seconds: float) -> None:
        time.sleep(seconds)
        engine.died = "an exception in a task"

    watched.clock = Clock(time.clock().realtime, time.clock().monotonic, die)
    with pytest.raises(TrialFailed, match="the engine died: an exception in a task"):
        watched.check()


def test_a_stepped_clock_makes_the_trial_invalid(tmp_path: Path) -> None:
    time = FakeTime()
    watched = watch(tmp_path, time)
    time.now_s += 100
    watched.check()
    time.stepped_s = -0.02
    with pytest.raises(TrialInvalid, match="clock was stepped by 20 ms"):
        watched.check()


@pytest.mark.parametrize("what", ["DISK", "MEMORY"])
def test_a_machine_that_runs_full_makes_the_trial_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    watched = watch(tmp_path, FakeTime())
    watched.check()
    monkeypatch.setattr(machine, f"SPARE_{what}", 1 << 60)
    with pytest.raises(TrialInvalid, match=f"left on the disk|of {what.lower()} are left"):
        watched.check()


def test_a_wait_has_a_limit_and_says_for_what(tmp_path: Path) -> None:
    time = FakeTime()
    with pytest.raises(LimitPassed, match="the tide"):
        watch(tmp_path, time).wait_for(lambda: False, 5.0, "the tide")
    assert 4.9 < sum(time.sleeps) < 6.0


def test_a_wait_ends_when_its_condition_holds(tmp_path: Path) -> None:
    answers = iter([False, False, True])
    time = FakeTime()
    watch(tmp_path, time).wait_for(lambda: next(answers), 60.0, "it")
    assert len(time.sleeps) == 2
