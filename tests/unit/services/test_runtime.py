import os
import socket
from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.files import write_atomically
from streamgauge.process import Seen
from streamgauge.services import runtime
from streamgauge.services.choice import check_names, embedded
from streamgauge.services.java import property_value
from streamgauge.services.postgres.embedded import reachable
from streamgauge.services.runtime import Instance, InstanceRecord


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CACHE", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"STREAMGAUGE_{name}_DIR", str(tmp_path / name.lower()))


def test_the_runtime_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir(mode=0o755)
    assert runtime.runtime_dir() == tmp_path / "runtime"
    assert runtime.runtime_dir().stat().st_mode & 0o777 == 0o700


def test_the_session_folder_is_used_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STREAMGAUGE_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime.runtime_dir() == tmp_path / "streamgauge"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(runtime.tempfile, "gettempdir", lambda: str(tmp_path))
    assert runtime.runtime_dir() == tmp_path / f"streamgauge-{os.getuid()}" / "run"


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime").chmod(0o777)
    with pytest.raises(NotReady, match="is open to other users"):
        runtime.runtime_dir()


def test_a_link_in_place_of_the_runtime_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runtime").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotReady, match="is open to other users"):
        runtime.runtime_dir()


def test_a_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(NotReady, match="file/cache") as raised:
        runtime.cache_dir()
    assert "STREAMGAUGE_CACHE_DIR" in str(raised.value.remedy)


def test_a_home_that_cannot_be_written_to_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STREAMGAUGE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    with pytest.raises(NotReady, match="/proc/nobody") as raised:
        runtime.cache_dir()
    assert "STREAMGAUGE_CACHE_DIR" in (raised.value.remedy or "")


@pytest.mark.parametrize("name", ["kafka", "postgres"])
def test_a_service_is_not_started_on_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    service = embedded(name)
    monkeypatch.setattr(type(service), "needs_bytes", 1 << 60)
    with pytest.raises(NotReady, match=f"starting {name} needs"), service.up():
        pytest.fail("it was started")
    assert Instance.found() == []


def test_data_do_not_lie_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STREAMGAUGE_DATA_DIR")
    monkeypatch.setattr(runtime, "file_system", lambda path: "tmpfs")
    assert runtime.data_dir() == tmp_path / "cache" / "data"


def test_the_file_system_of_a_path_is_known() -> None:
    assert runtime.file_system(Path("/proc/self")) == "proc"


def test_a_full_disk_is_named_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"MiB free, fetching needs \d+ MiB"):
        runtime.check_space(tmp_path, 1 << 60, "fetching")


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", runtime.free_port()))


def test_an_instance_comes_and_goes_with_its_folders() -> None:
    instance = Instance.create("kafka")
    assert Instance.found() == [
        (instance, InstanceRecord("kafka", str(instance.data), owner=Seen.of(os.getpid())))
    ]
    assert Instance.orphans() == []
    instance.remove()
    assert Instance.found() == []
    assert not instance.data.exists()


def test_a_record_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    instance = Instance.create("kafka")
    (instance.folder / "record.json").write_text("{")
    assert Instance.found() == []


def test_data_without_their_instance_are_orphans() -> None:
    instance = Instance.create("kafka")
    for file in instance.folder.iterdir():
        file.unlink()
    instance.folder.rmdir()
    assert Instance.orphans() == [instance.data]


def test_a_file_is_written_whole_and_closed(tmp_path: Path) -> None:
    write_atomically(tmp_path / "secret", "s3cret", 0o600)
    assert (tmp_path / "secret").read_text() == "s3cret"
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_a_closed_folder_is_out_of_another_users_reach(tmp_path: Path) -> None:
    (tmp_path / "closed" / "below").mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    assert not reachable(tmp_path / "closed" / "below", "nobody")
    assert reachable(Path("/usr/bin"), "nobody")


def test_java_properties_carry_any_path() -> None:
    assert property_value("/a b/é\\😀") == "/a b/\\u00e9\\\\\\ud83d\\ude00"


def test_unknown_services_list_the_known_and_the_nearest() -> None:
    assert check_names([]) == ["kafka", "postgres", "redis", "spark"]
    assert check_names(["postgres", "postgres"]) == ["postgres"]
    with pytest.raises(UsageError, match="unknown service") as raised:
        check_names(["postgre"])
    assert raised.value.remedy == "Did you mean postgres? Known: kafka, postgres, redis, spark."
