"""`streamgauge profile`: what was sampled is written, whoever ends it."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamgauge.cli.main import execute
from streamgauge.profiling.profile import read_profile


def test_ctrl_c_ends_the_sampling_and_leaves_what_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    # Not `time.sleep` itself: threads of others call that as well.
    ours = SimpleNamespace(monotonic=time.monotonic, sleep=interrupted)
    monkeypatch.setattr("streamgauge.cli.profile.time", ours)
    words = ["--pid", str(os.getppid()), "--by", "procfs", "--output", str(tmp_path)]
    assert execute(["profile", *words]) == 130
    assert read_profile(tmp_path) is not None
    assert (tmp_path / "profile.html").exists()
    assert "this is what was sampled so far" in capsys.readouterr().err
