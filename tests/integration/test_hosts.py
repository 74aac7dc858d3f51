"""Spark on hosts of their own: broker, two workers and harness in network namespaces.

Traffic stays inside of them. Needs root; skipped, with a line that says so, where there is none.
What all queries do there is in `tests/conformance/test_clusters.py`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.integration import hosts as those
from tests.integration.hosts import (
    ADDRESSES,
    FIRST,
    SECOND,
    Hosts,
    assert_no_secrets,
    run,
    shared,
)

LACKS = those.missing()
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.skipif(LACKS is not None, reason=LACKS or ""),
]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with those.hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made


def test_a_trial_from_end_to_end_over_a_slow_link(hosts: Hosts) -> None:
    done = run(hosts, "espbench/q3", "--kafka", those.SLOW_KAFKA, *shared(hosts))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (trial,) = told["trials"]
    assert (trial["status"], trial["correct"]) == ("done", True)
    assert trial["valid"] is not False, trial  # not told where a busy machine made the load late
    (file,) = Path(told["path"]).glob("trials/*/trial.json")
    result: dict[str, Any] = json.loads(file.read_text())
    ran = {each["host"] for each in result["instances"]}
    assert ran == {ADDRESSES[FIRST], ADDRESSES[SECOND]} == set(result["clock_offsets_s"])
    used = result["metrics"]
    assert used["cpu.engine.reported"] > 0
    assert used["cpu.engine.driver"] > 0
    for unseen in ("cpu.engine", "memory.engine", "cpu.cluster", "memory.cluster"):
        assert unseen not in used, "it is not seen from here, so it is not told"
    # Every record went to the executors, and every output came back, over that link.
    times = pq.read_table(file.with_name("latency.parquet")).to_pandas()
    assert len(times) > 0
    assert (times["emitted"] - times["appended"]).min() >= 2 * those.RELAYED_MS
    assert list((hosts.folder / "shared").iterdir()) == []
    assert_no_secrets(hosts)


def test_what_only_one_host_reaches_is_refused(hosts: Hosts) -> None:
    """The embedded broker of the harness's host listens there alone."""
    done = run(hosts, "espbench/q3", *shared(hosts))
    assert done.returncode == 3, done.stderr
    assert "a loopback address always means the caller's own machine" in done.stderr


def test_flight_is_for_one_machine(hosts: Hosts) -> None:
    done = run(hosts, "rovio/aggregation", "--transport", "flight", *shared(hosts))
    assert done.returncode == 3, done.stderr
    assert "flight is for one machine" in done.stderr
