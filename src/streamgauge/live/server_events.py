"""What the server sends to the page: one kind of message, as server-sent events."""

from __future__ import annotations

import json
from dataclasses import asdict

from streamgauge.live.follow import Follower, News

WAITING = "waiting"


def waiting(runs: str, now: float) -> str:
    """Write the message for the time before there is a run."""
    return _event(None, {"status": WAITING, "runs": runs, "now": now})


def message(follower: Follower, news: News, now: float, *, last: bool) -> str:
    """Write what a viewer has not seen yet, and the state of the run.

    Args:
        follower: The run.
        news: What this viewer has not seen.
        now: The server's time, since the viewer's clock may differ.
        last: Nothing will come after this.
    """
    record, spec = follower.record, follower.record.spec
    return _event(
        follower.position,
        {
            "run": record.id,
            "status": record.status,
            "subject": spec.subject,
            "experiment": spec.experiment,
            "quick": spec.quick,
            "tags": spec.tags,
            "warnings": record.warnings,
            "trial": asdict(follower.state.trial) if follower.state.trial else None,
            "whole": news.whole,
            "samples": [vars(sample) for sample in news.samples],
            "ended": [asdict(each) for each in news.ended],
            "report": follower.report is not None,
            "last": last,
            "now": now,
        },
    )


def _event(position: str | None, content: dict[str, object]) -> str:
    """Write one event; JSON holds no bare line break, so it is one line."""
    place = f"id: {position}\n" if position is not None else ""
    return f"{place}data: {json.dumps(content, separators=(',', ':'), allow_nan=False)}\n\n"
