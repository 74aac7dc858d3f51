"""The live page's server as a process of its own, as viewers and other sites meet it."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from streamgauge.results.folder import RunFolder
from tests.integration.trials import COMMAND
from tests.live_runs import finish, make_run, make_spec, trial, write
from tests.live_server import LIMIT_S, Watching, watching

pytestmark = [pytest.mark.integration]

SPEC = make_spec()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "runs", tags={"<script>": "</script><script>alert(1)</script>"})


@pytest.fixture
def server(folder: RunFolder) -> Iterator[Watching]:
    with watching(folder.path.parent, "--metrics") as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watching]:
    """A server for all tests that leave it as it is."""
    with watching(make_run(tmp_path_factory.mktemp("runs")).path.parent, "--metrics") as running:
        yield running


def test_the_page_and_what_it_needs(page: Watching) -> None:
    for path, kind in [
        ("/", "text/html"),
        ("/live.js", "text/javascript"),
        ("/live.css", "text/css"),
    ]:
        answer = page.get(path)
        assert answer.status == 200
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.body


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil.example", ""],
)
@pytest.mark.parametrize("path", ["/", "/events", "/metrics", "/report.html", "/nothing"])
def test_another_sites_name_is_refused(page: Watching, host: str, path: str) -> None:
    assert page.get(path, host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:9000"])
def test_this_machines_names_are_let_in(page: Watching, host: str) -> None:
    assert page.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/run.json",
        "/../run.json",
        "/%2e%2e/run.json",
        "/..%2frun.json",
        "//etc/passwd",
        "/report.html/../run.json",
        "/page/live.js",
        "/live.js%00",
        "/trials/001/trial.json",
    ],
)
def test_nothing_but_the_page_is_served(page: Watching, path: str) -> None:
    assert page.get(path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_changed(page: Watching, method: str) -> None:
    assert page.get("/", method).status == 405


def test_there_is_no_report_before_there_is_one(server: Watching, folder: RunFolder) -> None:
    assert server.get("/report.html").status == 404
    finish(folder, report="<p>the report</p>")
    answer = server.get("/report.html")
    assert (answer.status, answer.body) == (200, b"<p>the report</p>")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_run_from_before_its_start_to_its_report(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with watching(runs) as server:
        stream = server.events()
        _, first = next(stream)
        assert (first["status"], first["runs"]) == ("waiting", str(runs))
        folder = make_run(runs)
        _, second = next(stream)
        assert (second["run"], second["status"], second["trial"]) == (folder.name, "running", None)
        seen = []
        for number in (1, 2):
            write(folder, *trial(SPEC, number))
        finish(folder)
        for _, news in stream:
            seen = [*([] if news["whole"] else seen), *news["samples"]]
            if news["status"] == "done" and not news["report"]:
                assert not news["last"]
                finish(folder, report="<p>the report</p>")
        assert (news["status"], news["report"], news["last"]) == ("done", True, True)
        assert len(seen) == 25
        assert server.process.poll() is None


def test_a_viewer_who_comes_back_gets_what_was_missed_and_no_more(
    server: Watching, folder: RunFolder
) -> None:
    lines = list(trial(SPEC))
    write(folder, *lines[:10])
    place, before = next(server.events())
    write(folder, *lines[10:20])
    with open(folder.live, "a") as file:
        file.write('{"trial": 1, "at": 1')  # a line that is still being written
    for _, after in server.events(place):
        if after["samples"]:
            break
    assert not after["whole"]
    told = [each["at"] for each in before["samples"] + after["samples"]]
    assert told == [line["at"] for line in lines[:20] if "cpu.engine" in line]


def test_many_viewers_see_the_same_and_one_who_leaves_disturbs_nobody(
    server: Watching, folder: RunFolder
) -> None:
    lines = list(trial(SPEC))
    write(folder, *lines[:10])
    ends: list[list[float]] = []

    def view() -> None:
        seen: list[Any] = []
        for _, news in server.events():
            seen = [*([] if news["whole"] else seen), *news["samples"]]
        ends.append([each["at"] for each in seen])

    viewers = [threading.Thread(target=view) for _ in range(20)]
    for viewer in viewers:
        viewer.start()
    with socket.create_connection(("127.0.0.1", server.port)) as gone:
        gone.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert gone.recv(100)
    write(folder, *lines[10:])
    finish(folder, report="<p>the report</p>")
    for viewer in viewers:
        viewer.join(LIMIT_S)
    assert ends == [[line["at"] for line in lines if "cpu.engine" in line]] * 20
    assert server.process.poll() is None


def test_a_run_that_was_killed_is_told_as_interrupted(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    owner = folder.record().owner.model_copy(update={"started": 1.0})
    folder.write(folder.record().model_copy(update={"owner": owner}))
    write(folder, *list(trial(SPEC))[:10])
    with watching(tmp_path, folder.name[:13]) as server:
        ((_, only),) = server.events()
    assert (only["status"], only["last"], len(only["samples"])) == ("interrupted", True, 6)


def test_figures_for_prometheus(server: Watching, folder: RunFolder) -> None:
    write(folder, *list(trial(SPEC))[:10])
    answer = server.get("/metrics")
    text = answer.body.decode()
    assert answer.headers["content-type"] == (
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    )
    assert text.endswith("# EOF\n")


def test_figures_for_prometheus_only_where_asked_for(folder: RunFolder) -> None:
    with watching(folder.path.parent) as server:
        assert server.get("/metrics").status == 404


def test_asking_for_the_head_of_the_stream_ends(page: Watching) -> None:
    assert page.get("/events", "HEAD").body == b""


def test_a_port_that_is_taken_is_told_with_the_remedy(page: Watching, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge", "watch", "--runs-dir", str(tmp_path)]
    done = subprocess.run(
        [*command, "--port", str(page.port)], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        f"error: cannot listen on port {page.port}: Address already in use",
        "  choose another with --port, or leave it out for a free one",
    ]


def test_only_this_machine_can_connect(page: Watching) -> None:
    listening = psutil.Process(page.process.pid).net_connections()
    assert {each.laddr.ip for each in listening if each.status == "LISTEN"} == {"127.0.0.1"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked_although_somebody_looks(server: Watching, number: int) -> None:
    stream = server.events()
    next(stream)
    os.kill(server.process.pid, number)
    assert server.process.wait(LIMIT_S) == 0
    assert list(stream) == []


def test_who_looks_gets_the_report_before_the_server_ends(
    server: Watching, folder: RunFolder
) -> None:
    stream = server.events()
    next(stream)
    write(folder, *trial(SPEC))
    finish(folder, report="<p>the report</p>")
    server.process.send_signal(signal.SIGTERM)
    *_, (_, last) = stream
    assert (last["last"], last["report"]) == (True, True)
    assert server.process.wait(LIMIT_S) == 0


RUN = [*COMMAND, "run", "espbench/q4", "-e", "reference", "--live"]
RUN += ["--quick", "--warmup", "1s", "--duration", "3s", "--rate", "500/s"]
RUN += ["--objective", "latency.p50<0s"]


@contextmanager
def running(runs: Path) -> Iterator[Watching]:
    """Run something with its page; `Watching.process` is the run."""
    command = [*RUN, "--runs-dir", str(runs)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().strip().removeprefix("live page: ")
            yield Watching(process, int(address.rstrip("/").rpartition(":")[2]))
        finally:
            process.kill()


@pytest.mark.spark
def test_a_real_run_is_seen_from_its_start_to_its_report(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        children = psutil.Process(run.process.pid).children(recursive=True)
        servers = [child for child in children if "watch" in child.cmdline()]
        assert servers
        phases, samples, ended = [], [], []
        for _, news in run.events():
            if news["status"] == "waiting":
                continue
            trial = news["trial"] or {}
            phases += [trial["phase"]] if trial.get("phase") else []
            samples = [*([] if news["whole"] else samples), *news["samples"]]
            ended = [*([] if news["whole"] else ended), *news["ended"]]
        _, said = run.process.communicate(timeout=LIMIT_S)
        assert run.process.returncode == 1, said  # nobody is that fast
        assert (news["status"], news["last"]) == ("done", True)
    assert {"start", "measure", "validate"} <= set(phases)
    assert {"measure", "drain"} <= {each["phase"] for each in samples}
    assert any(each["newest_latency"] is not None for each in samples)
    (only,) = ended
    assert (only["status"], only["correct"]) == ("done", True)
    assert not [server for server in servers if server.is_running()]
    (page,) = tmp_path.glob("*/report.html")
    assert f"report: {page}" in said
    text = page.read_text("utf-8")
    assert "A quick run, not a measurement." in text
    assert "gets a downtime at" in text


def test_the_page_dies_with_a_run_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        children = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        run.process.communicate(timeout=LIMIT_S)
        _, alive = psutil.wait_procs(children, LIMIT_S)
    assert alive == []
