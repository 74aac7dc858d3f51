import hashlib
import json
from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.services import jars, runtime

CONTENT = b"not really a jar"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock of one jar, which lies in the user's folder of jars."""
    entry = {
        "jar": "org.example:thing:1.0",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "size": len(CONTENT),
    }
    path = tmp_path / "jars.lock"
    path.write_text(json.dumps({"demo": [entry]}))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thing-1.0.jar").write_bytes(CONTENT)
    return path


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("STREAMGAUGE_JARS_DIR", str(tmp_path / "mine"))


def test_the_real_lock_is_complete() -> None:
    assert len(jars.locked_jars("kafka")) == 53
    assert len(jars.locked_jars("spark-kafka")) == 4
    assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in jars.locked_jars("kafka"))


def test_an_unknown_component_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known: async-profiler, kafka, "):
        jars.locked_jars("nonsense")


def test_jars_come_from_the_users_folder_and_are_cached(lock: Path, tmp_path: Path) -> None:
    said: list[str] = []
    assert [jar.coordinate for jar in jars.missing("demo", lock)] == ["org.example:thing:1.0"]
    (path,) = jars.ensure("demo", said.append, lock)
    assert path.read_bytes() == CONTENT
    assert "1 jars" in said[0]
    (tmp_path / "mine" / "thing-1.0.jar").unlink()
    assert jars.ensure("demo", lock=lock) == [path]
    assert jars.missing("demo", lock) == []


def test_a_wrong_jar_is_refused_and_not_kept(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "thing-1.0.jar").write_bytes(b"something else")
    for _ in range(2):
        with pytest.raises(NotReady, match=r"thing-1\.0\.jar .* wrong sha256"):
            jars.ensure("demo", lock=lock)
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_a_cached_jar_that_was_changed_is_refused_each_time(lock: Path) -> None:
    (path,) = jars.ensure("demo", lock=lock)
    path.write_bytes(b"X" * len(CONTENT))
    for _ in range(2):
        with pytest.raises(NotReady, match="wrong sha256") as raised:
            jars.ensure("demo", lock=lock)
        assert str(path) in str(raised.value.remedy)


def test_an_unchanged_jar_is_hashed_once(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.ensure("demo", lock=lock)
    monkeypatch.setattr(jars, "sha256", lambda path: pytest.fail("hashed again"))
    jars.ensure("demo", lock=lock)


def test_a_changed_lock_is_not_satisfied_by_what_was_verified_before(lock: Path) -> None:
    jars.ensure("demo", lock=lock)
    content = json.loads(lock.read_text())
    content["demo"][0]["sha256"] = "0" * 64
    lock.write_text(json.dumps(content))
    with pytest.raises(NotReady, match="wrong sha256"):
        jars.ensure("demo", lock=lock)


def test_a_jar_missing_from_the_users_folder_is_named(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "thing-1.0.jar").unlink()
    with pytest.raises(NotReady, match=r"org\.example:thing:1\.0 is not in") as raised:
        jars.ensure("demo", lock=lock)
    assert "STREAMGAUGE_JARS_DIR" in str(raised.value.remedy)


def test_a_nearly_full_disk_is_told_before_fetching(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = type("Usage", (), {"free": 1 << 20})()
    monkeypatch.setattr(runtime.shutil, "disk_usage", lambda path: full)
    with pytest.raises(NotReady, match="1 MiB free, fetching jars needs"):
        jars.ensure("demo", lock=lock)


def test_a_cache_that_cannot_be_written_is_named(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(runtime, "cache_dir", lambda: tmp_path / "file")
    with pytest.raises(NotReady, match="cannot write to the cache folder") as raised:
        jars.ensure("demo", lock=lock)
    assert "STREAMGAUGE_CACHE_DIR" in str(raised.value.remedy)
