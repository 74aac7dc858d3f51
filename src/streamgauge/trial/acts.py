"""What is done to services at set times of a trial."""

from __future__ import annotations

from collections import deque

from streamgauge.errors import StreamgaugeError, TrialInvalid
from streamgauge.planning import load_act
from streamgauge.spec.act import Act
from streamgauge.spec.trial import ActSpec, TrialSpec
from streamgauge.trial.bench import Announce, Bench
from streamgauge.units import format_duration

LATE_S = 1.0
"""An act must be over this long after its time: the answers rely on it."""


class Acts:
    """The acts of a trial that are still to come, in the order of their times."""

    def __init__(self, spec: TrialSpec, bench: Bench, announce: Announce, start_ms: int) -> None:
        self._coming = deque((act, load_act(act.name)) for act in spec.acts)
        self._trial, self._bench, self._announce = spec.number, bench, announce
        self._start_ms = start_ms

    def __bool__(self) -> bool:
        """Return whether some are still to come."""
        return bool(self._coming)

    def do_due(self, now_s: float) -> None:
        """Do what is due."""
        while self._coming and self._coming[0][0].at_s <= now_s - self._start_ms / 1000:
            self._do(*self._coming.popleft())

    def _do(self, act: ActSpec, do: Act) -> None:
        clock, endpoint = self._bench.clock, self._bench.services[act.service].endpoint
        begun_s = clock.realtime()
        try:
            what = do(endpoint, self._start_ms, act.arguments)
        except StreamgaugeError:
            raise
        except Exception as error:  # whatever somebody else's function does
            why = f"{type(error).__name__}: {error}"
            raise TrialInvalid(f"{act.name} could not be done to {act.service}: {why}") from error
        self._announce({"trial": self._trial, "act": what})
        took_s = clock.realtime() - begun_s
        late_s = begun_s - self._start_ms / 1000 - act.at_s
        if late_s + took_s > LATE_S:
            raise TrialInvalid(
                f"{what}, but that began {format_duration(late_s)} late and took"
                f" {format_duration(took_s)}; both together may take {format_duration(LATE_S)}"
            )
