"""The command line: parse, call, print."""

from streamgauge.cli.main import main

__all__ = ["main"]
