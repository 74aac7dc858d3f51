"""Where a Spark cluster can be reached, and how users write that."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from streamgauge.errors import NotReady, UsageError
from streamgauge.jobfile import variable
from streamgauge.services.addresses import Given, is_place, password, without_secret
from streamgauge.spec.endpoints import Endpoint, secret, unwritten

FORM = "spark://HOST:PORT[,HOST:PORT…], k8s://https://HOST:PORT or yarn"
YARN = "yarn"
DEFAULTS = variable("spark", "defaults")
_BOUNDS = ("request", "limit")


@dataclass(frozen=True)
class SparkEndpoint(Endpoint):
    """A cluster's master, and this machine's address as its executors reach it."""

    service: ClassVar[str] = "spark"

    master: str
    host: str = "127.0.0.1"
    """Where drivers listen: on this machine."""
    python: str = ""
    """The executors' Python; empty for that of this installation, on this machine."""
    sends_packages: bool = False
    """Whether executors are sent what our tasks import."""
    defaults: Mapping[str, str] = unwritten(default_factory=dict)
    """The user's own settings for all applications there, which may be secret."""
    password: str = secret()
    """What Spark authenticates with; empty where it does not."""

    @property
    def address(self) -> str:
        """Return the master."""
        return self.master

    @property
    def is_local(self) -> bool:
        """Return whether its executors certainly are on this machine."""
        return is_loopback(self.host)

    def settings(self) -> dict[str, str]:
        """Return the settings that every application needs, without secrets."""
        sent: dict[str, str] = {}
        if self.sends_packages:
            from streamgauge.services.spark import packages

            sent = packages.settings()
        return {
            "spark.master": self.master,
            "spark.driver.host": self.host,
            "spark.driver.bindAddress": self.host,
            **sent,
        }

    def cpus(self, each: int) -> dict[str, str]:
        """Return what gives each executor its CPUs where its slots would be mistaken for them."""
        if not self.master.startswith("k8s://"):
            return {}
        return {f"spark.kubernetes.executor.{word}.cores": str(each) for word in _BOUNDS}

    def environment(self) -> dict[str, str]:
        """Return the variables that a driver also needs."""
        return {
            "SPARK_LOCAL_IP": self.host,
            # Otherwise the workers use the system's Python, which lacks every package.
            "PYSPARK_PYTHON": self.python or sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }

    def private_settings(self) -> dict[str, str]:
        """Return what no command line may contain."""
        if not self.password:
            return dict(self.defaults)
        ours = {"spark.authenticate": "true", "spark.authenticate.secret": self.password}
        return {**self.defaults, **ours}


def parse_spark(given: Given, environ: Mapping[str, str] = os.environ) -> SparkEndpoint:
    """Read a master's address; the secret is in the environment.

    Raises:
        UsageError: It is not one.
    """
    master = given.text.strip()
    if not is_master(master):
        raise UsageError(f"Spark master {without_secret(master)!r}: expected {FORM}")
    host = environ.get(variable("spark", "driver_host")) or own_address(master)
    if not places(master) and is_loopback(host):
        raise NotReady(
            f"executors of {master} cannot reach this machine at {host}",
            f"Set {variable('spark', 'driver_host')} to the address at which they can.",
        )
    return SparkEndpoint(
        master, host, defaults=_defaults(environ), password=password("spark", environ)
    )


def _defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Read the file that the environment names, written like Spark's spark-defaults.conf."""
    if not (name := environ.get(DEFAULTS)):
        return {}
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NotReady(f"cannot read {name}: {error.strerror}", f"Correct {DEFAULTS}.") from error
    pairs = (re.split(r"[\s=]+", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and not pair[0].startswith("#")}


def is_master(text: str) -> bool:
    """Return whether it is an address as a master has it."""
    if text == YARN:
        return True
    if text.startswith("spark://"):
        return all(is_place(each) for each in text.removeprefix("spark://").split(","))
    return re.fullmatch(r"k8s://(https?://)?[\w.-]+(:\d+)?/?", text) is not None


def places(master: str) -> list[tuple[str, int]]:
    """Return host and port of each of a standalone cluster's masters; none for other kinds."""
    if not master.startswith("spark://"):
        return []
    found = (each.rpartition(":") for each in master.removeprefix("spark://").split(","))
    return [(host.strip("[]"), int(port)) for host, _, port in found]


def own_address(master: str) -> str:
    """Return the address at which a cluster's hosts reach this machine.

    Raises:
        NotReady: There is no way to the cluster.
    """
    if master.startswith("local"):
        return "127.0.0.1"
    of_master = places(master)
    if of_master:
        host = of_master[0][0]
    else:
        host = urlsplit(master.removeprefix("k8s://")).hostname or socket.gethostname()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 1))  # sends nothing: it only chooses the interface
            return str(probe.getsockname()[0])
    except OSError as error:
        raise NotReady(
            f"cannot reach the Spark cluster {master}: {error}",
            f"Check the address, or set {variable('spark', 'driver_host')} to this machine's own.",
        ) from error


def is_loopback(host: str) -> bool:
    """Return whether an address is that of the machine that asks."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
