"""Where the reference engine's outputs go, and where its faults are applied."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, Self

import pyarrow as pa

from streamgauge.engines.reference.faults import IN_TABLES, Fault, Output, injector
from streamgauge.spec.form import Form
from streamgauge.spec.transport import Outlet


class TableWriter(Protocol):
    """Writes answers to a table; comes with the workload."""

    def write(self, outputs: Sequence[Output]) -> None:
        """Write these rows as they should be."""

    def spoil(self, fault: str, output: Output) -> None:
        """Apply a fault to this row instead, or next to it."""

    def close(self) -> None:
        """Close the connection."""


class Sink(ABC):
    """Takes outputs; dies or hangs at one of them on demand."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault
        self._taken = 0
        self.hangs = False
        """Set when the process must do nothing any more."""

    def send(self, outputs: Sequence[Output], records: pa.Table) -> None:
        """Send outputs; `records` are the inputs that came with them."""
        hit = self._hit(len(outputs))
        self._taken += len(outputs)
        if self._fault and hit is not None and self._fault.name in ("die", "hang"):
            self._put(outputs[:hit], records)
            self.flush()
            if self._fault.name == "die":
                sys.exit(1)
            self.hangs = True
            return
        self._put(outputs, records)

    def flush(self) -> None:  # noqa: B027 - a table has nothing to flush
        """Return when everything is where it belongs."""

    @abstractmethod
    def close(self) -> None:
        """Send what is left and close."""

    @abstractmethod
    def _put(self, outputs: Sequence[Output], records: pa.Table) -> None:
        """Bring outputs to their place."""

    def _hit(self, count: int) -> int | None:
        """Return which of the next outputs the fault hits, if any."""
        if self._fault is None or not 0 <= self._fault.output - self._taken < count:
            return None
        return self._fault.output - self._taken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()


class OutputSink(Sink):
    """Sends outputs back to the harness."""

    def __init__(self, outlet: Outlet, fault: Fault | None, forms: Sequence[Form]) -> None:
        super().__init__(fault)
        self._forms = forms
        """Of the inputs."""
        self._outlet = outlet
        self._injector = injector(fault)

    def flush(self) -> None:
        """Return when everything has arrived."""
        self._outlet.flush()

    def close(self) -> None:
        """Send what was withheld, far too late, and wait until all is there."""
        if self._injector and self._fault and self._fault.name == "late":
            self._produce(self._injector.hit)
        self.flush()

    def _put(self, outputs: Sequence[Output], records: pa.Table) -> None:
        if self._injector is not None:
            outputs = self._injector(outputs, _passed_over(outputs, records, self._forms))
        self._produce(outputs)

    def _produce(self, outputs: Sequence[Output]) -> None:
        self._outlet.put([output.value for output in outputs])


class TableSink(Sink):
    """Lets the workload write to its table."""

    def __init__(self, writer: TableWriter, fault: Fault | None) -> None:
        super().__init__(fault)
        self._writer = writer
        self._spoils = fault is not None and fault.name in IN_TABLES

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    def send(self, outputs: Sequence[Output], records: pa.Table) -> None:
        """Write the rows; one of them wrong on demand."""
        hit = self._hit(len(outputs))
        if self._spoils and self._fault and hit is not None:
            self._writer.spoil(self._fault.name, outputs[hit])
        super().send(outputs, records)

    def _put(self, outputs: Sequence[Output], records: pa.Table) -> None:  # noqa: ARG002
        if outputs:
            self._writer.write(outputs)


def _passed_over(
    outputs: Sequence[Output], records: pa.Table, forms: Sequence[Form]
) -> bytes | None:
    """Find an input that has no output, if one came along."""
    keys = {output.key for output in outputs}
    values: list[bytes] = records["value"].to_pylist()
    return next((v for v in values if keys.isdisjoint(form.id_of(v) for form in forms)), None)
