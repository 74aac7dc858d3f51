"""Settings of the load that contradict each other, whatever carries it."""

from __future__ import annotations

from streamgauge.errors import UsageError
from streamgauge.spec.trial import LoadSpec


def check_load(load: LoadSpec) -> None:
    """Refuse settings that contradict each other.

    Raises:
        UsageError: They do.
    """
    if load.spark is not None and load.source == "stream":
        raise UsageError(
            "tasks of a Spark cluster cannot stream payloads from a file of this machine",
            "Use -L source=memory.",
        )
