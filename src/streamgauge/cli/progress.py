"""The progress of a run on stderr: one line that changes in a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.status import Status

from streamgauge.cli.plan import count_trials
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from streamgauge.spec.contracts import Json
    from streamgauge.spec.run import RunSpec
    from streamgauge.trial.bench import Event


class Progress:
    """Shows phase, rate and newest latency of the trial that runs."""

    def __init__(self, spec: RunSpec, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._trials = count_trials(spec)
        self._status: Status | None = None
        self._title = ""
        self._phase = ""
        self._sent: tuple[float, float] | None = None

    def show(self, event: Event) -> None:
        """Take in one event of the run."""
        if "query" in event:
            number, query = event["trial"], event["query"]
            rate = format_rate(_number(event["rate"]))
            of = f"/{self._trials}" if _number(number) <= self._trials else ""
            self._title = f"[{number}{of}] {query} at {rate}"
            self._sent = None
        if "note" in event:
            self.note(str(event["note"]))
        if "phase" in event:
            self._phase = str(event["phase"])
            self._line(f"{self._title}: {self._phase}")
        elif "status" in event and event["status"] != "done":
            self._console.print(f"{self._title}: {event['status']}")
        elif "sent" in event and self._status is not None:
            self._status.update(f"{self._title}: {self._phase}{self._figures(event)}")

    def note(self, text: str) -> None:
        """Tell what is fetched or started."""
        self._line(text)

    def _line(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
        else:
            self._console.print(text)

    def _figures(self, event: Event) -> str:
        """Write rate and newest latency; both are samples of the last second."""
        text = ""
        now = (_number(event["at"]), _number(event["sent"]))
        if self._sent is not None and now[0] > self._sent[0]:
            rate = (now[1] - self._sent[1]) / (now[0] - self._sent[0])
            text += f" · {format_rate(max(0.0, rate))}"
        self._sent = now
        if "newest_latency" in event:
            text += f" · newest latency {format_duration(_number(event['newest_latency']))}"
        return text

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("preparing")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)
