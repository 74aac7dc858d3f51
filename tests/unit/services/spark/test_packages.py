"""What executors are sent."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from streamgauge.errors import NotReady
from streamgauge.services import detached, runtime
from streamgauge.services.spark import packages
from streamgauge.services.spark.private import private_folder

LOCK = """\
one==1.0 \\
    --hash=sha256:00
two==2.0 ; python_full_version < '3.0' \\
    --hash=sha256:00
two==2.1 ; python_full_version >= '3.0' \\
    --hash=sha256:00
"""


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))


def test_the_lock_has_a_version_for_this_python() -> None:
    assert packages.locked_versions(LOCK) == {"one": "1.0", "two": "2.1"}
    assert "pyspark" not in packages.locked_versions()


def test_another_version_than_the_locked_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "locked_versions", lambda: {"numpy": "0.1"})
    with pytest.raises(NotReady, match=r"executors need numpy 0\.1, but .* is installed"):
        packages.packages_archive()
    monkeypatch.setattr(packages, "locked_versions", lambda: {"no-such-package": "1"})
    with pytest.raises(NotReady, match="which is not installed"):
        packages.packages_archive()


def test_a_task_finds_our_plug_ins_in_the_archive(tmp_path: Path) -> None:
    """A Python without this installation must load answers by name."""
    archive = packages.own_archive()
    assert packages.own_archive() == archive
    zipfile.ZipFile(archive).extractall(tmp_path / "unpacked")
    ask = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from importlib.metadata import entry_points\n"
        "print(*(e.name for e in entry_points(group='streamgauge.workloads')))\n"
        "import streamgauge.jobfile; print(streamgauge.jobfile.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ask, tmp_path / "unpacked"],
        capture_output=True,
        text=True,
        check=True,
    )
    names, file = done.stdout.splitlines()
    assert {"espbench", "rovio", "ysb"} <= set(names.split())
    assert file.startswith(str(tmp_path / "unpacked"))


LACKING = """
import pkgutil, sys
from importlib import import_module
from importlib.metadata import packages_distributions

there = {name.lower().replace("_", "-") for name in sys.argv[1:]}
owners = packages_distributions().items()
lacking = {top for top, of in owners if there.isdisjoint(o.lower().replace("_", "-") for o in of)}

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in lacking:
            raise ModuleNotFoundError(f"no module named {name}")

sys.meta_path.insert(0, Lacking())
import streamgauge.validation.host_task, streamgauge.validation.tasks, streamgauge.workloads
for each in pkgutil.walk_packages(streamgauge.workloads.__path__, "streamgauge.workloads."):
    print(import_module(each.name).__name__)
"""


@pytest.mark.slow  # it loads PySpark
def test_what_tasks_import_needs_no_more_than_executors_are_sent() -> None:
    there = [*packages.locked_versions(), "pyspark", "py4j", "streamgauge"]
    done = subprocess.run(
        [sys.executable, "-c", LACKING, *there], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "streamgauge.workloads.espbench.spark" in done.stdout.splitlines()


def test_secrets_lie_where_only_this_user_reads() -> None:
    folder = private_folder({"spark.authenticate.secret": "a\\b"})
    file = folder / "spark-defaults.conf"
    assert file.read_text() == "spark.authenticate.secret=a\\\\b\n"
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    assert (folder / "log4j2.properties").exists()
    assert runtime.abandoned_folders() == []


def test_secrets_of_a_killed_run_are_found_to_be_removed() -> None:
    ask = (
        "from streamgauge.services.spark.private import private_folder\n"
        "print(private_folder({'a': 'hidden'}))"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip())
    assert runtime.abandoned_folders() == [folder]
    assert detached.leftovers() == [f"folder {folder}"]
    detached.remove_leftovers()
    assert not folder.exists()
