"""Read values that people wrote, and put their errors into words: here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from reprlib import Repr
from typing import Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import PydanticCustomError

from streamgauge.errors import UsageError

_M = TypeVar("_M", bound=BaseModel)

_REFUSED = "refused"
"""The type of the errors that our own parsers make."""
_BOUNDS = {
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
}
_FORMS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "dict": "KEY: VALUE pairs",
    "mapping": "KEY: VALUE pairs",
    "model": "KEY: VALUE pairs",
    "invalid_key": "made of names",
    "invalid-json-value": "a text, a number, true, false, a list or KEY: VALUE pairs",
}
"""What a value must be, by the first word of Pydantic's error type: `int_parsing`, `int_type`."""
_short = Repr()
_short.maxstring = _short.maxother = 60


def read(
    model: type[_M],
    values: Mapping[str, Any],
    where: str = "",
) -> _M:
    """Read values by a model.

    Args:
        model: What the values have to be.
        values: What was given, by the names of the model's fields.
        where: What to put in front of a field's name in an error: `-P `.

    Raises:
        UsageError: A value cannot be read; the message says which, and what it must be.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UsageError(first_fault(error, where), _remedy(error, model)) from None


def first_fault(error: ValidationError, where: str = "") -> str:
    """Put the first thing that Pydantic found into a sentence: the place and the reason."""
    finding: dict[str, Any] = dict(error.errors(include_url=False)[0])
    place = [str(part) for part in finding["loc"]]
    if place and place[-1] == "[key]":
        place = place[:-2]
        finding["type"] = "invalid_key"
    return _sentence(f"{where}{'.'.join(place)}".strip(), finding)


def guarded(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a validator of one of our functions; its errors are reported in its own words."""

    def validate(value: Any) -> Any:
        try:
            return parse(value)
        except UsageError as error:
            words = {"message": error.message, "remedy": error.remedy or ""}
            raise PydanticCustomError(_REFUSED, "{message}", words) from None

    return validate


def written(parse: Callable[[str], Any]) -> BeforeValidator:
    """Check a text or a number with one of our parsers, and keep it as a text."""

    def keep(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | Real):
            return value
        parse(str(value))
        return str(value)

    return BeforeValidator(guarded(keep))


def _remedy(error: ValidationError, model: type[BaseModel]) -> str | None:
    """Say what to write instead: what the parser says, or the example that the field declares."""
    finding = error.errors(include_url=False)[0]
    if words := finding.get("ctx", {}).get("remedy"):
        return str(words)
    field = model.model_fields.get(str(finding["loc"][0])) if finding["loc"] else None
    return f"Write it like {field.examples[0]}." if field and field.examples else None


def _sentence(place: str, finding: Mapping[str, Any]) -> str:
    kind, context = str(finding["type"]), finding.get("ctx", {})
    if kind in ("missing", "extra_forbidden"):
        return f"{place} is {'missing' if kind == 'missing' else 'not known'}"
    must = _must(kind, context)
    if must is None:
        text = str(finding["msg"]).removeprefix("Value error, ")
        return f"{place}: {text}" if place else text
    value = finding["input"]
    given = "and is empty" if value is None or value == "" else f"not {_short.repr(value)}"
    return f"{place or 'it'} must be {must}, {given}"


def _must(kind: str, context: Mapping[str, Any]) -> str | None:
    """Say what a value must be; None where the error has words of its own."""
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    if kind == "literal_error":
        return str(context["expected"]).replace("'", "")
    if kind in ("too_short", "too_long"):
        low, high = context.get("min_length"), context.get("max_length")
        return f"a list of at {'least' if low else 'most'} {low or high}"
    if kind == "string_too_short":
        return "a text"
    return _FORMS.get(kind) or _FORMS.get(kind.partition("_")[0])
