"""One run from its beginning to its end: the machine's lock, services, the loop over trials."""

from streamgauge.runner.again import validate_run
from streamgauge.runner.loop import resume, start

__all__ = ["resume", "start", "validate_run"]
