"""What `-E method` is in each workload that has windows: chosen by cost unless it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import METHODS
from streamgauge.planning import load_engine

QUERIES = [
    ("theodolite", "uc3-final", {"window": 60.0, "slide": 1.0, "period": 1.0}),
    ("ospbench", "stage100", {"window": 60.0, "slide": 1.0}),
    ("ospbench", "stage101", {"window": 60.0, "slide": 1.0}),
    ("rovio", "aggregation", {"window": (60.0, 1.0), "packs": 1000}),
]


def resolved(workload: str, query: str, parameters: dict[str, Any], **options: str) -> JobSpec:
    job = JobSpec(
        workload=workload,
        query=query,
        parameters=parameters,
        partitions=2,
        seed=1,
        least_rate=500.0,
        options=options,
    )
    return load_engine("spark").resolve(job)


@pytest.mark.parametrize(("workload", "query", "parameters"), QUERIES)
def test_the_cheapest_method_is_taken_and_it_is_said_why(
    workload: str, query: str, parameters: dict[str, Any]
) -> None:
    settings = resolved(workload, query, parameters).settings
    assert settings["method"] in METHODS
    assert settings["method.overlap"] == "60"
    of_key = f"{19 / 12:.3g}" if workload == "ospbench" else "1"
    assert f"a key has {of_key} records in a slide" in settings["method.auto"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("workload", "query", "parameters"), QUERIES)
def test_a_method_that_is_asked_for_is_taken(
    workload: str, query: str, parameters: dict[str, Any], method: str
) -> None:
    settings = resolved(workload, query, parameters, method=method).settings
    assert settings["method"] == method
    assert "method.auto" not in settings
    assert settings["store"] == ("rocksdb" if method == "pairs" else "memory")


def test_pairs_are_refused_where_state_would_be_in_memory_and_other_methods_are_unknown() -> None:
    with pytest.raises(UsageError, match="method=pairs can keep its state only in RocksDB"):
        resolved(*QUERIES[0], method="pairs", store="memory")
    with pytest.raises(UsageError, match="'panes'"):
        resolved(*QUERIES[0], method="panes")


def test_what_needs_rocksdb_is_not_chosen_where_state_is_to_be_in_memory() -> None:
    settings = resolved(*QUERIES[0], store="memory").settings
    assert settings["method"] in METHODS[:2]
    assert "pairs" not in settings["method.auto"]


@pytest.mark.parametrize(
    ("attribute", "of_key"),
    [
        ("hour-of-day", "100"),
        ("cycle:12:5s", "100"),
        ("cycle:12:100ms", "10"),
        ("cycle:4:100ms", "25"),
        ("cycle:100000:1ms", "0.1"),
    ],
)
def test_an_attribute_that_changes_within_a_slide_makes_keys_with_fewer_records(
    attribute: str, of_key: str
) -> None:
    asked = {"window": 60.0, "slide": 1.0, "period": 0.01, "attribute": attribute}
    settings = resolved("theodolite", "uc3-final", asked).settings
    assert f"a key has {of_key} records in a slide" in settings["method.auto"]
    told = {name: settings[f"method.{name}"] for name in ("size_ms", "slide_ms", "per_second")}
    assert told == {"size_ms": "60000", "slide_ms": "1000", "per_second": of_key}


def test_a_key_with_many_records_is_not_put_into_many_buckets() -> None:
    busy = {"window": 60.0, "slide": 1.0, "period": 0.01}
    settings = resolved("theodolite", "uc3-final", busy).settings
    assert settings["method"] != "bucket"
    assert float(settings["method.additions"]) == pytest.approx(0.8)
