"""Addresses of Spark clusters, and what an application there is told."""

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.services.addresses import Given
from streamgauge.services.running import Options
from streamgauge.services.spark import Settings, Spark, packages
from streamgauge.services.spark.endpoint import SparkEndpoint, own_address, parse_spark, places
from streamgauge.services.spark.executors import claim
from streamgauge.services.spark.given import GivenSpark

MASTERS = [
    "spark://10.0.0.1:7077",
    "spark://one:7077,two:7077",
    "k8s://https://10.0.0.1:6443",
    "k8s://10.0.0.1",
    "yarn",
]


@pytest.mark.parametrize("master", MASTERS)
def test_masters_are_read(master: str) -> None:
    found = parse_spark(Given(master), {"STREAMGAUGE_SPARK_DRIVER_HOST": "10.0.0.9"})
    assert (found.address, found.host, found.password) == (master, "10.0.0.9", "")
    assert found.private_settings() == {}
    assert found.settings()["spark.master"] == master
    assert found.settings()["spark.driver.host"] == "10.0.0.9"


@pytest.mark.parametrize("master", ["k8s://https://127.0.0.1:6443", "yarn"])
def test_executors_elsewhere_do_not_reach_a_loopback_address(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "localhost")
    with pytest.raises(NotReady, match=r"cannot reach this machine at 127\.0\.0\.1"):
        parse_spark(Given(master), {})


def test_a_master_that_does_not_listen_is_refused() -> None:
    with socket.socket() as closed, ExitStack() as stack:
        closed.bind(("127.0.0.1", 0))
        given = GivenSpark(SparkEndpoint(f"spark://127.0.0.1:{closed.getsockname()[1]}"))
        with pytest.raises(NotReady, match="cannot use the Spark cluster"):
            given.begin(stack, {})


def test_pods_are_given_cpus_not_slots() -> None:
    assert SparkEndpoint("yarn", "10.0.0.9").cpus(2) == {}
    asked = SparkEndpoint("k8s://10.0.0.1", "10.0.0.9").cpus(2)
    assert asked == {
        "spark.kubernetes.executor.request.cores": "2",
        "spark.kubernetes.executor.limit.cores": "2",
    }


@pytest.mark.parametrize(
    "master", ["", "spark://", "spark://a", "local[2]", "yarn:1", "k8s://", "mesos://a:1"]
)
def test_what_is_no_master_is_refused(master: str) -> None:
    with pytest.raises(UsageError, match="Spark master"):
        parse_spark(Given(master), {})


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse_spark(Given("spark://me:hidden@a"), {})
    assert "hidden" not in caught.value.message


def test_secrets_are_apart_from_settings() -> None:
    environ = {"STREAMGAUGE_SPARK_PASSWORD": "hidden"}
    found = parse_spark(Given("spark://127.0.0.1:7077"), environ)
    assert "hidden" not in repr(found) + str(found.settings()) + str(found.written())
    assert found.private_settings()["spark.authenticate.secret"] == "hidden"
    assert found.is_local


def test_settings_of_the_users_own_are_kept_off_command_lines(tmp_path: Path) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_text("# mine\n\nspark.kubernetes.namespace  bench\nspark.a=b c\nalone\n")
    environ = {"STREAMGAUGE_SPARK_DEFAULTS": str(file), "STREAMGAUGE_SPARK_DRIVER_HOST": "h"}
    found = parse_spark(Given("yarn"), environ)
    assert found.private_settings() == {"spark.kubernetes.namespace": "bench", "spark.a": "b c"}
    assert "bench" not in str(found.settings()) + str(found.written())
    with pytest.raises(NotReady, match="cannot read"):
        parse_spark(Given("yarn"), environ | {"STREAMGAUGE_SPARK_DEFAULTS": str(tmp_path / "no")})


def test_a_driver_listens_where_the_cluster_reaches_it() -> None:
    assert own_address("spark://127.0.0.1:7077") == "127.0.0.1"
    assert own_address("local[2]") == "127.0.0.1"
    assert places("spark://a:1,b:2") == [("a", 1), ("b", 2)]
    assert places("yarn") == []
    with pytest.raises(NotReady, match="cannot reach the Spark cluster"):
        own_address("spark://no.such.host.invalid:7077")


def test_executors_elsewhere_have_a_python_of_their_own_and_are_sent_packages() -> None:
    far = SparkEndpoint("yarn", "10.0.0.9")
    given = Spark().given(far, Settings(), Options())
    assert given.endpoint.python == f"python{packages.version()}"
    assert given.endpoint.sends_packages
    there = Spark().given(far, Settings(python="/opt/py", packages="there"), Options())
    assert there.endpoint.environment()["PYSPARK_PYTHON"] == "/opt/py"
    assert "spark.archives" not in there.endpoint.settings()
    near = Spark().given(SparkEndpoint("spark://127.0.0.1:1"), Settings(), Options())
    assert not near.endpoint.sends_packages
    named = Spark().given(SparkEndpoint("spark://127.0.0.1:1"), Settings(python="p"), Options())
    assert (named.endpoint.python, named.endpoint.sends_packages) == ("p", True)


def test_settings_that_mean_nothing_to_a_kind_of_cluster_are_refused() -> None:
    with pytest.raises(UsageError, match=r"-S spark\.workers is for a cluster of our own"):
        Spark().given(SparkEndpoint("yarn"), Settings(workers=3), Options())
    with pytest.raises(UsageError, match=r"-S spark\.python is for a cluster given"):
        Spark().embedded(Settings(python="x"), Options())


def test_every_kind_of_cluster_is_asked_for_the_same() -> None:
    """Standalone counts cores in all, Kubernetes and YARN count instances."""
    asked = claim(2, 3, 1 << 30)
    assert asked["spark.cores.max"] == "6"
    assert (asked["spark.executor.instances"], asked["spark.executor.cores"]) == ("2", "3")
    assert asked["spark.executor.memory"] == "1024m"
    assert asked["spark.dynamicAllocation.enabled"] == "false"
