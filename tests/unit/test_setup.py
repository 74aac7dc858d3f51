"""`make setup` on machines that lack something, without the network."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """The files that setup reads, in a folder with an awkward name."""
    folder = tmp_path / "ein schöner Ort"
    (folder / "scripts").mkdir(parents=True)
    for name in (
        "Makefile",
        "pyproject.toml",
        "scripts/setup",
        "scripts/find-uv",
        *map(str, _locks()),
    ):
        shutil.copy(ROOT / name, folder / name)
    return folder


def _locks():
    return [file.relative_to(ROOT) for file in ROOT.glob("requirements*.lock")]


def make_setup(checkout, python):
    # No uv and no network: only what /usr/bin and /bin have.
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "HOME": "/nonexistent"}
    return subprocess.run(
        ["make", "setup", f"PYTHON={python}"],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
    )


def program(folder, text):
    file = folder / "fake-python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return f"./{file.name}"


def test_python_that_is_not_there_is_named(checkout):
    done = make_setup(checkout, "python9")
    assert done.returncode != 0
    assert "error: no python9 on PATH" in done.stderr


def test_python_that_is_too_old_is_named_with_its_version(checkout):
    old = program(checkout, 'case $1 in --version) echo "Python 3.9.2" ;; *) exit 1 ;; esac')
    done = make_setup(checkout, old)
    assert "error: Python 3.9.2 is too old: Python 3.11 or newer is needed" in done.stderr


def test_neither_uv_nor_pip(checkout):
    bare = program(checkout, "case $2 in pip) exit 1 ;; *) echo 3.11 ;; esac")
    done = make_setup(checkout, bare)
    assert "error: neither uv nor pip is there" in done.stderr


def test_failure_to_download_is_told(checkout):
    failing = program(checkout, 'case "$*" in *install*) echo "no route" >&2; exit 1 ;; esac')
    done = make_setup(checkout, failing)
    assert "no route" in done.stderr
    assert "error: setup did not finish" in done.stderr


EXECUTORS = "src/streamgauge/services/spark/python.lock"


@pytest.mark.parametrize("name", [*sorted(map(str, _locks())), EXECUTORS])
def test_locks_hold_names_versions_and_hashes_alone(name):
    for line in (ROOT / name).read_text().splitlines():
        assert "://" not in line
        assert line.startswith("    --hash=sha256:") or "==" in line, line


def test_executors_have_the_same_versions_as_we_have():
    def pins(name):
        lines = (ROOT / name).read_text().splitlines()
        return {line.partition(" ")[0] for line in lines if "==" in line}

    ours, theirs = pins("requirements.lock"), pins(EXECUTORS)
    assert theirs <= ours
    assert not any(pin.startswith("pyspark==") for pin in theirs)


def test_python_starts_in_any_locale_whatever_the_folder_is_called():
    (file,) = ROOT.glob(".venv/lib/python*/site-packages/_editable_impl_streamgauge.pth")
    assert file.read_text() == "../../../../src\n"


def test_every_make_target_has_a_help_line():
    # Not as part of the make that may run these tests.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, env=plain, capture_output=True, text=True, check=True
    )
    listed = [line.split()[1] for line in done.stdout.splitlines()]
    wanted = "help setup demo test check conformance bench picture clean lock lock-jars"
    assert sorted(listed) == sorted(wanted.split())


def test_ci_runs_make_test():
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert "make test" in (ROOT / ".ci/run").read_text()
