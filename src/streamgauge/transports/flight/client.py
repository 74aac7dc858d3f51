"""The harness's own queues, without a broker: how engines and the harness talk to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import pyarrow as pa
from pyarrow import flight

from streamgauge.errors import TrialInvalid
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.transport import Tail
from streamgauge.transports.flight.endpoint import FlightEndpoint

STATE = "state"
COMMIT = "commit"
OUTPUT = pa.schema([("value", pa.binary())])
"""What goes back to the harness."""
_ANSWER_S = 10.0


class QueueClient:
    """One connection to the queues."""

    def __init__(self, endpoint: FlightEndpoint) -> None:
        header = (b"authorization", f"Bearer {endpoint.token}".encode())
        self._client = flight.connect(endpoint.address)
        self._short = flight.FlightCallOptions(timeout=_ANSWER_S, headers=[header])
        self._long = flight.FlightCallOptions(headers=[header])

    def state(self) -> dict[str, Any]:
        """Ask for the state of queues and output.

        Returns:
            `ends` and `committed`: the next offset of every partition of each queue; `handed`:
            how far records were handed out; `outputs`: how many came back; `newest`: time and
            value of the newest.
        """
        return self._act(STATE, b"")

    def commit(self, offsets: Mapping[str, Sequence[int]]) -> None:
        """Report that everything before these offsets is done and will not be asked for again."""
        self._act(COMMIT, json.dumps({name: list(ends) for name, ends in offsets.items()}).encode())

    def schema(self, queue: str) -> pa.Schema:
        """Ask for the columns of a queue."""
        info = self._client.get_schema(flight.FlightDescriptor.for_path(queue), self._short)
        return info.schema

    def read(self, queue: str, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Pull the records with offsets from `start` up to `stop`."""
        wanted = {"queue": queue, "partition": partition, "start": start, "stop": stop}
        reader = self._client.do_get(flight.Ticket(json.dumps(wanted).encode()), self._long)
        for chunk in reader:
            yield chunk.data

    def write(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Send outputs back, each with one column `value`; return how many."""
        descriptor = flight.FlightDescriptor.for_path("out")
        writer, _ = self._client.do_put(descriptor, OUTPUT, self._long)
        count = 0
        with writer:
            for batch in batches:
                values = batch.column("value").cast(pa.binary())
                writer.write_batch(pa.record_batch([values], schema=OUTPUT))
                count += len(batch)
        return count

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _act(self, name: str, body: bytes) -> dict[str, Any]:
        (answer,) = self._client.do_action(flight.Action(name, body), self._short)
        found: dict[str, Any] = json.loads(answer.body.to_pybytes())
        return found


class FlightChannel:
    """Looks at a trial's queues; they come and go with the process that offers the load."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def create(self, *, forgets: bool = False) -> None:
        """Do nothing: there is nothing to create."""

    def delete(self) -> None:
        """Do nothing: there is nothing to delete."""

    def log_end(self, name: str) -> list[int]:
        """Return the next offset of every partition of a queue, or of the output."""
        state = self._state()
        ends: dict[str, list[int]] = state["ends"]
        return ends[name] if name in ends else [int(state["outputs"])]

    def handed(self) -> int | None:
        """Count the records that were handed out, over all partitions of all queues."""
        return sum(map(sum, self._state()["handed"].values()))

    def newest(self, name: str) -> tuple[int, bytes] | None:  # noqa: ARG002 - there is one output
        """Return time and value of the newest output; None when there is none."""
        newest = self._state()["newest"]
        return None if newest is None else (int(newest[0]), str(newest[1]).encode())

    def follow(self, name: str, starts: Sequence[int]) -> Tail:
        """Refuse: the transport carries no query whose outputs have to be followed."""
        raise TypeError(f"{name} cannot be followed from {starts}: outputs are only counted")

    def committed(self) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the engine has committed, by stream and partition."""
        committed: dict[str, list[int]] = self._state()["committed"]
        return {
            (stream, partition): offset
            for stream, queue in self._endpoints.inputs.items()
            for partition, offset in enumerate(committed[queue])
        }

    def close(self) -> None:
        """Close the connection."""
        if "_client" in self.__dict__:
            self._client.close()
            del self._client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _client(self) -> QueueClient:
        return QueueClient(FlightEndpoint.of(self._endpoints.via))

    def _state(self) -> dict[str, Any]:
        try:
            return self._client.state()
        except (flight.FlightError, pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise TrialInvalid(f"the harness's queues do not answer: {reason}") from error
