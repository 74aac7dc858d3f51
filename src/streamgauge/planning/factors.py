"""Several values of a setting: the factors of a run, and every combination of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from streamgauge.errors import UsageError, unknown_name
from streamgauge.planning.asked import Asked
from streamgauge.planning.load import LOAD_OPTIONS, as_list, load_axes
from streamgauge.spec.reading import read
from streamgauge.spec.run import (
    FACTORS,
    LOADS,
    OPTION_FACTORS,
    RESOURCES,
    Origin,
    RunSpec,
    Variant,
)
from streamgauge.spec.workload import Workload

MOST_TRIALS = 10_000
"""Of a run: a greater number is a typing error."""
_RANKS: Sequence[Origin] = ("default", "quick", "preset", "environment", "option")
_HOW = (
    "Write it like --vary rate=1k/s,10k/s; values with commas in them are separated by semicolons."
)

Values = Mapping[str, Sequence[Any]]
"""The values of each factor."""
Combination = Mapping[str, Any]
"""One value of each factor."""


def apart(merged: Mapping[str, Asked], workload: Workload) -> dict[str, Asked]:
    """Put everything that has several values into `vary`, and leave one value for all others.

    A setting that is varied and also has a fixed value: what was typed wins, then the environment.
    """
    vary = merged.get("vary", Asked({}))
    plain = {name: asked for name, asked in merged.items() if name != "vary"}
    wanted: dict[str, Sequence[Any]] = {}
    for name, values in _read(vary.value).items():
        _refuse_unknown(name, workload)
        if _wins(name, vary.origin, plain):
            plain = _without(plain, name)
            wanted[name] = values
    lists, plain = _lists(plain)
    single = {name: values[0] for name, values in wanted.items() if len(values) == 1}
    plain |= {name: Asked(value, vary.origin) for name, value in overlay(plain, single).items()}
    several = {name: values for name, values in wanted.items() if name not in single}
    if lists and not several:
        vary = plain[_place(next(iter(lists)))[0]]
    found = {**lists, **several}
    return {**plain, "vary": Asked(found, vary.origin)} if found else plain


def searched(
    axes: Values, settings: Mapping[str, Asked], origin: Origin, workload: Workload
) -> dict[str, Asked]:
    """Return the settings without those that a search goes over; refuse what contradicts it."""
    plain = dict(settings)
    for name in axes:
        _refuse_unknown(name, workload)
        if not _wins(name, origin, plain):
            raise UsageError(
                f"{name} is searched over, but also has a fixed value", "Leave out one of them."
            )
        plain = _without(plain, name)
    return plain


def combinations(vary: Values) -> Iterator[Combination]:
    """Yield every combination of the values; the last factor changes fastest."""
    for values in product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def overlay(settings: Mapping[str, Asked], combination: Combination) -> dict[str, Any]:
    """Return the settings that a combination changes, complete."""
    changed: dict[str, Any] = {}
    for name, value in combination.items():
        setting, option = _place(name)
        if option is None and name != LOADS:
            changed[setting] = [text(value)] if name == "rate" else text(value)
            continue
        before = changed.get(setting, settings[setting].value if setting in settings else {})
        typed = value if setting == "parameters" else text(value)
        changed[setting] = {**before, **(value if option is None else {option: typed})}
    if not changed.keys().isdisjoint(RESOURCES):
        rest = {name: settings[name].value for name in RESOURCES if name in settings}
        changed = {**rest, **changed}
    return changed


def variants(
    vary: Values, settings: Mapping[str, Asked], read: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> tuple[Variant, ...]:
    """Return a variant for each combination; none where nothing is varied.

    Args:
        vary: The values of each factor.
        settings: What was asked for besides them.
        read: Turns settings into fields.
    """
    found: dict[str, Variant] = {}
    for combination in combinations(vary) if vary else ():
        variant = _variant(combination, read(overlay(settings, combination)))
        same = found.setdefault(variant.model_dump_json(exclude={"factors"}), variant)
        if same is not variant:
            raise UsageError(
                f"{_told(same)} and {_told(variant)} ask for the same trials",
                "Leave out one of them; --repeats repeats trials.",
            )
    return tuple(found.values())


def refuse_too_many(spec: RunSpec, vary: Values) -> None:
    """Refuse a run that would never end."""
    rates = 1 if "rate" in vary else len(spec.rates)
    ways = prod(len(values) for values in vary.values())
    count = ways * rates * len(spec.queries) * spec.repeats
    if count > MOST_TRIALS:
        raise UsageError(
            f"these are {count:,} trials: a run can have at most {MOST_TRIALS:,}",
            "Ask for fewer values, queries or repeats, or for several runs.",
        )


def text(value: Any) -> str:
    """Write a value as it would be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(text, value)) if isinstance(value, list | tuple) else str(value)


