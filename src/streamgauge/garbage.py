"""Garbage collection in the Python workers of an engine."""

from __future__ import annotations

import gc
from functools import cache


@cache
def keep_imports() -> None:
    """Exclude what this process holds now, the imported modules, from garbage collection.

    PySpark's workers collect garbage after each task. With the modules that a worker imports this
    takes longer than a small task. Call it in the first task, when these are imported; what comes
    later is still collected.
    """
    gc.freeze()
