"""Measure stream processors: published workloads, honest latency, answers that are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.api import compare, open, run

    __version__: str

__all__ = ["__version__", "compare", "open", "run"]


def __getattr__(name: str) -> object:
    # Loaded on demand: the API imports a lot, and reading the version takes 50 ms.
    if name in ("compare", "open", "run"):
        from streamgauge import api

        return getattr(api, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("streamgauge")
    raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
