"""Render payloads to files: `python -m streamgauge.load.render SENDER.json`.

A process of its own, so that the sender which streams them never holds them all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import cast

from streamgauge import registry
from streamgauge.load import arrivals
from streamgauge.load.messages import SenderJob
from streamgauge.load.payloads import write_lines
from streamgauge.spec.contracts import RendersBlocks, Workload
from streamgauge.spec.trial import TrialSpec


def main(argv: list[str]) -> None:
    """Write a file of lines for each stream of the job."""
    job = SenderJob.model_validate_json(Path(argv[1]).read_bytes())
    assert job.payloads is not None
    workload = cast("type[Workload]", registry.load("workloads", job.spec.workload))()
    job.payloads.mkdir(exist_ok=True)
    for name in job.inputs:
        write_lines(payloads(workload, job.spec, name), job.payloads / name)


def payloads(workload: Workload, spec: TrialSpec, stream: str) -> Iterable[bytes]:
    """Render the payloads of a stream, a block at a time where the workload can do that."""
    count = arrivals.payloads(spec)
    if isinstance(workload, RendersBlocks):
        return chain.from_iterable(workload.payload_blocks(spec, stream, count))
    return workload.payloads(spec, stream, count).ring


if __name__ == "__main__":
    main(sys.argv)
