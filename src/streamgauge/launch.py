"""Become another program, bound to the life of the process that started us.

`process.start` runs this file as `python -I -S launch.py OPTIONS PROGRAM ARGUMENT…`. Doing these
steps in a small program of its own, and not between fork and exec, keeps them safe in a parent
with many threads. It imports nothing of this package, so it starts in about 20 ms.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

PR_SET_PDEATHSIG = 1
CANNOT_START = 127


def main(argv: list[str]) -> None:
    """Apply the options in `argv[1]` to this process, then execute the rest of `argv`."""
    options = json.loads(argv[1])
    program, *arguments = argv[2:]
    if options["affinity"]:
        os.sched_setaffinity(0, options["affinity"])
    if options["user"]:
        uid, gid = options["user"]
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if options["parent"]:
        # After the change of user, since that change resets the signal.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, options["death_signal"], 0, 0, 0)
        if os.getppid() != options["parent"]:
            sys.exit("the process that started us is gone")
    try:
        # Not execvp: it imports modules, which the new user may not be able to read.
        os.execv(program, [program, *arguments])  # noqa: S606 - no shell is what we want
    except OSError as error:
        print(f"cannot start {program}: {error.strerror}", file=sys.stderr)  # noqa: T201
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(sys.argv)
