"""What Pydantic finds is told in our words: the place, what it must be, what it is."""

from typing import Annotated, Literal

import pytest
from pydantic import BeforeValidator, Field, JsonValue

from streamgauge.errors import UsageError
from streamgauge.spec.reading import guarded, read
from streamgauge.spec.trial import Model
from streamgauge.units import parse_size


class Part(Model):
    size: Annotated[int, BeforeValidator(guarded(lambda text: parse_size(str(text))))] = 1


class Thing(Model):
    count: int = Field(default=1, ge=1, le=9)
    share: float = Field(default=0.5, gt=0, lt=1, allow_inf_nan=False)
    on: bool = False
    kind: Literal["a", "b"] = "a"
    name: str = Field(default="x", min_length=1, examples=["name: river"])
    items: list[int] = Field(default=[1], min_length=1)
    pairs: dict[str, JsonValue] = Field(default_factory=dict)
    part: Part = Part()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": "many"}, "count must be a whole number, not 'many'"),
        ({"count": 1.5}, "count must be a whole number, not 1.5"),
        ({"count": 0}, "count must be at least 1, not 0"),
        ({"count": 10}, "count must be at most 9, not 10"),
        ({"share": "half"}, "share must be a number, not 'half'"),
        ({"share": 1}, "share must be below 1.0, not 1"),
        ({"share": 0}, "share must be above 0.0, not 0"),
        ({"share": float("nan")}, "share must be a finite number, not nan"),
        ({"on": "perhaps"}, "on must be true or false, not 'perhaps'"),
        ({"kind": "c"}, "kind must be a or b, not 'c'"),
        ({"name": None}, "name must be a text, and is empty"),
        ({"name": ""}, "name must be a text, and is empty"),
        ({"items": 5}, "items must be a list, not 5"),
        ({"items": []}, "items must be a list of at least 1, not []"),
        ({"items": [1, "x"]}, "items.1 must be a whole number, not 'x'"),
        ({"pairs": [1]}, "pairs must be KEY: VALUE pairs, not [1]"),
        ({"pairs": {1: 2}}, "pairs must be made of names, not 1"),
        ({"part": 5}, "part must be KEY: VALUE pairs, not 5"),
        ({"part": {"size": "big"}}, "part.size: 'big' is not a size"),
        ({"part": {"colour": "red"}}, "part.colour is not known"),
    ],
)
def test_the_first_fault_is_told_in_plain_words(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(Thing, given, "file x: ")
    assert raised.value.message == f"file x: {message}"


def test_the_next_step_is_the_fields_example_or_the_parsers_words() -> None:
    with pytest.raises(UsageError) as raised:
        read(Thing, {"name": 5})
    assert raised.value.remedy == "Write it like name: river."
    with pytest.raises(UsageError) as raised:
        read(Thing, {"part": {"size": "big"}})
    assert raised.value.remedy == "Write it like 16384, 64MiB or 1GB."


def test_a_long_value_is_cut() -> None:
    with pytest.raises(UsageError) as raised:
        read(Thing, {"count": "9x" * 1000})
    assert len(raised.value.message) < 120
