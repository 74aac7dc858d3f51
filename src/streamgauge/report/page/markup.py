"""HTML by functions, which escape everything that is not markup already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from streamgauge.spec.values import Json

_VOID = frozenset({"input", "meta"})
_NUMBER = '<td class="number"'


def tag(name: str, /, *content: str, **attributes: str | bool | None) -> Markup:
    """Make an element; `class_` is written class and `data_value` data-value.

    An attribute that is True is written without a value; None and False are left out.
    """
    written = join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup("<{}{}>").format(name, written)
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, join(content))


def code(name: str, text: str, **attributes: str) -> Markup:
    """Make an element whose content is not markup and cannot end it: a script, a style, data."""
    return tag(name, Markup(text), **attributes)  # noqa: S704 - callers ensure that


def join(parts: Iterable[str]) -> Markup:
    """Put parts together, text escaped."""
    return Markup("").join(parts)


def data(name: str, value: Json) -> Markup:
    """Put data into a page for its script to read; no text in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return code("script", text.replace("<", "\\u003c"), type="application/json", id=name)


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, class_: str = ""
) -> Markup:
    """Make a table that can be sorted and scrolled; cells that are not a `td` become one."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    numbers = [cell.startswith(_NUMBER) for cell in cells[0]] if cells else [False] * len(header)
    head = [
        tag("th", text, scope="col", class_="number" if right else None)
        for text, right in zip(header, numbers, strict=True)
    ]
    made = tag(
        "table",
        tag("caption", caption, class_="aside"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *(tag("tr", *row) for row in cells)),
        class_=f"sortable {class_}".strip(),
    )
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def number(text: str, value: float | None) -> Markup:
    """Make the cell of a number, which is sorted by its value."""
    return tag("td", text, class_="number", data_value=None if value is None else repr(value))


def _cell(cell: str) -> str:
    return cell if isinstance(cell, Markup) and cell.startswith("<td") else tag("td", cell)


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return Markup(" {}").format(name) if value is True else Markup(' {}="{}"').format(name, value)
