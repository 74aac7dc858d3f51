import subprocess
import sys
from pathlib import Path

import pytest

import streamgauge

HEAVY = {"pyspark", "pyarrow", "confluent_kafka", "pandas", "numpy", "pydantic", "psycopg", "rich"}


def loaded_by(code: str) -> set[str]:
    report = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
    report += "sys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stderr.split("\n")}


def test_the_package_loads_nothing_heavy():
    assert not loaded_by("import streamgauge") & HEAVY


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option):
    code = f"sys.argv = ['streamgauge', '{option}']; import streamgauge.cli as c; c.main()"
    assert not loaded_by(code) & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [["run", "espbench", "--dry-run"], ["run", "rovio", "--dry-run"], ["show", "rovio"]],
)
def test_a_plan_and_the_facts_of_a_workload_load_no_spark(arguments):
    code = f"sys.argv = ['streamgauge', *{arguments}]; import streamgauge.cli as c; c.main()"
    loaded = loaded_by(code)
    assert "streamgauge" in loaded
    assert not loaded & {"pyspark", "py4j"}


def test_a_heavy_import_would_be_seen():
    assert "numpy" in loaded_by("import numpy")


def test_the_job_file_needs_the_standard_library_alone():
    """An engine in an environment of its own has none of our dependencies."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import streamgauge.jobfile; "
    code += "print(*{name.partition('.')[0] for name in sys.modules})"
    source = str(Path(streamgauge.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code, source], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "streamgauge" in loaded
    assert loaded - {"streamgauge"} <= sys.stdlib_module_names | {"__main__"}
