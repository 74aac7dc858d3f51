"""The parameters of a search and its answer: written with a run, and read back."""

from __future__ import annotations

import re

from pydantic import field_validator

from streamgauge.experiments.search import Limit, Role
from streamgauge.measure.sustained import Outcome
from streamgauge.spec.experiment import Interval
from streamgauge.spec.trial import Model

FLUCTUATE = "fluctuate"
"""High, a third of it, high again."""
_SHARE = re.compile(r"[1-9][0-9]{0,2}%")


class SearchParameters(Model):
    """The parameters of a search (-X)."""

    survey: bool = False
    """Search by short trials: a rough answer, marked as rough."""
    after: tuple[str, ...] = ("90%", "50%")
    """What is tried at the rate that was found: shares of it, or `fluctuate`."""

    @field_validator("after")
    @classmethod
    def _after_is_known(cls, after: tuple[str, ...]) -> tuple[str, ...]:
        for what in after:
            if what != FLUCTUATE and not _SHARE.fullmatch(what):
                raise ValueError(
                    f"{what!r} is neither a share of the rate, like 90%, nor {FLUCTUATE}"
                )
        return after


class SearchTrial(Model):
    """One trial of a search."""

    trial: int
    role: Role
    rate: float
    outcome: Outcome | None
    """None for a guess, which gives a rate and no verdict."""
    reason: str


class LatencyAt(Model):
    """Which trial gives the latency at the rate that was found, or at a share of it."""

    at: str
    trial: int


class SearchAnswer(Model):
    """The result of the search for one query."""

    query: str
    rate: float | None
    """The highest rate that holds, confirmed; None when there is none."""
    interval: Interval
    limit: Limit | None
    """What keeps it from being higher; None while the search goes on."""
    by_growth: Interval = (None, None)
    """The highest rate, below the lowest that made backlog or latency grow, at which neither did;
    and that lowest one. This is the publication's definition, without our other rules."""
    confirmations: int
    conclusion: str
    """One sentence for people."""
    catch_up: float | None
    """The rate at which it worked off a backlog, from which the search began."""
    latency: tuple[LatencyAt, ...]
    trials: tuple[SearchTrial, ...]

    @property
    def found(self) -> Interval:
        """What is known about the engine: no unconfirmed rate, none that the harness missed."""
        _, high = self.interval
        return self.rate, None if self.limit == "harness" else high


class Searches(Model):
    """A search for each query."""

    survey: bool
    quick: bool
    searches: tuple[SearchAnswer, ...]
