"""The profilers by name."""

import pytest

from streamgauge.planning import load_profiler
from streamgauge.profilers.profiler import Auto


@pytest.mark.parametrize(
    ("name", "java", "python"),
    [
        ("auto", ["async-profiler", "perf", "jfr", "procfs"], ["py-spy", "procfs"]),
        ("py-spy", ["procfs"], ["py-spy", "procfs"]),
        ("procfs", ["procfs"], ["procfs"]),
    ],
)
def test_the_back_ends_of_a_profiler(name: str, java: list[str], python: list[str]) -> None:
    profiler = load_profiler(name)
    assert isinstance(profiler, Auto)
    assert [each.name for each in profiler.backends["java"]] == java
    assert [each.name for each in profiler.backends["python"]] == python
