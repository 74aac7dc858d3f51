"""Samples and task files made by hand or at random."""

import re

from hypothesis import strategies as st

from streamgauge.profiling.profile import ProcessSeen, Profile, ProfileRecord, ThreadCpu
from streamgauge.profiling.stacks import Group, Sample, gather
from streamgauge.profiling.tasks import Pattern, Tasks

names = st.text("abcdef.", min_size=1, max_size=4)
frames = st.lists(st.sampled_from([f"f{number}" for number in range(8)]), max_size=6)
samples = st.lists(
    st.builds(
        Sample,
        st.builds(Group, st.sampled_from(["one", "two"]), st.sampled_from(["a", "b", "c"])),
        frames.map(tuple),
        st.integers(1, 50),
    ),
    max_size=20,
)


def sample(text: str, count: int = 1) -> Sample:
    """`process;thread;root;leaf`, as folded stacks are written."""
    process, thread, *rest = text.split(";")
    return Sample(Group(process, thread), tuple(rest), count)


def tasks(**patterns: str) -> Tasks:
    """Tasks by patterns of frames, in that order."""
    made = [
        Pattern(task, re.compile(pattern), line)
        for line, (task, pattern) in enumerate(patterns.items(), 1)
    ]
    return Tasks("toy", "toy", frames=tuple(made))


def profile(*taken: Sample, seconds: float = 10.0, **cpu_s: float) -> Profile:
    """A profile of the process `jvm`, with the CPU time of each of its threads."""
    threads = [ThreadCpu(process="jvm", thread=name, cpu_s=value) for name, value in cpu_s.items()]
    count = sum(each.count for each in taken)
    total = sum(cpu_s.values())
    seen = ProcessSeen(pid=7, name="jvm", backend="perf", cpu_s=total, samples=count)
    record = ProfileRecord(hz={"perf": 99.0}, seconds=seconds, processes=[seen], threads=threads)
    return Profile(record, gather(taken), {})
