"""How much of uc2 and uc3 an engine has to remember at a time."""

from __future__ import annotations

import math

from streamgauge.spec.trial import TrialSpec
from streamgauge.workloads.state import (
    is_on_disk,
    method_of,
    remark_on_groups,
    remark_on_values,
    values_kept,
)
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters


def open_groups(case: str, parameters: Parameters, sensors: int, load_s: float) -> int:
    """Count the windows of sensors, by attribute, that may be open at a time."""
    if case == "uc2":
        return 2 * sensors
    if case != "uc3":
        return 0
    overlap = math.ceil(parameters.hopping.overlap)
    lasts_ms = min(parameters.window_ms("uc3"), round(load_s * 1000))
    attribute = Attribute.parse(parameters.attribute)
    values = min(attribute.values, lasts_ms // attribute.step_ms + 1)
    return sensors * overlap * values


def remark_on_state(spec: TrialSpec, parameters: Parameters, sensors: int) -> str | None:
    """Report how much may have to be remembered, if that is a lot."""
    windows, case = parameters.hopping, spec.query.partition("-")[0]
    if spec.query == "uc3-sliding":
        return remark_on_values(values_kept(spec, windows, "pairs"), on_disk=True)
    method = method_of(spec, windows, spec.rate / sensors) if spec.query == "uc3-final" else None
    on_disk = is_on_disk(spec, method) or spec.query == "uc3-every"
    if method is not None and parameters.aggregate == "median":
        return remark_on_values(values_kept(spec, windows, method), on_disk=on_disk)
    groups = open_groups(case, parameters, sensors, spec.load_s)
    return remark_on_groups(groups, on_disk=on_disk)
