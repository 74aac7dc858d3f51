"""Outputs that are nearly right, of queries whose keys are several fields or JSON."""

from collections.abc import Iterable
from functools import cache

import pyarrow as pa
import pytest

from streamgauge.measure.columns import EXPECTED
from streamgauge.measure.matching import match
from streamgauge.spec.answers import AnswerContext, Answers, AnswersInSteps
from streamgauge.spec.trial import Counts
from streamgauge.validation.tasks import logged_outputs
from streamgauge.workloads.ospbench import Ospbench
from streamgauge.workloads.theodolite import Theodolite
from tests.unit.validation.test_attacks import OF_ANY, records
from tests.unit.workloads.ospbench import test_answers as ospbench
from tests.unit.workloads.theodolite import records as theodolite

SIZES = {"window": 4.0, "slide": 2.0, "attribute": "cycle:3:2s", "children": 2, "levels": 2}
QUERIES = [
    *(
        f"theodolite/{name}"
        for name, query in Theodolite.queries.items()
        if query.output == "topic"
    ),
    *(f"ospbench/{name}" for name in Ospbench.queries),
]
ATTACKS = [name for name in OF_ANY if not name.startswith(("nothing", "twice", "again", "other"))]
JSON_MAY = ("blank before", "blank after", "line end", "Windows line end", "line end before")
"""What JSON is still the same with."""
Sent = tuple[Answers, AnswerContext, pa.Table]


@cache
def sent(name: str) -> Sent:
    """Return the answers of a query, what they know, and partial answers to some records."""
    workload, _, query = name.partition("/")
    if workload == "ospbench":
        answers: Answers = Ospbench.queries[query].answers
        one = [each for each in ospbench.SECONDS if each.stream in Ospbench.queries[query].streams]
        lines = [(each.line(number), each.appended) for number, each in enumerate(one)]
        known, log = ospbench.context(window=2.0, slide=1.0), ospbench.table(lines)
    else:
        answers, known = Theodolite.queries[query].answers, theodolite.context(**SIZES)
        readings = [
            theodolite.record(number, 700 * number, number % 3, 0.25 * number + 1)
            for number in range(12)
        ]
        log = theodolite.recorded(readings)
    return answers, known, answers.expected(log, known)


@cache
def right_outputs(name: str) -> tuple[pa.Table, list[bytes]]:
    """Return what is expected, and what a right engine prints."""
    answers, known, partials = sent(name)
    expected = answers.merge(partials, known).cast(EXPECTED)
    keys, values = (expected[column].to_pylist() for column in ("key", "value"))
    if name.startswith(("theodolite/uc1", "ospbench")):
        return expected, values
    if name == "theodolite/uc3-every":
        values = [value.partition(b",")[2] for value in values]  # the count ends the key
    return expected, [f"{key},".encode() + value for key, value in zip(keys, values, strict=True)]


def judged(name: str, values: Iterable[bytes | None]) -> Counts:
    answers, known, partials = sent(name)
    expected, _ = right_outputs(name)
    outputs = logged_outputs(answers, records([*values]))
    steps = answers.steps(partials, outputs, known) if isinstance(answers, AnswersInSteps) else None
    return match(expected, outputs, answers.agree, None, steps).counts


@pytest.mark.parametrize("name", QUERIES)
def test_right_outputs_are_right(name: str) -> None:
    _, values = right_outputs(name)
    assert len(values) > 1
    assert judged(name, values) == Counts(expected=len(values), correct=len(values))


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_output_that_is_not_right_is_never_counted_as_right(name: str, attack: str) -> None:
    _, values = right_outputs(name)
    change, errors = OF_ANY[attack]
    counts = judged(name, [values[0], *change(values[1]), *values[2:]])
    lost = errors.get("wrong", 0) + errors.get("missing", 0)
    if name == "theodolite/uc1-topic" and attack in JSON_MAY:
        lost = 0
    assert counts.correct == len(values) - lost
    assert counts.wrong + counts.missing == lost
    assert counts.outputs == len(values) - 1 + len(change(values[1]))


@pytest.mark.parametrize("name", QUERIES)
def test_the_first_fields_alone_are_no_answer(name: str) -> None:
    _, values = right_outputs(name)
    fields = values[1].split(b",")
    for number in range(len(fields)):
        counts = judged(name, [values[0], b",".join(fields[:number]), *values[2:]])
        assert (counts.correct, counts.outputs) == (len(values) - 1, len(values)), number
