"""Python workers keep what they have imported out of their collections."""

import subprocess
import sys

CHECK = """
import gc
from streamgauge.garbage import keep_imports
keep_imports()
kept = gc.get_freeze_count()
garbage = [[]]
garbage.append(garbage)
keep_imports()
del garbage
print(kept > 1000, gc.collect() > 0, gc.get_freeze_count() <= kept)
"""


def test_imports_are_kept_and_garbage_is_still_collected() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"
