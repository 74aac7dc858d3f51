from typing import Any

import pytest

from streamgauge.load import arrivals
from streamgauge.load.render import payloads
from streamgauge.planning import load_workload
from streamgauge.spec.contracts import RendersBlocks
from streamgauge.spec.trial import TrialSpec


def make_spec(workload: str, query: str, **changes: Any) -> TrialSpec:
    parameters = load_workload(workload).parameters(**changes).model_dump(mode="json")
    return TrialSpec(
        number=1,
        workload=workload,
        query=query,
        parameters=parameters,
        engine="noop",
        rate=10_000.0,
        duration_s=1.0,
        warmup_s=0.0,
    )


@pytest.mark.parametrize(
    ("workload", "query", "ring"),
    [("espbench", "q4", 20_000), ("espbench", "q4", 500), ("rovio", "join", 500)],
)
def test_the_file_holds_what_a_sender_would_have_in_memory(
    workload: str, query: str, ring: int
) -> None:
    spec, source = make_spec(workload, query, ring=ring), load_workload(workload)
    for stream in source.queries[query].streams:
        ready = source.payloads(spec, stream, arrivals.payloads(spec)).ring
        assert list(payloads(source, spec, stream)) == list(ready)


def test_sensor_lines_are_never_all_in_memory() -> None:
    spec, source = make_spec("espbench", "q3"), load_workload("espbench")
    assert isinstance(source, RendersBlocks)
    blocks = [len(block) for block in source.payload_blocks(spec, "sensor1", 30_000)]
    assert sum(blocks) == 30_000
    assert max(blocks) < 10_000
