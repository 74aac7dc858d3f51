import re
from pathlib import Path

import pyarrow as pa
import pytest

import streamgauge
from streamgauge.engines.reference.faults import _EVERY, Fault, Injector, Output, injector, possible
from streamgauge.engines.reference.sinks import _passed_over
from streamgauge.errors import UsageError
from streamgauge.spec.form import FORMS, Form
from streamgauge.spec.query import Query
from streamgauge.workloads.espbench.workload import Espbench

Q1, Q2, Q3, Q5 = (Espbench.queries[name] for name in ("q1", "q2", "q3", "q5"))
OUTPUTS = [Output(str(i), b"%d;100;line-%d" % (i, i)) for i in range(6)]
BEFORE, AFTER = OUTPUTS[:2], OUTPUTS[4:]


def values(outputs: list[Output]) -> list[bytes]:
    return [output.value for output in outputs]


def do(name: str, passed_over: bytes | None = b"77;100;no match") -> list[bytes]:
    """Do a fault to output 2 and return what is sent in place of outputs 2 and 3."""
    inject = injector(Fault(name, 2))
    assert inject is not None
    sent = inject(OUTPUTS[:3], passed_over) + inject(OUTPUTS[3:], passed_over)
    assert values(sent[:2]) == values(BEFORE)
    assert values(sent[-2:]) == values(AFTER)
    return values(sent[2:-2])


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        ("drop", [b"3;100;line-3"]),
        ("late", [b"3;100;line-3"]),
        ("repeat", [b"2;100;line-2", b"2;100;line-2", b"3;100;line-3"]),
        ("alter-value", [b"2;101;line-2", b"3;100;line-3"]),
        ("alter-id", [b"99999999992;100;line-2", b"3;100;line-3"]),
        ("exchange", [b"2;100;line-3", b"3;100;line-2"]),
        ("extra", [b"2;100;line-2", b"77;100;no match", b"3;100;line-3"]),
        ("reorder", [b"3;100;line-3", b"2;100;line-2"]),
    ],
)
def test_a_fault_hits_its_output_and_no_other(fault: str, sent: list[bytes]) -> None:
    assert do(fault) == sent


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        ("alter-id", [b'{"id":99999999992,"x":7}', b'{"id":3,"x":8}']),
        ("exchange", [b'{"id":2,"x":8}', b'{"id":3,"x":7}']),
        ("extra", [b'{"id":2,"x":7}', b'{"id":99999999992,"x":7}', b'{"id":3,"x":8}']),
    ],
)
def test_a_fault_finds_the_id_inside_of_json(fault: str, sent: list[bytes]) -> None:
    inject = injector(Fault(fault, 0))
    assert inject is not None
    pair = [Output("2", b'{"id":2,"x":7}'), Output("3", b'{"id":3,"x":8}')]
    assert values(inject(pair, None)) == sent


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_an_input_without_output_is_found_by_its_id(form: Form) -> None:
    inputs = [form.value(id_, 5, b'"x":1}') for id_ in (1, 2, 3)]
    records = pa.table({"value": pa.array(inputs, pa.binary())})
    outputs = [Output("1", inputs[0]), Output("2", inputs[1])]
    assert _passed_over(outputs, records, [form]) == inputs[2]
    assert _passed_over([*outputs, Output("3", b"")], records, [form]) is None


def test_an_extra_output_is_made_up_where_every_record_matches() -> None:
    assert do("extra", passed_over=None)[1] == b"99999999992;100;line-2"


def test_what_is_late_is_known_to_be_sent_later() -> None:
    inject = injector(Fault("late", 1))
    assert inject is not None
    inject(OUTPUTS, None)
    assert inject.hit == [OUTPUTS[1]]


@pytest.mark.parametrize(
    ("printed", "exact", "wrong"), [("0.60", "0.598", "0.61"), ("0.60", "0.604", "0.59")]
)
def test_a_probability_is_moved_away_from_the_truth(printed: str, exact: str, wrong: str) -> None:
    pair = [Output("1", f"1;2;l,{printed}".encode(), f"1;2;l,{exact}".encode()), OUTPUTS[0]]
    inject = injector(Fault("p-off", 0))
    assert inject is not None
    assert inject(pair, None)[0].value == f"1;2;l,{wrong}".encode()


def test_faults_of_process_and_tables_leave_outputs_alone() -> None:
    assert [injector(Fault(name)) for name in ("die", "hang", "unset", "shift")] == [None] * 4
    assert injector(None) is None


@pytest.mark.parametrize(
    ("query", "has", "lacks"),
    [(Q1, "drop", "p-off"), (Q2, "shift", "unset"), (Q3, "extra", "shift"), (Q5, "touch", "drop")],
)
def test_each_query_has_the_faults_that_make_sense(query: Query, has: str, lacks: str) -> None:
    assert {has, "die", "hang"} <= possible(query)
    assert lacks not in possible(query)


def test_a_fault_is_read_with_its_output() -> None:
    assert Fault.parse("drop:3", Q3) == Fault("drop", 3)
    assert Fault.parse("drop", Q3) == Fault("drop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dorp", "unknown fault 'dorp'"),
        ("unset", "makes no sense for query q3"),
        ("drop:x", "'x' is not the number of an output"),
        ("drop:", "'' is not the number of an output"),
    ],
)
def test_a_fault_that_cannot_be_done_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Fault.parse(text, Q3)


def test_an_output_without_neighbour_waits() -> None:
    inject = Injector(lambda pair, _: list(pair), 0)
    assert inject(OUTPUTS[:1], None) == []
    assert inject(OUTPUTS[1:3], None) == OUTPUTS[:3]


def test_every_fault_is_in_the_help_and_in_the_docs() -> None:
    source = Path(streamgauge.__file__).parent
    help_ = (source / "cli" / "run_options.py").read_text("utf-8")
    docs = (source.parents[1] / "docs" / "settings.md").read_text("utf-8")
    for name in _EVERY:
        assert re.search(rf"\b{name}\b", help_), name
        assert f"`{name}`" in docs, name
