"""Every engine, workload, query, transport, mode and way to run it; and what does not go together.

A combination that is not named here has to work, and one that is named must not: who closes a gap
takes it out of its list.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.planning import load_engine, load_experiment, load_workload, plan_run
from streamgauge.planning.asked import Asked
from streamgauge.spec.engine import HasModes
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec

EXAMPLE = Path(__file__).parents[2] / "docs" / "engines" / "example_engine.py"

REFUSED = {
    "*/espbench/*/flight/*": "espbench cannot be sent without a broker",
    "*/ospbench/*/flight/*": "ospbench cannot be sent without a broker",
    "*/ysb/*/flight/*": "ysb cannot be sent without a broker",
    "*/theodolite/*/flight/*": "theodolite cannot be sent without a broker",
    "spark/*/uc1-postgres/*/realtime": "it has no foreachBatch",
    "spark/*/uc1-postgres/*/continuous": "it has no foreachBatch",
    "spark/*/uc[23]*/*/continuous": "continuous processing has no aggregation",
    "spark/*/uc4-*/*/continuous": "continuous processing has no aggregation",
    "spark/*/uc2/*/realtime": "it emits a window after every record",
    "spark/*/uc3-final/*/realtime": "it emits a window after every record",
    "spark/*/uc3-sliding/*/realtime": "it cannot run Python",
    "spark/*/uc3-update/*/realtime": "use theodolite/uc3-every",
    "spark/*/uc3-every/*/microbatch": "use theodolite/uc3-update",
    "spark/*/uc4-*/*/realtime": "it cannot aggregate the result of an aggregation",
    "spark/*/aggregation/*/realtime": "it emits a window after every record",
    "spark/*/q2/*/realtime": "it cannot run Python",
    "spark/*/q5/*/realtime": "it has no foreachBatch",
    "spark/*/join/*/realtime": "it has no join of two streams",
    "spark/*/q[12]/*/continuous": "continuous processing has no aggregation",
    "spark/*/aggregation/*/continuous": "continuous processing has no aggregation",
    "spark/*/q4/*/continuous": "it has no join",
    "spark/*/q5/*/continuous": "it has no foreachBatch",
    "spark/*/join/*/continuous": "it has no join of two streams",
    "spark/ospbench/stage[34]/*/realtime": "never says which output is the last",
    "spark/ospbench/stage10[01]/*/realtime": "never says which output is the last",
    "spark/ospbench/stage[01]/*/continuous": "it has no union of two streams",
    "spark/ospbench/stage[2-6]/*/continuous": "continuous processing has no aggregation",
    "spark/ospbench/stage10[01]/*/continuous": "continuous processing has no aggregation",
    "spark/ospbench/stage2/*/realtime/join=native": "it has no join of two streams",
    "spark/ospbench/stage[56]/*/realtime/state=custom": "it cannot run Python",
    "spark/ysb/redis/*/realtime": "it has no foreachBatch",
    "spark/ysb/topic/*/continuous": "use ysb/redis",
}
"""What planning refuses, with what it says. Patterns are those of file names."""

FAILS = {
    "command/espbench/q[!3]*/kafka/*": "this engine knows q3 only",
    "command/espbench/identity/kafka/*": "this engine knows q3 only",
    "command/ospbench/*/kafka/*": "this engine knows q3 only",
    "command/rovio/*": "this engine knows q3 only",
    "command/ysb/*/kafka/*": "this engine knows q3 only",
    "command/theodolite/*/kafka/*": "this engine knows q3 only",
}
"""What planning cannot know: how the trial fails."""

RARE = (
    "spark/espbench/q1/*",
    "spark/espbench/identity/*",
    "spark/theodolite/uc1-topic/*",
    "spark/theodolite/uc2/*",
    "spark/theodolite/uc3-final/*",
    "spark/theodolite/uc3-sliding/*",
    "spark/theodolite/uc3-update/*",
    "spark/theodolite/uc4-single/*",
    "spark/ospbench/stage[!5]*",
    "spark/ysb/redis/*",
)
"""Left to `make conformance`: other tests run the same query, or its like, on Spark."""

USUAL = 2
"""Partitions of a topic, where the number is not what is tested."""

OPTIONS = {"command": {"command": shlex.join([sys.executable, str(EXAMPLE)])}}
"""What an engine must be given."""

PARAMETERS = {
    "ospbench": {"window": "2s", "slide": "1s", "bad": "7@1s"},
    "rovio": {"window": "1s,500ms", "packs": "50", "selectivity": "0.3"},
    "theodolite": {"bad": "0.1", "levels": "3", "children": "3"},
    "ysb": {"campaigns": "10", "bad": "0.2"},
}
"""What makes windows short, or keys few enough for a short trial; and records that are no good."""


@dataclass(frozen=True)
class Cell:
    """One combination."""

    engine: str
    workload: str
    query: str
    transport: str
    mode: str | None
    """None for an engine that has no modes."""
    option: str | None = None
    """A way to run the query that is not its default, as it is written after `-E`."""
    default: bool = False
    """Whether that is what a user gets who names the query alone."""

    def __str__(self) -> str:
        parts = (self.engine, self.workload, self.query, self.transport, self.mode or "only")
        return "/".join(parts if self.option is None else (*parts, self.option))

    def gap(self, gaps: Mapping[str, str]) -> list[str]:
        """Return the reasons why this does not work."""
        return [reason for pattern, reason in gaps.items() if fnmatchcase(str(self), pattern)]

    @property
    def is_usual(self) -> bool:
        """Tell whether `make test` runs it."""
        return self.default and not any(fnmatchcase(str(self), pattern) for pattern in RARE)

    @property
    def partitions(self) -> tuple[int, ...]:
        """Return the numbers of partitions to try: Spark plans a single one differently."""
        if self.engine != "spark":
            return (USUAL,)
        return (USUAL, 1, 3) if self.is_usual else (1, 3)

    def plan(self, partitions: int = USUAL) -> TrialSpec:
        """Plan a short trial as users do.

        Raises:
            UsageError: The parts do not go together.
        """
        options = dict(OPTIONS.get(self.engine, {}))
        if self.mode is not None:
            options["mode"] = self.mode
        if self.option is not None:
            name, _, value = self.option.partition("=")
            options[name] = value
        wanted: dict[str, Any] = {
            "engine": self.engine,
            "engine_options": options,
            "transport": self.transport,
            "parameters": PARAMETERS.get(self.workload, {}),
            "quick": True,
            "rates": ["1k/s"],
            "duration": "3s",
            "warmup": "500ms",
            "partitions": str(partitions),
        }
        asked = {name: Asked(value) for name, value in wanted.items()}
        (trial,) = load_experiment(plan_run(f"{self.workload}/{self.query}", asked)).plan()
        return trial

    def refusal(self) -> str | None:
        """Tell why planning refuses it; None where it does not."""
        try:
            self.plan()
        except UsageError as error:
            return error.message
        return None


def cells() -> list[Cell]:
    """List all combinations of what is registered."""
    usual = TrialSpec.model_fields["transport"].default, RunSpec.model_fields["engine"].default
    return [
        Cell(
            engine,
            workload,
            query,
            transport,
            mode,
            option,
            default=(transport, engine) == usual and (mode, option) == ways[0],
        )
        for engine in registry.names("engines")
        for workload in registry.names("workloads")
        for query in load_workload(workload).queries
        for ways in [_ways(engine, workload, query)]
        for transport in registry.names("transports")
        for mode, option in ways
    ]


def _ways(engine: str, workload: str, query: str) -> list[tuple[str | None, str | None]]:
    """Return modes and options of a query, the defaults first, also modes that are refused."""
    made = load_engine(engine)
    if not isinstance(made, HasModes):
        return [(None, None)]
    modes = made.modes(workload, query)
    others = [f"{name}={value}" for name, values in modes.options.items() for value in values[1:]]
    allowed = product(modes.allowed, (None, *others))
    return [*allowed, *((mode, None) for mode in modes.refused)]
