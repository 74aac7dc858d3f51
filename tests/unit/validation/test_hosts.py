"""What is made of what executors tell of their hosts."""

import socket
import time
from dataclasses import replace
from functools import partial

import pyspark
import pytest

from streamgauge.errors import NotReady
from streamgauge.validation import hosts
from streamgauge.validation.host_task import Host, tell


def host(address: str, offset_s: float = 0.0, *unreachable: str) -> Host:
    return Host(address, "3.11.7", pyspark.__version__, offset_s, unreachable)


def test_of_several_tasks_on_a_host_the_best_told_clock_counts() -> None:
    found = hosts.offsets([host("a", 0.004), host("a", -0.001), host("b", 0.02)])
    assert found == {"a": -0.001, "b": 0.02}


@pytest.mark.parametrize(
    ("error", "part"),
    [
        ("x\n[PYTHON_VERSION_MISMATCH] Python in worker has 3.8", "another version than ours"),
        ("a\nModuleNotFoundError: No module named 'streamgauge'\n", "lack a package"),
        ('java.io.IOException: Cannot run program "python9"', "no such Python"),
        ("something else", "cannot run our tasks: something else"),
    ],
)
def test_what_keeps_executors_from_working_is_told_with_a_remedy(error: str, part: str) -> None:
    told = hosts.unusable(error)
    assert part in told.message
    assert told.remedy


def test_a_task_tells_its_clock_and_what_it_cannot_reach() -> None:
    with socket.create_server(("127.0.0.1", 0)) as service, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        there, gone = service.getsockname()[1], closed.getsockname()[1]
        targets = (("kafka", "127.0.0.1", there), ("postgres", "127.0.0.1", gone))
        ahead = partial(_shifted, 1.0)
        with hosts._telling_time("127.0.0.1", ahead) as place:
            (found,) = tell(place, targets, [0])
    assert found.address == "127.0.0.1"
    assert abs(found.clock_offset_s + 1.0) < 0.5
    (problem,) = found.unreachable
    assert problem.startswith(f"postgres at 127.0.0.1:{gone} (")


def _shifted(by_s: float) -> float:
    return time.time() + by_s


def test_unreachable_services_and_loopback_are_refused() -> None:
    with pytest.raises(NotReady, match="b: kafka at"):
        hosts._refuse_unreachable([host("a"), host("b", 0.0, "kafka at c:1 (timed out)")])
    with pytest.raises(NotReady, match="a loopback address always means the caller"):
        hosts._refuse_loopback([("flight", "127.0.0.1", 1)], ["10.0.0.2"])


def test_executors_of_another_spark_are_refused() -> None:
    hosts._refuse_other_versions([host("a")])
    with pytest.raises(NotReady, match=r"another version than ours, .*: b has 3\.5\.0$"):
        hosts._refuse_other_versions([host("a"), replace(host("b"), spark="3.5.0")])
