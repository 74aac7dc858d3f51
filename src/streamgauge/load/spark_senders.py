"""The harness's side of senders on a Spark cluster: start the job, let its tasks connect."""

from __future__ import annotations

import secrets
import shutil
import socket
import sys
import time
from pathlib import Path

from pydantic import ValidationError

from streamgauge import process
from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.load.links import SocketLink
from streamgauge.load.protocol import Hello, SenderJob, SparkJob
from streamgauge.load.sender_handle import SenderHandle
from streamgauge.process import Process
from streamgauge.services.addresses import password
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.spark.endpoint import SparkEndpoint, own_address
from streamgauge.services.spark.private import private_folder

TOKEN = "STREAMGAUGE_SENDERS_TOKEN"  # noqa: S105 - the variable's name
_CALL_IN_S = 120.0
_HELLO_S = 5.0
_LONGEST_HELLO = 1024


def start(
    job: SenderJob, senders: int | None, master: str, folder: Path
) -> tuple[Process, list[SenderHandle]]:
    """Start the Spark job and wait until all of its tasks have connected.

    Args:
        job: What the tasks share.
        senders: How many to start; None for one on each core of the cluster.
        master: Address of the cluster.
        folder: Of the trial.

    Raises:
        TrialInvalid: The cluster does not run them.
    """
    token = secrets.token_urlsafe(32)
    cluster = _cluster(master)
    host, conf = cluster.host, private_folder(cluster.private_settings())
    with socket.create_server((host, 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        asked = SparkJob(job=job, senders=senders, master=master, host=host, port=port)
        path = folder / "senders.json"
        path.write_text(asked.model_dump_json(indent=1) + "\n", encoding="utf-8")
        driver = process.start(
            [sys.executable, "-m", "streamgauge.load.spark_job", path],
            log=folder / "logs" / "senders.log",
            env={
                **ENVIRONMENT,
                "JAVA_HOME": str(spark_java_home(find_java())),
                "SPARK_CONF_DIR": str(conf),
                **cluster.environment(),
                TOKEN: token,
            },
        )
        try:
            return driver, _await_all(listener, driver, token, senders)
        except BaseException:
            driver.stop()
            raise
        finally:
            shutil.rmtree(conf, ignore_errors=True)


def _cluster(master: str) -> SparkEndpoint:
    """Return the senders' cluster; its secret is that of the service `spark`."""
    try:
        return SparkEndpoint(master, own_address(master), password=password("spark"))
    except NotReady as error:
        raise TrialInvalid(error.message, error.remedy) from error


def _await_all(
    listener: socket.socket, driver: Process, token: str, wanted: int | None
) -> list[SenderHandle]:
    """Wait for all tasks; where their number was left to the cluster, the first one reports it."""
    found: dict[int, SenderHandle] = {}
    deadline = time.monotonic() + _CALL_IN_S
    while wanted is None or len(found) < wanted:
        if not driver.alive:
            raise TrialInvalid(f"the Spark job of the senders ended: {driver.failure()}")
        if time.monotonic() > deadline:
            raise TrialInvalid(
                f"{len(found)} of {wanted or 'all'} senders connected within {_CALL_IN_S:g} s",
                "a barrier job needs a free core of the cluster for each: lower -L senders",
            )
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        hello = _hear(connection, token)
        if hello is None or hello.number in found:
            connection.close()
        else:
            wanted = hello.of
            found[hello.number] = SenderHandle(SocketLink(connection, driver), driver.pid)
    return [found[number] for number in sorted(found)]


def _hear(connection: socket.socket, token: str) -> Hello | None:
    """Return what a connecting task sends, None if it is not one of ours."""
    connection.settimeout(_HELLO_S)
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < _LONGEST_HELLO:
            if not (letter := connection.recv(1)):  # one, since the next line is for others
                return None
            line += letter
        hello = Hello.model_validate_json(line)
    except (OSError, ValidationError):
        return None
    connection.settimeout(None)
    return hello if secrets.compare_digest(hello.token, token) else None
