"""What functions of ours do for the Python workers that they run in."""

from __future__ import annotations

import gc
from functools import cache


@cache
def keep_imports() -> None:
    """Let the collection of garbage leave alone what this process holds now: imported modules.

    PySpark's workers look through everything that they hold after each task. With the modules that
    a worker imports this takes longer than a small task. Call it in the first task, when these are
    imported; what comes later is still collected.
    """
    gc.freeze()
