"""How much of uc2 and uc3 an engine has to remember at a time."""

from __future__ import annotations

from streamgauge.units import format_count
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters

MANY_GROUPS = 1_000_000
"""From here on a trial is told beforehand how much it may have to remember."""
_GROUP_BYTES = 300
"""Of a group in the memory of Spark's state store, with what keeps it findable."""


def open_groups(case: str, parameters: Parameters, sensors: int, load_s: float) -> int:
    """Count the windows of sensors, by attribute, that may be open at a time."""
    if case == "uc2":
        return 2 * sensors
    if case != "uc3":
        return 0
    overlap = parameters.window_ms("uc3") // parameters.slide_ms
    lasts_ms = min(parameters.window_ms("uc3"), round(load_s * 1000))
    attribute = Attribute.parse(parameters.attribute)
    values = min(attribute.values, lasts_ms // attribute.step_ms + 1)
    return sensors * overlap * values


def remark_on_state(case: str, parameters: Parameters, sensors: int, load_s: float) -> str | None:
    """Tell how much may have to be remembered, where that is much."""
    groups = open_groups(case, parameters, sensors, load_s)
    if groups < MANY_GROUPS:
        return None
    return (
        f"up to {format_count(groups)} groups are open at a time, some"
        f" {groups * _GROUP_BYTES / 1e9:.1f} GB in memory: an engine may need more of it, or to"
        " keep them on disk (on Spark -E store=rocksdb)"
    )
