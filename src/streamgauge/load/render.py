"""Render payloads to files: `python -m streamgauge.load.render SENDER.json`.

A separate process, since it needs memory that a sender which streams them can do without.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamgauge import registry
from streamgauge.load import arrivals
from streamgauge.load.payloads import write_files
from streamgauge.load.protocol import SenderJob


def main(argv: list[str]) -> None:
    """Write the files of each stream of the job."""
    job = SenderJob.model_validate_json(Path(argv[1]).read_bytes())
    assert job.payloads is not None
    workload = registry.load("workloads", job.spec.workload)()
    job.payloads.mkdir(exist_ok=True)
    query = workload.queries[job.spec.query]
    for name in query.streams:
        payloads = workload.payloads(job.spec, name, arrivals.payloads(job.spec))
        write_files(payloads, query.form(name), job.spec.partitions, job.payloads / name)


if __name__ == "__main__":
    main(sys.argv)
