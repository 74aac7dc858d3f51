"""How the harness's own ceiling is shown: its steps, then what it is."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from streamgauge.experiments.ceiling import HarnessCeiling
from streamgauge.report.view import View
from streamgauge.units import format_rate


class CeilingView(View):
    """A run that looked for the ceiling of the harness."""

    def terminal(self) -> Iterator[RenderableType]:
        """Show each step, then the answer."""
        yield from super().terminal()
        if isinstance(self.answer, HarnessCeiling):
            yield Text(f"  {_says(self.answer)}", style="bold")

    def sentence(self) -> str:
        """Say what the ceiling is."""
        if not isinstance(self.answer, HarnessCeiling):
            return super().sentence()
        said = _says(self.answer)
        stamps = (stamp.sentence for stamp in self.stamps())
        return " ".join([*stamps, f"{said[0].upper()}{said[1:]}."])


def _says(answer: HarnessCeiling) -> str:
    if answer.ceiling is None:
        return f"ceiling of the harness: no rate held: {answer.limit or 'none was tried'}"
    rate = f"ceiling of the harness: {format_rate(answer.ceiling)} per input stream"
    return rate if answer.limit else f"{rate}, and no higher one was tried"
