"""Hosts of their own on this machine: network namespaces with addresses, joined by a bridge."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge import process
from streamgauge.process import Process
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.spark.private import CONF_DIR, spark_home, write_private

BROKER, FIRST, SECOND, HARNESS, RELAY = "broker", "first", "second", "harness", "relay"
NETWORK = "10.77.0"
NAMES = (BROKER, FIRST, SECOND, HARNESS, RELAY)
ADDRESSES = {name: f"{NETWORK}.{number}" for number, name in enumerate(NAMES, 1)}
MASTER = f"spark://{ADDRESSES[FIRST]}:7077"
KAFKA = f"{ADDRESSES[BROKER]}:9092"
SLOW_KAFKA = f"{ADDRESSES[RELAY]}:9094"
"""The same broker, with 5 ms more on each way."""
RELAYED_MS = 5

_SERVICES = f"""
import sys
from contextlib import ExitStack
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.running import Options

ports = iter((9092, 9093))
settings = {{
    "listeners": "PLAINTEXT://0.0.0.0:9092,RELAYED://0.0.0.0:9094,CONTROLLER://127.0.0.1:9093",
    "advertised.listeners": "PLAINTEXT://{KAFKA},RELAYED://{SLOW_KAFKA}",
    "listener.security.protocol.map":
        "PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT,CONTROLLER:PLAINTEXT",
}}
with EmbeddedKafka(Options(choose_port=lambda: next(ports)), settings=settings).up():
    print("ready", flush=True)
    sys.stdin.read()
"""

_RELAY = f"""
import asyncio, time

async def pass_on(reader, writer):
    # What comes in is held for a while, however much comes after it.
    queue = asyncio.Queue()
    async def write():
        while (item := await queue.get()) is not None:
            due_s, data = item
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            writer.write(data)
            await writer.drain()
        writer.close()
    task = asyncio.create_task(write())
    while data := await reader.read(1 << 16):
        queue.put_nowait((time.monotonic() + {RELAYED_MS} / 1000, data))
    queue.put_nowait(None)
    await task

async def connected(reader, writer):
    try:
        back, forth = await asyncio.open_connection("{ADDRESSES[BROKER]}", 9094)
        await asyncio.gather(pass_on(reader, forth), pass_on(back, writer))
    except OSError:
        writer.close()

async def main():
    server = await asyncio.start_server(connected, "{ADDRESSES[RELAY]}", 9094)
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def missing() -> str | None:
    """Tell what keeps us from having hosts of our own."""
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    if shutil.which("ip") is None:
        return "needs the program ip, to make network namespaces"
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True)
    return None if made.returncode == 0 else "may not make network namespaces here"


@dataclass
class Hosts:
    folder: Path
    prefix: str
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def space(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def inside(self, name: str, *argv: str | Path) -> list[str | Path]:
        return ["ip", "netns", "exec", self.space(name), *argv]

    @property
    def environment(self) -> dict[str, str]:
        """What a command of ours needs to use the cluster."""
        return {**os.environ, "STREAMGAUGE_SPARK_PASSWORD": self.secret}

    def daemon(self, name: str, program: str, *arguments: str) -> Process:
        """Start a master or a worker of a standalone cluster on a host."""
        settings = {"spark.authenticate": "true", "spark.authenticate.secret": self.secret}
        conf = self.folder / "spark.conf"
        write_private(conf, settings)
        address, home = ADDRESSES[name], spark_home()
        common = ["--host", address, "--webui-port", "0", "--properties-file", conf]
        word = f"org.apache.spark.deploy.{program}"
        return process.start(
            self.inside(name, home / "bin" / "spark-class", word, *common, *arguments),
            log=self.folder / f"{name}-{program}.log",
            env={
                **ENVIRONMENT,
                "JAVA_HOME": str(spark_java_home(find_java())),
                "SPARK_CONF_DIR": str(CONF_DIR),
                "SPARK_LOCAL_IP": address,
                "SPARK_DAEMON_MEMORY": "128m",
            },
        )

    def worker(self, name: str, memory: str = "2g") -> Process:
        work = str(self.folder / f"work-{name}")
        size = ["--cores", "4", "--memory", memory]
        return self.daemon(name, "worker.Worker", *size, "--work-dir", work, MASTER)

    def program(self, name: str, text: str) -> Process:
        """Start a program of Python's, and wait until it says that it is ready."""
        log = self.folder / f"{name}.log"
        argv = self.inside(name, sys.executable, "-c", text)
        started = process.start(argv, log=log, pipe_stdin=True)
        process.wait_until(lambda: "ready" in log.read_text(), started, 60, name)
        return started


@contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Make the hosts, with Kafka on one and a standalone cluster on two others."""
    made = Hosts(folder, f"sg{os.getpid()}")
    with ExitStack() as stack:
        switch = made.space("switch")
        for space in (switch, *map(made.space, NAMES)):
            _ip("netns", "add", space)
            stack.callback(_ip, "netns", "delete", space)
            _ip("-n", space, "link", "set", "lo", "up")
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for name, address in ADDRESSES.items():
            _join(made.space(name), switch, name, address)
        stack.enter_context(made.program(BROKER, _SERVICES))
        stack.enter_context(made.program(RELAY, _RELAY))
        stack.enter_context(made.daemon(FIRST, "master.Master", "--port", "7077"))
        subprocess.run(made.inside(FIRST, sys.executable, "-c", _AWAIT_MASTER), check=True)
        stack.enter_context(made.worker(FIRST))
        stack.enter_context(made.worker(SECOND))
        yield made


_AWAIT_MASTER = f"""
import socket, time
for _ in range(600):
    try:
        socket.create_connection(("{ADDRESSES[FIRST]}", 7077), 1).close()
        break
    except OSError:
        time.sleep(0.1)
"""


def _join(space: str, switch: str, name: str, address: str) -> None:
    """Give a host an address, and a cable to the bridge."""
    _ip("-n", switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
    _ip("-n", switch, "link", "set", name, "master", "bridge", "up")
    _ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
    _ip("-n", space, "link", "set", "eth0", "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
