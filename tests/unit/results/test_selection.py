from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.results.folder import all_runs, find
from streamgauge.results.selection import Wanted, parse_since, select
from tests.unit.runs import started, write_run

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.fixture
def three_runs(tmp_path: Path) -> list[str]:
    """Write three runs and return their ids, the oldest first."""
    first = write_run(tmp_path, [], tags={"branch": "main"})
    second = write_run(tmp_path, [], engine="noop", queries=("q1", "q3"))
    third = write_run(tmp_path, [], queries=("q1",))
    third.write(third.record().model_copy(update={"status": "failed"}))
    dates = ("2026-11-01T10:00:00+00:00", "2026-11-10T10:00:00+00:00", "2026-11-16T10:00:00+00:00")
    return [started(run, at).name for run, at in zip((first, second, third), dates, strict=True)]


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        (Wanted(), [2, 1, 0]),
        (Wanted(workload="rovio"), []),
        (Wanted(query="q1"), [2, 1]),
        (Wanted(engine="spark"), [2, 0]),
        (Wanted(status="failed"), [2]),
        (Wanted(tag="branch=main"), [0]),
        (Wanted(tag="main"), [0]),
        (Wanted(since=datetime(2026, 11, 10, tzinfo=UTC)), [2, 1]),
        (Wanted(engine="spark", query="q1"), [2]),
    ],
)
def test_runs_are_chosen_the_latest_first(tmp_path, three_runs, wanted, positions):
    found, unreadable = select(all_runs(tmp_path), wanted)
    assert [record.id for _, record in found] == [three_runs[position] for position in positions]
    assert unreadable == []


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-16", datetime(2026, 11, 16, tzinfo=UTC)),
        ("2026-11-16T10:30", datetime(2026, 11, 16, 10, 30, tzinfo=UTC)),
        ("2d", datetime(2026, 11, 14, 12, 0, tzinfo=UTC)),
        ("90min", datetime(2026, 11, 16, 10, 30, tzinfo=UTC)),
    ],
)
def test_since_is_a_date_or_an_age(text, at):
    assert parse_since(text, NOW) == at


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-45", "1e300d", "-3d"])
def test_what_is_neither_is_refused(text):
    with pytest.raises(UsageError, match="neither a date nor an age"):
        parse_since(text, NOW)


@pytest.mark.parametrize(
    "content", ["", "{", '{"schema_version": 1}', '{"schema_version": 999}', "null", "\0"]
)
def test_a_run_that_cannot_be_read_hides_no_other(tmp_path, three_runs, content):
    broken = tmp_path / "20990101-0000-broken"
    broken.mkdir()
    (broken / "run.json").write_text(content)
    (tmp_path / "20990101-0000-empty").mkdir()
    found, unreadable = select(all_runs(tmp_path), Wanted())
    assert len(found) == 3
    assert len(unreadable) == 1
    assert "20990101-0000-broken" in unreadable[0]
    assert find(tmp_path, "@0").name == three_runs[2]
    assert find(tmp_path, "main").name == three_runs[0]
