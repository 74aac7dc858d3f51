"""What profiling costs, and how fast stored stacks become tasks and flame graphs."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import streamgauge
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.api import Run
from streamgauge.profilers.known import known
from streamgauge.profiling.costs import UNSAMPLED, costs
from streamgauge.profiling.profile import (
    Profile,
    ProfileRecord,
    ThreadCpu,
    read_profile,
    write_profile,
)
from streamgauge.profiling.stacks import Group, Sample, gather
from streamgauge.profiling.task_file import read_tasks
from streamgauge.profiling.tasks import UNMATCHED
from streamgauge.report.profile.page import profile_page
from streamgauge.report.profile.profiled import Profiled

RUNS = Path(__file__).parents[1] / "runs"
_STACKS, _EACH, _FRAMES = 100_000, 100, 15_000


@benchmark("stacks")
def stacks() -> Iterator[Measurement]:
    """Ten million samples of 100,000 different stacks into tasks and a page with a flame graph."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "profile"
        folder.mkdir()
        made = _made_up()
        write_profile(made.record, made.stacks, folder)
        began_s = time.monotonic()
        found = read_profile(folder)
        assert found is not None
        page = profile_page(Profiled("made up", found, read_tasks("spark"), 1e6))
        yield at_most("stacks.seconds", time.monotonic() - began_s, "s", 5)
        yield at_most("stacks.page", len(page.encode()) / 1e6, "MB", 1)


@benchmark("profiling-cost", slow=True, makes_runs=True)
def profiling_cost() -> Iterator[Measurement]:
    """The profiler on and off in turns, on ysb; the lower ends of both intervals."""
    run = _run("rank-overhead")
    (result,) = run.results
    for name in ("profiling.cpu", "profiling.latency"):
        yield Measurement(name, result.metrics.get(name, float("nan")), "x", None, None)
    measured = known(sorted(_profile(run).backends))
    yield at_least("profiling.pairs", measured.pairs if measured else 0, "", 10)
    if measured is not None and measured.cpu is not None and measured.latency is not None:
        yield at_most("profiling.cpu.low", measured.cpu.low, "x", 1.02)
        yield at_most("profiling.latency.low", measured.latency.low, "x", 1.04)


@benchmark("profiling-shares", slow=True, makes_runs=True)
def profiling_shares() -> Iterator[Measurement]:
    """Five repeats on ysb: how much shares differ, and what is not told."""
    run = _run("rank-consistency")
    points = run.answer.points  # type: ignore[union-attr]  # of that experiment
    worst = max(each.share_deviation or 0 for each in points[0].tasks if each.task != "total")
    yield at_most("profiling.deviation", 100 * worst, "points", 3)
    profile = _profile(run)
    told = costs(profile, read_tasks("spark"))
    lost = sum(each.cpu_s for each in told.by_task() if each.task in (UNMATCHED, UNSAMPLED))
    yield at_most("profiling.unmatched", 100 * lost / told.cpu_s, "%", 5)
    yield at_most("profiling.sampled", 100 * abs(1 - (profile.sampled or 0)), "%", 5)


def _run(preset: str) -> Run:
    return streamgauge.run("ysb/topic", preset=preset, runs=RUNS)


def _profile(run: Run) -> Profile:
    found = read_profile(run.folder.trial_folder(1) / "profile")
    assert found is not None
    return found


def _made_up() -> Profile:
    """Stacks as deep as Spark's, of as many methods."""
    chance = random.Random(1)
    names = [f"org.apache.spark.sql.execution.Class{n}.method{n % 7}" for n in range(_FRAMES)]
    names += ["org.apache.kafka.clients.consumer.KafkaConsumer.poll", "x.JsonToStructs.eval"] * 50
    made = gather(
        Sample(Group("SparkSubmit", f"thread{number % 30}"), _stack(chance, names), _EACH)
        for number in range(_STACKS)
    )
    threads = [ThreadCpu(process=g.process, thread=g.thread, cpu_s=10.0) for g in made.groups]
    return Profile(ProfileRecord(hz={}, seconds=300, threads=threads), made, {})


def _stack(chance: random.Random, names: list[str]) -> tuple[str, ...]:
    base = 37 * chance.randrange(200)
    jumps = (1 + (chance.random() < 0.05) * chance.randrange(300) for _ in range(120))
    depth = chance.randrange(40, 120)
    return tuple(
        names[(base + place * jump) % len(names)]
        for place, jump in zip(range(depth), jumps, strict=False)
    )
