"""What only `make conformance` runs."""

from pathlib import Path

import pytest

_ALONE = "test_clusters.py"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave clusters out of `make test`, which has a few of their trials elsewhere."""
    left_out = collection_path.name == _ALONE and not config.getoption("--every-cell")
    return True if left_out else None
