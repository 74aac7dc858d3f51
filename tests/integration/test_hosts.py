"""Spark on hosts of their own: broker, two workers and harness in network namespaces.

Traffic stays inside of them. Needs root; skipped, with a line that says so, where there is none.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.integration import hosts as those
from tests.integration.hosts import ADDRESSES, FIRST, HARNESS, KAFKA, MASTER, SECOND, Hosts

LACKS = those.missing()
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.skipif(LACKS is not None, reason=LACKS or ""),
]
# That of the system, or of whoever made our environment: it has none of our packages.
PYTHON = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with those.hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made


def run(hosts: Hosts, *words: str) -> subprocess.CompletedProcess[str]:
    """Run q3 for a moment, on the harness's host."""
    asked = ["run", "espbench/q3", "--quick", "--warmup", "2s", "--duration", "4s", "--json"]
    cluster = ["--spark-master", MASTER, "--instances", "2", "--instance-memory", "512MiB"]
    argv = hosts.inside(HARNESS, sys.executable, "-m", "streamgauge", *asked, *cluster)
    runs = ["--runs-dir", str(hosts.folder / "runs"), *words]
    text = [str(word) for word in (*argv, *runs)]
    return subprocess.run(text, env=hosts.environment, capture_output=True, text=True)


def shared(hosts: Hosts) -> list[str]:
    return ["-E", f"checkpoint=file:{hosts.folder}/shared", "-S", f"spark.python={PYTHON}"]


def test_a_trial_from_end_to_end_over_a_slow_link(hosts: Hosts) -> None:
    done = run(hosts, "--kafka", those.SLOW_KAFKA, *shared(hosts))
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
    assert "cpu.engine" not in used  # not seen from here, so it is not told
    # Every record went to the executors, and every output came back, over that link.
    times = pq.read_table(file.with_name("latency.parquet")).to_pandas()
    assert len(times) > 0
    assert (times["emitted"] - times["appended"]).min() >= 2 * those.RELAYED_MS
    assert list((hosts.folder / "shared").iterdir()) == []
    words = subprocess.run(["grep", "-rl", hosts.secret, told["path"]], capture_output=True)
    assert words.stdout == b""


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["-S", f"spark.python={PYTHON}"], "Give -E checkpoint=URI"),
        (["-S", f"spark.python={PYTHON}", "-S", "spark.packages=there"], "lack a package"),
    ],
)
def test_what_hosts_lack_is_told_before_the_trial(
    hosts: Hosts, words: list[str], part: str
) -> None:
    done = run(hosts, "--kafka", KAFKA, *words)
    assert done.returncode == 3, done.stderr
    assert part in done.stderr


def test_what_only_one_host_reaches_is_refused(hosts: Hosts) -> None:
    """The embedded broker of the harness's host listens there alone."""
    done = run(hosts, *shared(hosts))
    assert done.returncode == 3, done.stderr
    assert "a loopback address is that of the machine that asks" in done.stderr
