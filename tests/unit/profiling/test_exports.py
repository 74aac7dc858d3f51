"""Profiles for other tools."""

import csv
import io
import json

import pytest

from streamgauge.profiling.costs import costs
from streamgauge.profiling.exports import as_csv, as_folded, as_speedscope
from tests.unit.profiling.samples import profile, sample, tasks

MADE = profile(sample("jvm;a;run;parse", 30), sample("jvm;b;run", 10), a=6.0, b=2.0)


def test_folded_stacks_begin_with_process_and_thread() -> None:
    assert as_folded(MADE) == "jvm;a;run;parse 30\njvm;b;run 10\n"


def test_speedscope_gets_a_profile_for_each_group_of_threads() -> None:
    written = json.loads(as_speedscope(MADE, "q3"))
    names = [frame["name"] for frame in written["shared"]["frames"]]
    by_name = {each["name"]: each for each in written["profiles"]}
    assert set(by_name) == {"jvm: a", "jvm: b"}
    one = by_name["jvm: a"]
    assert [names[place] for place in one["samples"][0]] == ["run", "parse"]
    assert one["endValue"] == sum(one["weights"]) == pytest.approx(6.0), (
        "CPU time, whatever the rate of sampling"
    )
    assert written["$schema"].endswith("file-format-schema.json")


def test_the_table_has_costs_per_event_where_events_are_known() -> None:
    told = costs(MADE, tasks(parse="^parse"))
    rows = list(csv.DictReader(io.StringIO(as_csv(told, 1e6))))
    assert [(row["task"], float(row["us_per_event"])) for row in rows] == [
        ("parse", 6.0),
        ("unmatched", 2.0),
    ]
    assert float(rows[0]["us_per_event_low"]) < 6.0
    assert "us_per_event" not in as_csv(told, None)
    assert "cycles" not in as_csv(told, 1e6)


@pytest.mark.parametrize(
    ("events", "column", "parse"),
    [(1e6, "cycles_per_event_by_cpu_share", 6000.0), (None, "cycles_by_cpu_share", 6e9)],
)
def test_cycles_are_shared_out_by_cpu_time(events: float | None, column: str, parse: float) -> None:
    told = costs(MADE, tasks(parse="^parse"))
    rows = csv.DictReader(io.StringIO(as_csv(told, events, cycles=8e9)))
    assert float(next(rows)[column]) == parse
