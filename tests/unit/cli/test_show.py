import json

from streamgauge.cli.main import execute


def test_a_workload_is_shown_with_the_modes_of_each_query(capsys):
    assert execute(["show", "espbench"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith("q4 "))
    assert lines[place + 2 : place + 4] == [
        "on spark: realtime, microbatch",
        "not continuous: it knows no join, and would never read the table again",
    ]
    assert not [line for line in lines if line.startswith("on noop")]


def test_the_modes_are_there_for_scripts(capsys):
    assert execute(["show", "rovio", "--json"]) == 0
    queries = {each["name"]: each for each in json.loads(capsys.readouterr().out)["queries"]}
    spark = queries["aggregation"]["modes"]["spark"]
    assert spark["allowed"] == ["microbatch"]
    assert set(spark["refused"]) == {"realtime", "continuous"}
