"""The columns of the tables that modules exchange. Times are epoch milliseconds."""

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
"""The content of a topic; the timestamp is the append time.

The key of a record is left out: answers do not need it, since the value includes what it says.
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
