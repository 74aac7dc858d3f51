"""Run folders made up for the readers of run folders."""

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.synthetic import make_run

from streamgauge.results.folder import RunFolder

RunMaker = Callable[..., RunFolder]


@pytest.fixture
def make(tmp_path: Path) -> RunMaker:
    def make_one(**options: object) -> RunFolder:
        return make_run(tmp_path / "runs", **options)  # type: ignore[arg-type]  # as make_run has them

    return make_one
