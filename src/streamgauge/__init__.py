"""Measure stream processors: published workloads, honest latency, answers that are checked."""

from __future__ import annotations

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Reading the version costs 50 ms of imports: only who asks pays.
    if name == "__version__":
        from importlib.metadata import version

        return version("streamgauge")
    raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
