"""What the form of records puts in front of them is read back, and nothing else passes for it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.messages import headers, output_keys
from streamgauge.spec.form import FORMS, FRONT, JSON, Form

numbers = st.integers(0, 2**63 - 1)
fields = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name not in ("id", "intended")),
    st.text() | st.integers() | st.booleans() | st.none() | st.lists(st.integers()),
    min_size=1,
    max_size=4,
)


def values(*rows: bytes | None) -> pa.Array:
    return pa.array(rows, pa.binary())


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(rows=st.lists(st.tuples(numbers, numbers), max_size=20), extra=fields)
def test_ids_and_times_are_read_as_they_were_written(
    form: Form, rows: list[tuple[int, int]], extra: dict[str, object]
) -> None:
    payload = json.dumps(extra)[1:].encode()
    assert form.fits(payload)
    written = [form.value(id_, intended, payload) for id_, intended in rows]
    found = headers(values(*written), form)
    assert found.ids.tolist() == [id_ for id_, _ in rows]
    assert found.intended.tolist() == [intended for _, intended in rows]
    assert found.keys.to_pylist() == [str(id_) for id_, _ in rows]
    assert output_keys(values(*written), form).to_pylist() == found.keys.to_pylist()
    assert [form.id_of(value) for value in written] == found.keys.to_pylist()


@given(id_=numbers, intended=numbers, extra=fields)
def test_a_record_of_the_form_json_is_an_object_with_id_and_time(
    id_: int, intended: int, extra: dict[str, object]
) -> None:
    value = JSON.value(id_, intended, json.dumps(extra)[1:].encode())
    assert json.loads(value) == {"id": id_, "intended": intended, **extra}


GOOD = b'{"id":1,"intended":2,"x":3}'
CORRUPT = [
    b"1;2;x",
    b'{"id":1,"intended":2}',
    b'{"id":1,"intended":2,}',
    b'{"id":1,"intended":,"x":3}',
    b'{"id":,"intended":2,"x":3}',
    b'{"id":-1,"intended":2,"x":3}',
    b'{"id":1.5,"intended":2,"x":3}',
    b'{"id":"1","intended":2,"x":3}',
    b'{"intended":2,"id":1,"x":3}',
    b'{"id":1,"x":3}',
    b' {"id":1,"intended":2,"x":3}',
    b'"id":1,"intended":2,"x":3}',
    GOOD[1:],
    b"",
]


@pytest.mark.parametrize("bad", CORRUPT)
def test_a_record_without_the_prefix_of_its_form_is_named(bad: bytes) -> None:
    with pytest.raises(TrialInvalid) as caught:
        headers(values(GOOD, bad, GOOD), JSON)
    assert caught.value.message == (
        f"cannot read the input record {bad!r}: it does not begin with {JSON.looks}"
    )


def test_a_record_without_a_value_is_named() -> None:
    with pytest.raises(TrialInvalid, match=r"the input record b'': it does not begin with id;inte"):
        headers(values(b"1;2;x", None))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_number_of_more_than_64_bits_is_refused(form: Form) -> None:
    with pytest.raises(TrialInvalid, match="bad intended time"):
        headers(values(form.value(1, 2**63, b'"x":1}')), form)


def test_outputs_of_other_programs_may_have_spaces_and_no_time() -> None:
    outputs = values(b'{"id": 7, "x": 1}', b'{ "id" :8}', b'{"x":1,"id":9}', b"9;1;x", None)
    assert output_keys(outputs, JSON).to_pylist() == ["7", "8", None, None, None]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_the_age_of_an_output_is_read_off(form: Form) -> None:
    value = form.value(5, 1_000, b'"x":1}')
    assert form.since_intended(2_500, value) == pytest.approx(1.5)
    with pytest.raises(ValueError, match="does not begin with"):
        form.since_intended(2_500, b"x")


def test_front_takes_every_payload() -> None:
    assert all(FRONT.fits(payload) for payload in (b"", b"}", b"\n", b"a;b"))
    assert np.array_equal(headers(values(b"1;2;", b"3;4;;")).ids, [1, 3])
