"""The columns of the tables that go from hand to hand. Times are epoch milliseconds."""

from __future__ import annotations

import pyarrow as pa

RECORDS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("value", pa.binary()),
    ]
)
"""What lies in a topic; the timestamp is the append time.

The key of a record is left out: answers need none, since a value says all that its key says.
"""

EXPECTED = pa.schema(
    [
        ("key", pa.string()),
        ("value", pa.binary()),
        ("intended", pa.int64()),
        ("appended", pa.int64()),
        ("window_end", pa.int64()),
        ("optional", pa.bool_()),
    ]
)
OUTPUTS = pa.schema([("key", pa.string()), ("value", pa.binary()), ("emitted", pa.int64())])
