"""Compare the outputs of a trial with the answers, key by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.steps import ByStep, by_step
from streamgauge.spec.answers import AnswersInEventTime
from streamgauge.spec.trial import Counts

Agree = Callable[[pa.Table, pa.Table], npt.NDArray[np.bool_]]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EXAMPLES_PER_KIND = 20
LATENCIES = pa.schema(
    [
        ("key", pa.string()),
        ("intended", pa.int64()),
        ("appended", pa.int64()),
        ("emitted", pa.int64()),
        ("window_end", pa.int64()),
        ("correct", pa.bool_()),
        ("event", pa.int64()),
        ("ingested", pa.int64()),
    ]
)
"""`event` is null where the intended time is the event time, `ingested` where unstamped."""
EXAMPLES = pa.schema(
    [
        ("kind", pa.string()),
        ("key", pa.string()),
        ("expected", pa.binary()),
        ("got", pa.binary()),
        ("at", pa.int64()),
    ]
)
_KINDS = ("wrong", "missing", "duplicate", "unexpected")


@dataclass(frozen=True)
class Match:
    """How the outputs of a trial, or of one bucket of its keys, compare with the answers."""

    counts: Counts
    latencies: pa.Table
    """One row per expected key that has an output, with the times of its first output."""
    examples: pa.Table
    """The earliest 20 of each kind; `at` is when it was emitted, if missing, when intended."""
    ignored: int
    """Outputs that are not compared: of windows that may stay open."""
    lenient: int = 0
    """Expected outputs with several right answers: records came later than the query allows."""
    optional: int = 0
    """Expected outputs that may be there or not, and are compared if they are."""

    @staticmethod
    def combine(matches: Sequence[Match]) -> Match:
        """Add up the matches of disjoint buckets of keys."""
        examples = pa.concat_tables([EXAMPLES.empty_table(), *(m.examples for m in matches)])
        return Match(
            counts=_sum([match.counts for match in matches]),
            latencies=pa.concat_tables(
                [LATENCIES.empty_table(), *(match.latencies for match in matches)]
            ),
            examples=pa.concat_tables(
                _cut(examples.filter(pc.field("kind") == kind)) for kind in _KINDS
            ),
            ignored=sum(match.ignored for match in matches),
            lenient=sum(match.lenient for match in matches),
            optional=sum(match.optional for match in matches),
        )


def match(
    expected: pa.Table,
    outputs: pa.Table,
    agree: Agree,
    in_event_time: AnswersInEventTime | None = None,
    steps: pa.Table | None = None,
) -> Match:
    """Match outputs with answers: the first output of a key decides, each key needs exactly one.

    Args:
        expected: key, value, intended, appended, window_end, optional. An optional answer may be
            there or not, and is compared if it is; one with a null value is not compared at all.
        outputs: key (null if unreadable), value, emitted, partition, offset.
        agree: says for aligned rows of both tables whether the output is right.
        in_event_time: gives the event and ingestion times of outputs.
        steps: `STEPS` of each output, of answers that grow. Only last steps decide; a step before
            is intermediate when it is right, unexpected when not, and a duplicate when the steps
            of its key do not go up.
    """
    if steps is None:
        return _match(expected, outputs, agree, in_event_time)
    placed = by_step(outputs, steps, agree)
    last = _match(expected, outputs.take(placed.last), agree, in_event_time)
    return Match.combine([last, _before_the_last(outputs, steps, placed)])


def _match(
    expected: pa.Table,
    outputs: pa.Table,
    agree: Agree,
    in_event_time: AnswersInEventTime | None,
) -> Match:
    pairing = _Pairing(expected, outputs)
    answered = pairing.answered
    first = outputs.take(pairing.first[answered])
    answers = expected.take(answered)
    right = np.asarray(agree(answers, first), dtype=bool) if len(answered) else np.zeros(0, bool)
    assert right.shape == answered.shape, "agree() must judge every pair of rows"
    return Match(
        counts=_counts(pairing, right),
        latencies=_latencies(answers, first, right, in_event_time),
        examples=_examples(pairing, right),
        ignored=pairing.ignored_outputs,
        lenient=in_event_time.lenient(expected) if in_event_time else 0,
        optional=int(np.count_nonzero(pairing.optional & ~pairing.ignored)),
    )


def _before_the_last(outputs: pa.Table, steps: pa.Table, placed: ByStep) -> Match:
    """Count the outputs of steps before the last; right ones have a latency like any other."""
    emitted = _int64(outputs["emitted"])
    kinds = {"duplicate": placed.duplicate, "unexpected": placed.unexpected}
    answers = steps.take(placed.intermediate)
    answers = answers.append_column("window_end", pa.nulls(len(answers), pa.int64()))
    right = np.ones(len(answers), dtype=bool)
    examples = []
    for kind, rows in kinds.items():
        kept = _earliest(rows, emitted)
        got, step = outputs.take(kept), steps.take(kept)
        examples.append(
            _cut(_example_rows(kind, got["key"], step["value"], got["value"], got["emitted"]))
        )
    return Match(
        counts=Counts(
            intermediate=len(answers), **{kind: len(rows) for kind, rows in kinds.items()}
        ),
        latencies=_latencies(answers, outputs.take(placed.intermediate), right, None),
        examples=pa.concat_tables(examples),
        ignored=0,
    )


class _Pairing:
    """Which output belongs to which answer, as row numbers."""

    def __init__(self, expected: pa.Table, outputs: pa.Table) -> None:
        keys = expected["key"]
        assert pc.count_distinct(keys, mode="all").as_py() == len(keys), (
            "the answers of a query must have distinct keys"
        )
        self.expected = expected
        self.outputs = outputs
        optional = _bools(pc.fill_null(expected["optional"], False))
        self.optional: Bools = optional
        self.ignored: Bools = optional & _bools(pc.is_null(expected["value"]))
        found = pc.index_in(outputs["key"].cast(keys.type), value_set=keys, skip_nulls=True)
        self.answer_of: Ints = _int64(pc.fill_null(found, -1))
        """Row of the answer that each output belongs to, −1 for none."""

    @cached_property
    def first(self) -> Ints:
        """Row of the first output of each answer in log order, −1 for none."""
        first = np.full(len(self.expected), -1, dtype=np.int64)
        rows = np.flatnonzero(self.answer_of >= 0)
        answer = self.answer_of[rows]
        first[answer] = rows
        # Hardly any key comes twice, so only those that do are worth sorting.
        repeated = rows[np.bincount(answer, minlength=len(first))[answer] > 1]
        repeated = _firsts(repeated, self.answer_of, self.outputs)
        first[self.answer_of[repeated]] = repeated
        return first

    @cached_property
    def answered(self) -> Ints:
        """Rows of the answers that are compared with an output."""
        return np.flatnonzero((self.first >= 0) & ~self.ignored)

    @cached_property
    def missing(self) -> Ints:
        """Rows of the answers that have no output and need one."""
        return np.flatnonzero((self.first < 0) & ~self.optional)

    @cached_property
    def duplicate(self) -> Ints:
        """Rows of the outputs that came after the first of their key."""
        later = self._compared
        later[self.first[self.answered]] = False
        return np.flatnonzero(later)

    @cached_property
    def unexpected(self) -> Ints:
        """Rows of the outputs that belong to no answer."""
        return np.flatnonzero(self.answer_of < 0)

    @property
    def ignored_outputs(self) -> int:
        """Number of outputs that are not compared."""
        return int(np.count_nonzero(self.answer_of >= 0) - np.count_nonzero(self._compared))

    @property
    def _compared(self) -> Bools:
        compared = self.answer_of >= 0
        compared[compared] = ~self.ignored[self.answer_of[compared]]
        return compared


def _firsts(rows: Ints, answer_of: Ints, outputs: pa.Table) -> Ints:
    """Keep only the first of some outputs for each answer, in log order.

    Inside a partition the offset decides, because a broker's clock may step back; between
    partitions the time does. It depends only on the outputs of that answer.
    """
    emitted, partition, offset = (
        _int64(outputs[name]) for name in ("emitted", "partition", "offset")
    )
    rows = rows[np.lexsort((offset[rows], partition[rows], answer_of[rows]))]
    rows = rows[_begins(answer_of[rows], partition[rows])]
    rows = rows[np.lexsort((partition[rows], emitted[rows], answer_of[rows]))]
    return rows[_begins(answer_of[rows])]


def _begins(*columns: Ints) -> Bools:
    """Return which rows differ from the row before; the first always does."""
    begins = np.ones(len(columns[0]), dtype=bool)
    begins[1:] = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return begins


def _counts(pairing: _Pairing, right: Bools) -> Counts:
    correct = int(np.count_nonzero(right))
    counts = Counts(
        expected=len(pairing.answered) + len(pairing.missing),
        correct=correct,
        wrong=len(right) - correct,
        missing=len(pairing.missing),
        duplicate=len(pairing.duplicate),
        unexpected=len(pairing.unexpected),
    )
    assert counts.expected == counts.correct + counts.wrong + counts.missing
    assert len(pairing.outputs) == counts.outputs + pairing.ignored_outputs
    return counts


def _latencies(
    answers: pa.Table, first: pa.Table, right: Bools, in_event_time: AnswersInEventTime | None
) -> pa.Table:
    table = answers.select(["key", "intended", "appended", "window_end"])
    table = table.add_column(3, "emitted", first["emitted"])
    table = table.append_column("correct", pa.array(right))
    event = ingested = pa.nulls(len(table), pa.int64())
    if in_event_time is not None:
        event = in_event_time.event_times(answers)
        ingested = in_event_time.ingestion_times(first)
    table = table.append_column("event", event).append_column("ingested", ingested)
    return table.cast(LATENCIES)


def _examples(pairing: _Pairing, right: Bools) -> pa.Table:
    emitted = _int64(pairing.outputs["emitted"])
    intended = _int64(pc.fill_null(pairing.expected["intended"], 0))
    wrong = pairing.first[pairing.answered[~right]]
    tables = [_of_outputs("wrong", _earliest(wrong, emitted), pairing)]
    missing = pairing.expected.take(_earliest(pairing.missing, intended))
    nothing = pa.nulls(len(missing), pa.binary())
    tables.append(
        _example_rows("missing", missing["key"], missing["value"], nothing, missing["intended"])
    )
    tables += [
        _of_outputs("duplicate", _earliest(pairing.duplicate, emitted), pairing),
        _of_outputs("unexpected", _earliest(pairing.unexpected, emitted), pairing),
    ]
    return pa.concat_tables([_cut(table) for table in tables])


def _of_outputs(kind: str, rows: Ints, pairing: _Pairing) -> pa.Table:
    got = pairing.outputs.take(rows)
    answer = pairing.answer_of[rows]
    value = pairing.expected["value"].take(pa.array(answer, mask=answer < 0))
    return _example_rows(kind, got["key"], value, got["value"], got["emitted"])


def _example_rows(
    kind: str,
    key: pa.ChunkedArray,
    expected: pa.ChunkedArray,
    got: pa.ChunkedArray | pa.Array,
    at: pa.ChunkedArray,
) -> pa.Table:
    kinds = pa.array([kind] * len(key), pa.string())
    return pa.table([kinds, key, expected, got, at], names=EXAMPLES.names).cast(EXAMPLES)


def _earliest(rows: Ints, at_ms: Ints) -> Ints:
    """Keep the rows that may be among the first examples, so that few have to be sorted."""
    if len(rows) <= EXAMPLES_PER_KIND:
        return rows
    at = at_ms[rows]
    kept: Ints = rows[at <= np.partition(at, EXAMPLES_PER_KIND - 1)[EXAMPLES_PER_KIND - 1]]
    return kept


def _cut(examples: pa.Table) -> pa.Table:
    """Keep the first examples in an order that does not depend on how keys were bucketed."""
    keys = [(name, "ascending") for name in ("at", "key", "got", "expected")]
    return examples.take(pc.sort_indices(examples, sort_keys=keys)[:EXAMPLES_PER_KIND])


def _sum(counts: Sequence[Counts]) -> Counts:
    return Counts(**{name: sum(getattr(c, name) for c in counts) for name in Counts.model_fields})


def _int64(column: pa.ChunkedArray) -> Ints:
    assert column.null_count == 0, "times, partitions and offsets must not be null"
    values: Ints = column.cast(pa.int64()).to_numpy()
    return values


def _bools(column: pa.ChunkedArray) -> Bools:
    values: Bools = column.to_numpy().astype(bool)
    return values
