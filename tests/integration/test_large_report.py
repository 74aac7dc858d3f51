"""The report of a run as large as runs get; it needs no services, but a while."""

from pathlib import Path

import pyarrow.parquet as pq
from benchmarks.synthetic import latencies, make_run

from streamgauge.report.page.report import write_report

OUTPUTS = 10_000_000
MOST_BYTES = 3_000_000


def test_ten_million_latencies_make_a_small_report(tmp_path: Path) -> None:
    folder = make_run(tmp_path, outputs=100, duration_s=300, warmup_s=90)
    spec = folder.trials()[0].spec
    place = folder.trial_folder(spec.number) / "latency.parquet"
    pq.write_table(latencies(spec, OUTPUTS), place, compression="zstd")
    page = write_report(folder)
    assert f"of {OUTPUTS:,} are shown: some, evenly chosen" in page.read_text("utf-8")
    assert page.stat().st_size <= MOST_BYTES
