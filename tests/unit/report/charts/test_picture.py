import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.errors import UsageError
from streamgauge.report.charts.picture import draw
from tests import simulated
from tests.unit.report.conftest import RunMaker
from tests.unit.report.search.test_terminal import ENGINE, SPEC


def needs_nothing_from_elsewhere(picture: str) -> bool:
    addresses = set(re.findall(r"https?://[^\"']*", picture))
    own = addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    return own and not re.search(r"@font-face|<image|href=", picture)


def test_the_picture_shows_every_trial_in_both_times(make: RunMaker) -> None:
    picture = draw(make(trials=2, outputs=3000))
    assert "q1 at 1k/s, microbatch" in picture
    assert "q3 at 1k/s, microbatch" in picture
    assert {"event time", "processing time"} <= set(re.findall(r">([^<>]+)</text>", picture))
    assert picture.count("<path") > 100
    assert needs_nothing_from_elsewhere(picture)


def test_without_the_time_of_ingestion_single_latencies_are_shown(make: RunMaker) -> None:
    run = make(trials=1, outputs=3000)
    file = run.trial_folder(1) / "latency.parquet"
    table = pq.read_table(file)
    unknown = pa.nulls(len(table), pa.int64())
    pq.write_table(table.drop_columns(["ingested"]).append_column("ingested", unknown), file)
    picture = draw(run)
    assert "processing time" not in picture
    assert 200 < picture.count("<path") < 450


def test_a_search_is_a_chart_with_the_latencies_beside_it(tmp_path: Path) -> None:
    picture = draw(simulated.write_search(tmp_path, SPEC, simulated.simulate(ENGINE)))
    assert "q3: rate, trial by trial" in picture
    assert "over the rate" in picture
    assert needs_nothing_from_elsewhere(picture)


def test_charts_of_one_trial_are_drawn_as_asked(make: RunMaker) -> None:
    picture = draw(make(trials=1, outputs=3000), ["cpu", "input"])
    told = re.findall(r">([^<>]+)</text>", picture)
    assert told.index("CPU by role") < told.index("Input rate")
    assert "engine" in told
    assert needs_nothing_from_elsewhere(picture)


@pytest.mark.parametrize(("name", "part"), [("cpus", "unknown chart"), ("delay", "no delay")])
def test_what_cannot_be_drawn_is_named(make: RunMaker, name: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        draw(make(trials=1, outputs=3000), [name])


def test_a_run_without_latencies_has_no_picture(make: RunMaker) -> None:
    with pytest.raises(UsageError, match="no latencies"):
        draw(make(trials=0))
