"""Measure stream processors: published workloads, honest latency, answers that are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.api import open, run

    __version__: str

__all__ = ["__version__", "open", "run"]


def __getattr__(name: str) -> object:
    # Whoever asks pays: the version costs 50 ms of imports, the API those of Arrow and Spark.
    if name == "__version__":
        from importlib.metadata import version

        return version("streamgauge")
    if name in __all__:
        from streamgauge import api

        return getattr(api, name)
    raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
