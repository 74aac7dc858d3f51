"""What Spark keeps of the readings of a window for each aggregate of uc3, and what it emits."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.windows.aggregate import Aggregate, Part

_COUNT = Part("count", "1L", "sum")
_SUM = Part("sum", "valueInW", "sum")
_MIDDLE = "array_sort(readings)[{} div 2]"

AGGREGATES: Mapping[str, Aggregate] = {
    "sum": Aggregate((_COUNT, _SUM), {"count": "count", "sum": "sum"}),
    "stats": Aggregate(
        (
            _COUNT,
            _SUM,
            Part("squares", "valueInW * valueInW", "sum"),
            Part("min", "valueInW", "min"),
            Part("max", "valueInW", "max"),
        ),
        {
            "count": "count",
            "sum": "sum",
            "mean": "sum / count",
            "min": "min",
            "max": "max",
            "variance": "greatest(squares / count - pow(sum / count, 2), 0D)",
        },
    ),
    "median": Aggregate(
        (Part("readings", "valueInW", "list"),),
        {
            "count": "size(readings)",
            "median": f"({_MIDDLE.format('(size(readings) - 1)')}"
            f" + {_MIDDLE.format('size(readings)')}) / 2",
        },
    ),
}
"""By the parameter `aggregate`."""
