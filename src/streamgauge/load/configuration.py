"""Streams that are sent as a whole before the load: what an engine is configured by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import zip_longest

from streamgauge.load.payloads import rendered
from streamgauge.load.protocol import Marker
from streamgauge.spec.form import Form
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.records import Single
from streamgauge.spec.transport import Outgoing


class Whole:
    """All records of one such stream; they are numbered from 0."""

    def __init__(
        self,
        topic: str,
        payloads: Payloads,
        form: Form,
        partitions: int,
        number: int,
        of: int,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._topic, self._payloads, self._form = topic, payloads, form
        self._partitions = partitions
        self._number, self._of = number, of
        """Position among the query's streams, and how many there are."""
        self._clock_ns = clock_ns

    def send(self, stream: str, outgoing: Outgoing) -> list[Marker]:
        """Send them block by block; return the last one, if there is any."""
        sent, last = 0, []
        for records in self._blocks():
            appended = outgoing.send(records)[-1]
            sent += len(records)
            id_ = self._id_of(sent - 1)
            last = [
                Marker(
                    stream=stream,
                    partition=records[-1].partition,
                    offset=appended.offset,
                    appended_ms=appended.at_ms,
                    id=id_,
                    value=records[-1].value,
                )
            ]
        return last

    def _id_of(self, record: int) -> int:
        return self._number + record * self._of

    def _blocks(self) -> Iterator[list[Single]]:
        number = 0
        for block in rendered(self._payloads, self._form, self._partitions):
            now_ms, records = self._clock_ns() // 1_000_000, []
            for payload, key, chosen in zip_longest(block.payloads, block.keys, block.partitions):
                partition = number % self._partitions if chosen is None else chosen
                value = self._form.value(self._id_of(number), now_ms, payload)
                records.append(Single(self._topic, partition, value, key))
                number += 1
            if records:
                yield records
