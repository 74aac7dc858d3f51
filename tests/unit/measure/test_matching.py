from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.matching import EXAMPLES_PER_KIND, Match, match
from streamgauge.spec.trial import Counts

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
OUTPUTS = pa.schema(
    [
        ("key", pa.string()),
        ("value", pa.binary()),
        ("emitted", pa.int64()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
    ]
)


def expected_table(rows):
    """From (key, value, optional)."""
    columns = [
        {
            "key": key,
            "value": value,
            "intended": 100 + number,
            "appended": 101 + number,
            "window_end": None,
            "optional": optional,
        }
        for number, (key, value, optional) in enumerate(rows)
    ]
    return pa.Table.from_pylist(columns, schema=EXPECTED)


def output_table(rows):
    """From (key, value, emitted, partition), each partition's rows in log order."""
    offsets: Counter[int] = Counter()
    columns = []
    for key, value, emitted, partition in rows:
        columns.append(
            {
                "key": key,
                "value": value,
                "emitted": emitted,
                "partition": partition,
                "offset": offsets[partition],
            }
        )
        offsets[partition] += 1
    return pa.Table.from_pylist(columns, schema=OUTPUTS)


def agree(expected, outputs):
    assert expected["key"].to_pylist() == outputs["key"].to_pylist()
    pairs = zip(expected["value"].to_pylist(), outputs["value"].to_pylist(), strict=True)
    return np.array([want == got for want, got in pairs])


def first_in_log_order(rows):
    by_offset = sorted(rows, key=lambda row: row["offset"])
    heads = {row["partition"]: row for row in reversed(by_offset)}
    return min(heads.values(), key=lambda row: (row["emitted"], row["partition"]))


def naive(expected, outputs):
    answers = {row["key"]: row for row in expected.to_pylist()}
    ignored = {k for k, row in answers.items() if row["optional"] and row["value"] is None}
    by_key = defaultdict(list)
    for row in outputs.to_pylist():
        by_key[row["key"]].append(row)
    counts, skipped, emitted = Counter(), 0, {}
    for key, rows in by_key.items():
        if key is None or key not in answers:
            counts["unexpected"] += len(rows)
        elif key in ignored:
            skipped += len(rows)
        else:
            first = first_in_log_order(rows)
            emitted[key] = first["emitted"]
            counts["correct" if first["value"] == answers[key]["value"] else "wrong"] += 1
            counts["duplicate"] += len(rows) - 1
    needed = {key for key, row in answers.items() if not row["optional"]}
    counts["missing"] = len(needed - by_key.keys())
    counts["expected"] = len(needed | emitted.keys())
    return Counts(**counts), skipped, emitted


keys = st.sampled_from([f"k{number}" for number in range(12)])
values = st.sampled_from([b"a", b"b"])
answers = st.lists(
    st.one_of(
        st.tuples(keys, values, st.booleans()),
        st.tuples(keys, st.none(), st.just(True)),
    ),
    unique_by=lambda row: row[0],
).map(expected_table)
emissions = st.lists(
    st.tuples(st.none() | keys, values, st.integers(0, 5), st.integers(0, 2)), max_size=40
).map(output_table)


@given(answers, emissions, st.randoms(use_true_random=False))
def test_agrees_with_a_look_at_each_key(expected, outputs, random):
    shuffled = outputs.take(np.array(random.sample(range(len(outputs)), len(outputs)), dtype=int))
    counts, ignored, emitted = naive(expected, outputs)
    result = match(expected, shuffled, agree)
    assert result.counts == counts
    assert result.ignored == ignored
    found = result.latencies.to_pylist()
    assert {row["key"]: row["emitted"] for row in found} == emitted
    assert sum(row["correct"] for row in found) == counts.correct


@given(answers, emissions, st.integers(1, 4))
def test_buckets_of_keys_add_up_to_the_whole(expected, outputs, buckets):
    def bucket(table, number):
        found = [sum((key or "").encode()) % buckets == number for key in table["key"].to_pylist()]
        return table.filter(pa.array(found, pa.bool_()))

    whole = match(expected, outputs, agree)
    parts = [match(bucket(expected, n), bucket(outputs, n), agree) for n in range(buckets)]
    combined = Match.combine(parts)
    assert combined.counts == whole.counts
    assert combined.ignored == whole.ignored
    assert combined.examples.to_pylist() == whole.examples.to_pylist()
    assert combined.latencies.sort_by("key") == whole.latencies.sort_by("key")


@given(answers, emissions)
def test_examples_show_each_kind_that_was_counted(expected, outputs):
    result = match(expected, outputs, agree)
    shown = Counter(result.examples["kind"].to_pylist())
    for kind in ("wrong", "missing", "duplicate", "unexpected"):
        assert shown[kind] == min(getattr(result.counts, kind), EXAMPLES_PER_KIND)


def test_nothing_at_all():
    empty = Match.combine([])
    assert empty.counts == Counts()
    result = match(EXPECTED.empty_table(), OUTPUTS.empty_table(), agree)
    assert result == empty


def test_the_first_output_in_log_order_decides():
    expected = expected_table([("k", b"right", False)])
    outputs = output_table([("k", b"right", 7, 1), ("k", b"false", 5, 0)])
    result = match(expected, outputs, agree)
    assert result.counts == Counts(expected=1, wrong=1, duplicate=1)


def test_inside_a_partition_the_offset_decides_even_if_the_clock_went_back():
    expected = expected_table([("k", b"right", False)])
    outputs = output_table([("k", b"right", 7, 0), ("k", b"false", 5, 0)])
    result = match(expected, outputs, agree)
    assert result.counts == Counts(expected=1, correct=1, duplicate=1)
    assert result.latencies["emitted"].to_pylist() == [7]


def test_a_replay_of_everything_is_all_duplicates():
    rows = [(f"k{number}", b"v") for number in range(50)]
    expected = expected_table([(key, value, False) for key, value in rows])
    outputs = output_table([(key, value, 1, 0) for key, value in rows + rows])
    result = match(expected, outputs, agree)
    assert result.counts == Counts(expected=50, correct=50, duplicate=50)


@pytest.mark.parametrize(
    ("emitted", "counts"),
    [
        ([], Counts()),
        ([b"v"], Counts(expected=1, correct=1)),
        ([b"w"], Counts(expected=1, wrong=1)),
        ([b"v", b"v"], Counts(expected=1, correct=1, duplicate=1)),
    ],
)
def test_an_optional_output_is_compared_only_if_it_is_there(emitted, counts):
    outputs = output_table([("k", value, 1, 0) for value in emitted])
    assert match(expected_table([("k", b"v", True)]), outputs, agree).counts == counts


def test_an_open_window_counts_nowhere():
    outputs = output_table([("k", b"v", 1, 0), ("k", b"w", 2, 0)])
    result = match(expected_table([("k", None, True)]), outputs, agree)
    assert result.counts == Counts()
    assert result.ignored == 2
    assert len(result.latencies) == len(result.examples) == 0


def test_examples_tell_what_was_expected_and_what_came():
    expected = expected_table([("a", b"1", False), ("b", b"2", False)])
    outputs = output_table(
        [("a", b"9", 5, 0), ("a", b"1", 6, 0), ("z", b"0", 7, 0), (None, b"\xff", 8, 0)]
    )
    rows = match(expected, outputs, agree).examples.to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("wrong", "a", b"1", b"9", 5),
        ("missing", "b", b"2", None, 101),
        ("duplicate", "a", b"1", b"1", 6),
        ("unexpected", "z", None, b"0", 7),
        ("unexpected", None, None, b"\xff", 8),
    ]


