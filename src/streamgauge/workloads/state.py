"""How much an engine may have to remember at a time: reported before the start if it is a lot."""

from __future__ import annotations

from typing import cast

from streamgauge.engines.spark.windows.facts import AUTO
from streamgauge.measure.window_methods import METHOD, Hopping, Method, Windowed, cheapest, choices
from streamgauge.spec.trial import TrialSpec
from streamgauge.units import format_count

MUCH = 1_000_000
"""From this many groups or values on."""
_GROUP_BYTES = 300
"""Of a group in the memory of Spark's state store, with its share of the index."""


def method_of(spec: TrialSpec, windows: Hopping, of_key: float) -> Method:
    """Return the method by which hopping windows are computed.

    Args:
        spec: What was asked for.
        windows: Their length and distance.
        of_key: How many records a key has in a second.
    """
    asked = spec.engine_options.get(METHOD, AUTO)
    if asked != AUTO:
        return cast("Method", asked)
    return cheapest(Windowed(windows, of_key, spec.rate), choices(spec.engine_options.get("store")))


def values_kept(spec: TrialSpec, windows: Hopping, method: Method) -> float:
    """Count the values that are kept where windows need all their values."""
    copies = windows.overlap if method == "bucket" else 1
    return spec.rate * min(windows.size_ms / 1000, spec.load_s) * copies


def remark_on_groups(groups: float, *, on_disk: bool) -> str | None:
    """Report how many groups are open at a time, if they are many."""
    size = f", about {groups * _GROUP_BYTES / 1e9:.1f} GB in memory" if not on_disk else ""
    return _remark(groups, f"groups are open at a time{size}", on_disk=on_disk)


def remark_on_values(values: float, *, on_disk: bool) -> str | None:
    """Report how many values are kept at a time, if they are many."""
    return _remark(values, "values are kept at a time", on_disk=on_disk)


def _remark(count: float, what: str, *, on_disk: bool) -> str | None:
    if count < MUCH:
        return None
    advice = "" if on_disk else ", or to keep this on disk (on Spark -E store=rocksdb)"
    kept = f"up to {format_count(count)} {what}"
    return f"{kept}: an engine may need more memory{advice}"


def is_on_disk(spec: TrialSpec, method: str | None = None) -> bool:
    """Return whether Spark already keeps the state in RocksDB, by what was asked for."""
    return spec.engine_options.get("store") == "rocksdb" or method == "pairs"
