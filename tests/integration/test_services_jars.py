"""Fetching jars with the real Ivy, from repositories made here."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.errors import NotReady
from streamgauge.services import jars, runtime

pytestmark = pytest.mark.integration

POM = """<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>
<artifactId>{name}</artifactId><version>1.0</version><packaging>{packaging}</packaging></project>"""
SETTINGS = """<ivysettings><settings defaultResolver="mine"/><resolvers>
<ibiblio name="mine" m2compatible="true" root="{root}"/></resolvers></ivysettings>"""
ENSURE = """
import sys
from pathlib import Path
from streamgauge.services import jars
print(*jars.ensure("demo", lambda text: print(text, file=sys.stderr), Path(sys.argv[1])))
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of two jars, and a repository that has them; one is an OSGi bundle."""
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "cache"))
    entries = []
    for name, packaging in (("plain", "jar"), ("osgi", "bundle")):
        folder = tmp_path / "repository" / "org" / "example" / name / "1.0"
        folder.mkdir(parents=True)
        (folder / f"{name}-1.0.pom").write_text(POM.format(name=name, packaging=packaging))
        (folder / f"{name}-1.0.jar").write_bytes(name.encode())
        digest = hashlib.sha256(name.encode()).hexdigest()
        entries.append({"jar": f"org.example:{name}:1.0", "sha256": digest, "size": len(name)})
    use_repository(monkeypatch, tmp_path, (tmp_path / "repository").as_uri() + "/")
    path = tmp_path / "jars.lock"
    path.write_text(json.dumps({"demo": entries}))
    return path


def use_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: str) -> None:
    (tmp_path / "settings.xml").write_text(SETTINGS.format(root=root))
    monkeypatch.setenv("STREAMGAUGE_IVY_SETTINGS", str(tmp_path / "settings.xml"))


def test_jars_come_from_the_users_mirror_and_then_from_the_cache(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = jars.ensure("demo", lock=lock)
    assert [file.read_text() for file in files] == ["plain", "osgi"]
    use_repository(monkeypatch, tmp_path, "file:///no/such/folder/")
    assert jars.ensure("demo", lock=lock) == files


def test_two_at_once_fetch_once(lock: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ENSURE, str(lock)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    (first, said), (second, said_too) = (each.communicate() for each in both)
    assert first == second
    assert len(first.split()) == 2
    assert sorted([bool(said), bool(said_too)]) == [False, True]


def test_a_version_that_does_not_exist_is_named(lock: Path) -> None:
    lock.write_text(lock.read_text().replace("plain:1.0", "plain:9.9"))
    with pytest.raises(NotReady, match=r"org\.example:plain:9\.9: .*no such version") as raised:
        jars.ensure("demo", lock=lock)
    assert "osgi" not in raised.value.message
    assert "make lock-jars" in str(raised.value.remedy)


def test_no_network_and_an_empty_cache_say_what_to_do(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_repository(monkeypatch, tmp_path, f"http://127.0.0.1:{runtime.free_port()}/")
    with pytest.raises(NotReady, match="cannot be reached") as raised:
        jars.ensure("demo", lock=lock)
    assert "STREAMGAUGE_JARS_DIR" in str(raised.value.remedy)


def test_a_mirror_that_serves_another_file_is_not_trusted(lock: Path, tmp_path: Path) -> None:
    (served,) = (tmp_path / "repository").rglob("plain-1.0.jar")
    served.write_text("another")
    with pytest.raises(NotReady, match=r"plain-1\.0\.jar .*wrong sha256"):
        jars.ensure("demo", lock=lock)
    assert not list((tmp_path / "cache").rglob("*.jar"))