def _variant(combination: Combination, fields: dict[str, Any]) -> Variant:
    (rate,) = fields.pop("rates", (None,))
    return read(Variant, {"factors": _as_asked(combination), "rate": rate, **fields})


def _as_asked(combination: Combination) -> dict[str, str]:
    written: dict[str, str] = {}
    for name, value in combination.items():
        options = {f"L.{key}": each for key, each in value.items()} if name == LOADS else {}
        written |= {key: text(each) for key, each in (options or {name: value}).items()}
    return written


def _told(variant: Variant) -> str:
    return ", ".join(f"{name}={value}" for name, value in variant.factors.items()) or "one load"


def _read(asked: Any) -> dict[str, list[Any]]:
    """Return the values of each factor: from a list, or a text with commas or semicolons."""
    if not isinstance(asked, Mapping):
        raise UsageError(f"vary: {asked!r} names no factors", _HOW)
    return {str(name): _values(str(name), values) for name, values in asked.items()}


def _values(name: str, asked: Any) -> list[Any]:
    mark = ";" if isinstance(asked, str) and ";" in asked else ","
    values = asked.split(mark) if isinstance(asked, str) else as_list(asked)
    found = [value.strip() if isinstance(value, str) else value for value in values]
    if not found or any(value in (None, "") or isinstance(value, Mapping) for value in found):
        raise UsageError(f"{name} is varied, but one of its values is empty or not valid", _HOW)
    return found


def _place(name: str) -> tuple[str, str | None]:
    """Return the setting that a factor changes, and which of its options."""
    if name in FACTORS or name == LOADS:
        return FACTORS.get(name, name), None
    letter, _, option = name.partition(".")
    return OPTION_FACTORS[letter], option


def _refuse_unknown(name: str, workload: Workload) -> None:
    """Refuse what is not a factor; unknown options of one are refused where they are read."""
    letter, _, option = name.partition(".")
    if name in FACTORS or (letter in OPTION_FACTORS and option):
        return
    parameters = [f"P.{each}" for each in workload.parameters.model_fields]
    known = [*FACTORS, *parameters, *(f"L.{each}" for each in LOAD_OPTIONS)]
    listed = [*FACTORS, "E.OPTION", "P.PARAMETER", "L.OPTION"]
    raise unknown_name("factor", name, known, listed)


def _wins(name: str, origin: Origin, plain: Mapping[str, Asked]) -> bool:
    """Return whether a factor is to be varied although its setting may have a value."""
    given = [asked.origin for asked in _rivals(name, plain)]
    if origin in given:
        raise UsageError(f"{name} is varied, but also has a fixed value", "Leave out one of them.")
    return all(_RANKS.index(origin) > _RANKS.index(each) for each in given)


def _rivals(name: str, plain: Mapping[str, Asked]) -> Iterator[Asked]:
    """Yield what else gives a factor's setting a value; a load's shape sets its rate."""
    setting, option = _place(name)
    for rival in (setting, "shape") if name == "rate" else (setting,):
        asked = plain.get(rival)
        if asked is not None and (option is None or _has(asked, option)):
            yield asked


def _has(asked: Asked, option: str) -> bool:
    return any(option in each for each in as_list(asked.value))


def _without(plain: Mapping[str, Asked], name: str) -> dict[str, Asked]:
    """Leave out what gives a factor's setting a value."""
    setting, option = _place(name)
    if option is None:
        gone = {setting, "shape"} if name == "rate" else {setting}
        return {key: asked for key, asked in plain.items() if key not in gone}
    if setting not in plain:
        return dict(plain)
    given = plain[setting]
    rest = [
        {key: value for key, value in each.items() if key != option}
        for each in as_list(given.value)
    ]
    value = rest if isinstance(given.value, list) else rest[0]
    return {**plain, setting: Asked(value, given.origin)}


def _lists(plain: Mapping[str, Asked]) -> tuple[dict[str, list[Any]], dict[str, Asked]]:
    """Make factors of the settings that may be lists: of partitions and of the load."""
    found: dict[str, list[Any]] = {}
    first = dict(plain)
    if "partitions" in plain:
        asked = plain["partitions"]
        partitions = _values("partitions", asked.value)
        first["partitions"] = Asked(partitions[0], asked.origin)
        found["partitions"] = partitions
    if "load" in plain:
        asked = plain["load"]
        loads, base = load_axes(as_list(asked.value))
        found |= loads
        first["load"] = Asked(base, asked.origin)
    return {name: values for name, values in found.items() if len(values) > 1}, first
