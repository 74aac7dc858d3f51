"""Hosts of their own on this machine: network namespaces with addresses, joined by a bridge."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
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
POSTGRES = f"postgresql://streamgauge@{ADDRESSES[BROKER]}:5432/streamgauge"

# That of the system, or of whoever made our environment: it has none of our packages.
PYTHON = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"

_SERVICES = f"""
import sys
from contextlib import ExitStack
from pathlib import Path
from streamgauge.files import write_atomically
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.postgres.embedded import EmbeddedPostgres
from streamgauge.services.running import Options

ports = iter((9092, 9093))
settings = {{
    "listeners": "PLAINTEXT://0.0.0.0:9092,RELAYED://0.0.0.0:9094,CONTROLLER://127.0.0.1:9093",
    "advertised.listeners": "PLAINTEXT://{KAFKA},RELAYED://{SLOW_KAFKA}",
    "listener.security.protocol.map":
        "PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT,CONTROLLER:PLAINTEXT",
}}
kafka = EmbeddedKafka(Options(choose_port=lambda: next(ports)), settings=settings)
postgres = EmbeddedPostgres(Options(choose_port=lambda: 5432))
with kafka.up(), postgres.up() as database:
    write_atomically(Path(sys.argv[1]), database.endpoint.password, 0o600)
    print("ready", flush=True)
    sys.stdin.read()
"""

_RELAY = """
import asyncio, sys, time

delay_s, here, there, port = float(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])

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
        queue.put_nowait((time.monotonic() + delay_s, data))
    queue.put_nowait(None)
    await task

async def connected(reader, writer):
    try:
        back, forth = await asyncio.open_connection(there, port)
        await asyncio.gather(pass_on(reader, forth), pass_on(back, writer))
    except OSError:
        writer.close()

async def main():
    server = await asyncio.start_server(connected, here, port)
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
    master: Process | None = None

    def space(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def inside(self, name: str, *argv: str | Path) -> list[str | Path]:
        return ["ip", "netns", "exec", self.space(name), *argv]

    @property
    def environment(self) -> dict[str, str]:
        """What a command of ours needs to use the cluster."""
        return {
            **os.environ,
            "STREAMGAUGE_SPARK_PASSWORD": self.secret,
            "STREAMGAUGE_POSTGRES_PASSWORD_FILE": str(self.password_file),
        }

    @property
    def password_file(self) -> Path:
        """Where the database's password is."""
        return self.folder / "postgres-password"

    @property
    def unseen(self) -> Path:
        """A folder that workers and their executors see as an empty one of their own."""
        return self.folder / "unseen"

    def daemon(self, name: str, program: str, *arguments: str) -> Process:
        """Start a master or a worker of a standalone cluster on a host."""
        self.unseen.mkdir(exist_ok=True)
        settings = {"spark.authenticate": "true", "spark.authenticate.secret": self.secret}
        conf = self.folder / "spark.conf"
        write_private(conf, settings)
        address, home = ADDRESSES[name], spark_home()
        common = ["--host", address, "--webui-port", "0", "--properties-file", conf]
        word = f"org.apache.spark.deploy.{program}"
        return process.start(
            self.inside(
                name,
                *("sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', self.unseen),
                *(home / "bin" / "spark-class", word, *common, *arguments),
            ),
            log=self.folder / f"{name}-{program}.log",
            env={
                **ENVIRONMENT,
                "JAVA_HOME": str(spark_java_home(find_java())),
                "SPARK_CONF_DIR": str(CONF_DIR),
                "SPARK_LOCAL_IP": address,
                "SPARK_DAEMON_MEMORY": "128m",
            },
        )

    def worker(self, name: str) -> Process:
        """Start one with room for one application at a time."""
        work = str(self.folder / f"work-{name}")
        size = ["--cores", "4", "--memory", "1000m"]
        return self.daemon(name, "worker.Worker", *size, "--work-dir", work, MASTER)

    def program(self, name: str, text: str, *arguments: object) -> Process:
        """Start a program of Python's, and wait until it says that it is ready."""
        log = self.folder / f"{name}-{len(text)}.log"
        argv = self.inside(name, sys.executable, "-c", text, *map(str, arguments))
        started = process.start(argv, log=log, pipe_stdin=True)
        process.wait_until(lambda: "ready" in log.read_text(), started, 60, name)
        return started


def command(hosts: Hosts, target: str, *words: str) -> list[str]:
    """Return what runs something for a moment, on the harness's host."""
    asked = ["run", target, "--quick", "--warmup", "2s", "--duration", "4s", "--json"]
    cluster = ["--spark-master", MASTER, "--instances", "2", "--instance-memory", "512MiB"]
    argv = hosts.inside(HARNESS, sys.executable, "-m", "streamgauge", *asked, *cluster)
    runs = ["--runs-dir", str(hosts.folder / "runs"), *words]
    return [str(word) for word in (*argv, *runs)]


def run(
    hosts: Hosts, target: str, *words: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run something for a moment, on the harness's host."""
    argv, environment = command(hosts, target, *words), {**hosts.environment, **(env or {})}
    return subprocess.run(argv, env=environment, capture_output=True, text=True)


def assert_no_secrets(hosts: Hosts) -> None:
    """See that no run and no log has one; hidden are only the files that hold them."""
    hidden = [f"--exclude={name}" for name in ("spark.conf", hosts.password_file.name)]
    for secret in (hosts.secret, hosts.password_file.read_text()):
        found = subprocess.run(
            ["grep", "-rlI", *hidden, secret, hosts.folder], capture_output=True, text=True
        )
        assert found.stdout == ""


def shared(hosts: Hosts) -> list[str]:
    """Name a folder that all hosts share, and their Python."""
    return ["-E", f"checkpoint=file:{hosts.folder}/shared", "-S", f"spark.python={PYTHON}"]


@contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Make the hosts, with Kafka on one and a standalone cluster on two others."""
    made = Hosts(folder, f"sg{secrets.token_hex(4)}")
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
        stack.enter_context(made.program(BROKER, _SERVICES, made.password_file))
        broker, relay, delay_s = ADDRESSES[BROKER], ADDRESSES[RELAY], RELAYED_MS / 1000
        stack.enter_context(made.program(BROKER, _RELAY, 0, broker, "127.0.0.1", 5432))
        stack.enter_context(made.program(RELAY, _RELAY, delay_s, relay, broker, 9094))
        made.master = stack.enter_context(made.daemon(FIRST, "master.Master", "--port", "7077"))
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
