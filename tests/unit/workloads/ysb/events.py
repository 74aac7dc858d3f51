"""Recorded events, made by hand."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.workloads.ysb import data
from streamgauge.workloads.ysb.parameters import Parameters

BEGIN = 1_700_000_000_000
"""A window begins there."""
ADS = data.ads(2, 1)
FIRST, SECOND = (each.decode() for each in data.campaigns(2, 1))


def event(
    number: int, at_ms: int, ad: bytes = ADS[0], *, kind: str = "view", late: int = 0
) -> bytes:
    """Render an event that was to be sent `at_ms` after the beginning."""
    rest = b'"user_id":"u","page_id":"p","ad_id":"%b","ad_type":"mail","event_type":"%b",' % (
        ad,
        kind.encode(),
    )
    rest += b'"event_time":"%d","ip_address":"1.2.3.4"}' % (BEGIN + at_ms - late)
    return JSON.value(number, BEGIN + at_ms, rest)


def records(*values: bytes, partition: int = 0, appended_ms: int = 3) -> pa.Table:
    """Let events be appended a little after they were to be sent."""
    intended = [int(value.split(b'"intended":')[1].split(b",")[0]) for value in values]
    columns = {
        "partition": [partition] * len(values),
        "offset": range(len(values)),
        "timestamp": [each + appended_ms for each in intended],
        "value": values,
    }
    arrays = [pa.array(list(columns[field.name]), field.type) for field in RECORDS]
    return pa.table(arrays, schema=RECORDS)


def context(**parameters: object) -> AnswerContext:
    """Return what the answers know of the trial."""
    chosen = Parameters(campaigns=2, **parameters)
    return AnswerContext(chosen.model_dump(mode="json"), 0, {}, seed=1)