def test_examples_are_the_earliest():
    outputs = output_table([(f"z{number:03}", b"v", 500 - number, 0) for number in range(100)])
    examples = match(EXPECTED.empty_table(), outputs, agree).examples
    assert examples["at"].to_pylist() == list(range(401, 401 + EXAMPLES_PER_KIND))


def test_latencies_keep_the_times_of_wrong_outputs_too():
    expected = expected_table([("a", b"1", False), ("b", b"2", False)])
    outputs = output_table([("b", b"9", 205, 0), ("a", b"1", 203, 0)])
    assert match(expected, outputs, agree).latencies.to_pylist() == [
        {
            "key": key,
            "intended": intended,
            "appended": intended + 1,
            "emitted": emitted,
            "window_end": None,
            "correct": correct,
            "event": None,
            "ingested": None,
        }
        for key, intended, emitted, correct in [("a", 100, 203, True), ("b", 101, 205, False)]
    ]


def test_chunked_tables_match_like_whole_ones():
    expected = expected_table([(f"k{number}", b"v", False) for number in range(9)])
    outputs = output_table([(f"k{number}", b"v", number, 0) for number in range(12)])
    chunked = pa.concat_tables([expected.slice(0, 4), expected.slice(4)])
    pieces = pa.concat_tables([outputs.slice(0, 5), outputs.slice(5)])
    result = match(chunked, pieces, agree)
    assert result.counts == Counts(expected=9, correct=9, unexpected=3)


def test_answers_with_the_same_key_twice_are_a_bug():
    twice = expected_table([("k", b"1", False), ("k", b"2", False)])
    with pytest.raises(AssertionError, match="distinct keys"):
        match(twice, OUTPUTS.empty_table(), agree)
