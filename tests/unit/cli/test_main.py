import json
import os
import signal
import subprocess
import sys

import pytest

from streamgauge import process
from streamgauge.cli import app as tree
from streamgauge.cli.main import execute
from streamgauge.errors import NotReady, TrialFailed, UsageError


def raising(error):
    def command(*_args, **_kwargs):
        raise error

    return command


def test_version(capsys):
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == "streamgauge 0.1.0\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_teaches_with_examples(arguments, capsys):
    assert execute(arguments) == 0
    printed = capsys.readouterr()
    assert "streamgauge doctor" in printed.out
    assert "..." not in printed.out.partition("Commands:")[2], "no summary is cut"
    assert printed.err == ""


def test_services_without_a_command_shows_its_help(capsys):
    assert execute(["services"]) == 0
    assert "status" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said", "next_step"),
    [
        (["docter"], "'docter'. Did you mean 'doctor'?", "streamgauge --help"),
        (["list", "--jsn"], "--json", "streamgauge list --help"),
        (["list", "engine"], "unknown kind of thing 'engine'", "Did you mean engines?"),
        (["watch", "--port", "x"], "it must be a whole number", "streamgauge watch --help"),
        (["services", "upp"], "'upp'. Did you mean 'up'?", "streamgauge services --help"),
    ],
)
def test_usage_errors_name_the_nearest(arguments, said, next_step, capsys):
    assert execute(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert said in printed.err
    assert next_step in printed.err


@pytest.mark.parametrize(
    ("error", "code"),
    [(NotReady("no Java", "Install one."), 3), (TrialFailed("it died", None), 4)],
)
def test_our_errors_print_reason_and_remedy_without_traceback(error, code, monkeypatch, capsys):
    monkeypatch.setattr(tree, "app", raising(error))
    assert execute([]) == code
    printed = capsys.readouterr().err
    assert printed.splitlines() == [f"error: {error.message}"] + (
        [f"  {error.remedy}"] if error.remedy else []
    )


def test_what_a_library_makes_of_ctrl_c_is_an_interruption(monkeypatch, capsys):
    monkeypatch.setattr(tree, "app", raising(RuntimeError("interrupted somewhere inside")))
    monkeypatch.setattr(process, "_asked_to_end", True)
    assert execute([]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_bug_says_so_and_shows_where(monkeypatch, capsys):
    monkeypatch.setattr(tree, "app", raising(ZeroDivisionError("oops")))
    assert execute([]) == 70
    printed = capsys.readouterr().err
    assert "ZeroDivisionError: oops" in printed
    assert "Please report it" in printed


def test_ctrl_c(monkeypatch, capsys):
    monkeypatch.setattr(tree, "app", raising(KeyboardInterrupt()))
    assert execute([]) == 130
    assert capsys.readouterr().err == "interrupted\n"


WAIT = "print('up', flush=True); [time.sleep(0.1) for _ in range(6000)]"
MOMENTS = {
    "while an import makes a data class": f"tree.app = lambda **_: exec({WAIT!r})",
    "while we are imported": f"""
class Slow:
    def find_spec(self, *_): exec({WAIT!r})
del sys.modules['streamgauge.cli.app']
sys.meta_path.insert(0, Slow())""",
    "once more at the very end": f"""
class Last:
    def __del__(self, end=os.kill, us=os.getpid()): end(us, {signal.SIGINT:d})
last = Last()
tree.app = lambda **_: exec({WAIT!r})""",
    "where it is lost in a library": f"""
class Lost:
    def __del__(self): exec({WAIT!r})
def tree_app(**_):
    Lost()
    process.end_if_asked()
tree.app = tree_app""",
    "where a library logs it": f"""
def tree_app(**_):
    try: exec({WAIT!r})
    except KeyboardInterrupt:
        logging.exception('what py4j says')
        raise
tree.app = tree_app""",
}
PROGRAM = """
import logging, os, sys, time
import streamgauge.cli as cli, streamgauge.cli.app as tree
from streamgauge import process
{moment}
sys.argv = ['streamgauge']
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", MOMENTS)
def test_signals_end_the_command_with_130_at_any_moment(number, moment, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.format(moment=MOMENTS[moment]))
    command = [sys.executable, "-m", "program"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, told = process.communicate(timeout=120)
    assert (process.returncode, told) == (130, b"interrupted\n")


def test_a_reader_that_goes_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "streamgauge", "list", "presets"],
            stdout=gone,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_is_one_object_on_stdout(capsys):
    assert execute(["list", "transports", "presets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in listed["transports"]] == ["flight", "kafka"]


def test_json_by_variable(monkeypatch, capsys):
    monkeypatch.setenv("STREAMGAUGE_JSON", "1")
    assert execute(["list", "presets"]) == 0
    assert "presets" in json.loads(capsys.readouterr().out)


def test_every_option_of_run_has_a_variable(monkeypatch, capsys):
    variables = {
        "PARAMETERS": "workplaces=1,3 warehouses=4",
        "ENGINE_OPTIONS": "mode=microbatch trigger=2s",
        "LOAD_OPTIONS": "linger=2ms",
        "OBJECTIVE": "latency.p99<2s latency.p50<1s",
        "TAG": "purpose=test",
        "DRY_RUN": "1",
        "JSON": "1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"STREAMGAUGE_{name}", value)
    assert execute(["run", "espbench/q3"]) == 0
    spec = json.loads(capsys.readouterr().out)["spec"]
    assert spec["parameters"]["warehouses"] == 4
    assert spec["engine_options"] == {"mode": "microbatch", "trigger": "2s"}
    assert spec["load"]["linger_s"] == 0.002
    assert spec["objectives"] == ["latency.p99<2s", "latency.p50<1s"]
    assert spec["tags"] == {"purpose": "test"}


BROKEN = "raise RuntimeError('half installed')"


def test_list_shows_a_broken_plugin_beside_the_others(plugins, capsys):
    plugins.install("half", BROKEN, {"experiments": {"broken": "half:Thing"}})
    assert execute(["list", "experiments"]) == 0
    printed = capsys.readouterr().out
    assert "does not load: RuntimeError: half installed" in printed
    assert "Update or remove the package half." in printed
    assert "fixed-rate" in printed


def test_a_plugin_that_does_not_load_is_told_and_keeps_nothing_else_from_working(plugins, capsys):
    groups = ("services", "transports", "engines", "workloads", "experiments")
    plugins.install("half", BROKEN, {group: {"broken": "half:Thing"} for group in groups})
    assert execute(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    for group in groups:
        (broken,) = (item for item in listed[group] if item["name"] == "broken")
        assert (broken["state"], broken["remedy"]) == (
            "missing",
            "Update or remove the package half.",
        )
    assert execute(["run", "espbench/q3", "-e", "noop", "--dry-run"]) == 0
    assert execute(["services", "status"]) == 0
    capsys.readouterr()
    assert execute(["run", "espbench/q3", "-e", "broken", "--dry-run"]) == NotReady.exit_code
    assert "engine 'broken' does not load" in capsys.readouterr().err
    execute(["doctor", "--no-start", "--json"])
    findings = {each["name"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    for group in groups:
        found = findings[f"{group.removesuffix('s')} broken"]
        assert found["state"] == "warn"
        assert "half installed" in found["value"]


def test_a_name_that_two_packages_register_is_told_and_refused(plugins, capsys):
    for package in ("mine", "yours"):
        plugins.install(package, "class It: ...", {"transports": {"pigeon": f"{package}:It"}})
    assert execute(["list", "transports"]) == 0
    printed = capsys.readouterr().out
    assert "mine:It and yours:It" in " ".join(printed.split())
    assert "kafka" in printed
    arguments = ["run", "espbench/q3", "-e", "noop", "--transport", "pigeon", "--dry-run"]
    assert execute(arguments) == UsageError.exit_code
    said = capsys.readouterr().err
    assert "there are two transports with the name 'pigeon': mine:It and yours:It" in said
    assert "Remove one of their packages." in said
    execute(["doctor", "--no-start"])
    assert "there are two transports" in " ".join(capsys.readouterr().out.split())


def test_a_dry_run_draws_the_shape_of_the_load(capsys):
    shape = "bursts:10k/s,40k/s@2s/30s"
    assert execute(["run", "espbench/q3", "-e", "noop", "--load", shape, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "▃▃▃▃▃█▃▃▃▃▃█" in printed
    assert "10k/s to 40k/s over 5 min" in printed


def test_the_load_has_a_variable(capsys, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_LOAD", "steps:0/s@1s,5k/s@1s")
    assert execute(["run", "espbench/q3", "-e", "noop", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert " " * 30 + "█" * 30 in printed
    assert "0/s to 5k/s over 2 s" in printed
