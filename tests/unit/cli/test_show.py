import json

from streamgauge.cli.main import execute
from tests.unit.runs import NO, make_trial, three_trials, write_run


def test_a_workload_is_shown_with_the_modes_of_each_query(capsys):
    assert execute(["show", "espbench"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith("q4 "))
    assert lines[place + 2 : place + 4] == [
        "on spark: realtime, microbatch",
        "not continuous: it has no join, and would never read the table again",
    ]
    assert not [line for line in lines if line.startswith("on noop")]


def test_the_modes_are_there_for_scripts(capsys):
    assert execute(["show", "rovio", "--json"]) == 0
    queries = {each["name"]: each for each in json.loads(capsys.readouterr().out)["queries"]}
    spark = queries["aggregation"]["modes"]["spark"]
    assert spark["allowed"] == ["microbatch"]
    assert set(spark["refused"]) == {"realtime", "continuous"}


def test_parameters_are_explained_with_an_example_in_aligned_columns(capsys):
    assert execute(["show", "rovio"]) == 0
    lines = capsys.readouterr().out.partition("Parameters")[2].splitlines()[1:]
    meanings = [line for line in lines if "as in -P" not in line]
    examples = [line.strip() for line in lines if "as in -P" in line]
    assert len(meanings) == len(examples) == 12
    assert "as in -P window=60s,60s" in examples
    assert len({line.index("default") for line in meanings}) == 1
    (delay,) = [line for line in meanings if line.strip().startswith("allowed_delay")]
    assert delay.endswith("How late a record may be and must still be counted.")


def test_runs_tell_scripts_what_they_tell_people(tmp_path, capsys):
    folder = three_trials(tmp_path, 100, tags={"branch": "main"})
    assert execute(["runs", "--json", "--runs-dir", str(tmp_path)]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert (told["run"], told["trials"], told["tags"]) == (folder.name, 3, {"branch": "main"})
    assert (told["workload"], told["queries"]) == ("espbench", ["q3"])
    assert execute(["runs", "--runs-dir", str(tmp_path)]) == 0
    assert "branch=main" in capsys.readouterr().out


def test_a_mistyped_folder_of_runs_is_an_error(tmp_path, capsys):
    assert execute(["runs", "--runs-dir", str(tmp_path / "rnus")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_no_text_of_a_run_reaches_the_terminal_as_a_command(tmp_path, capsys):
    folder = three_trials(tmp_path, 100, tags={"name": "\x1b[31mred\x9b2J"})
    record = folder.record()
    folder.write(record.model_copy(update={"warnings": ["\x1b]0;title\x07 and \x1b[2J"]}))
    result = folder.trials()[0]
    cause = "line 1\n\x1b[1mline 2"
    folder.write_trial(result.model_copy(update={"status": "failed", "cause": cause}))
    for arguments in (["show", str(folder.path)], ["runs", "--runs-dir", str(tmp_path)]):
        assert execute(arguments) == 0
        printed = capsys.readouterr().out
        assert not set(printed) & {"\x1b", "\x07", "\x9b"}
        assert "red" in printed or "line 2" in printed


def test_a_run_is_shown_as_the_table_of_a_publication(tmp_path, capsys):
    figures = {"latency.p90": 0.5, "latency.min": 0.1, "latency.max": 2.0, "latency.mean": 0.25}
    slower = {name: 3 * value for name, value in figures.items()}
    window = {f"window_{name}": 1000 * value for name, value in figures.items()}
    folder = write_run(
        tmp_path,
        [
            make_trial(1, figures, repeat=1),
            make_trial(2, slower, repeat=2),
            make_trial(3, slower, repeat=3, correct=NO),
            make_trial(4, {**figures, **window}, query="q1", repeat=1),
            make_trial(5, figures, query="q2", repeat=1, valid=NO),
        ],
    )
    assert execute(["show", str(folder.path), "--as", "espbench-2021"]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if "k/s" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["q3", "1k/s", "spark realtime", "2 of 3", "1.000", "0.200", "4.000", "0.500"],
        ["q1", "1k/s", "spark realtime", "1 of 1", "500.000", "100.000", "2,000.000", "250.000"],
        ["q2", "1k/s", "spark realtime", "0 of 1", "n/a", "n/a", "n/a", "n/a"],
    ]
    assert execute(["show", str(folder.path), "--as", "espbench-2020"]) == 2
    assert "Did you mean espbench-2021?" in capsys.readouterr().err
