"""HTML by functions: whatever is not markup already is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from streamgauge.spec.values import Json

_VOID = frozenset({"input", "meta"})
_NUMBER = '<td class="number"'


class Html(str):
    """Markup, as opposed to text that has yet to be escaped."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: str | bool | None) -> Html:
    """Make an element; `class_` is written class and `data_value` data-value.

    An attribute that is True stands without a value, one that is None or False not at all.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Put parts together, text escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def data(name: str, value: Json) -> Html:
    """Put data into a page for its script to read; no text in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Html(
        f'<script type="application/json" id="{escape(name)}">'
        f"{text.replace('<', chr(92) + 'u003c')}</script>"
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, class_: str = ""
) -> Html:
    """Make a table that can be sorted and scrolled; cells that are no `td` become one."""
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


def number(text: str, value: float | None) -> Html:
    """Make the cell of a number, which is sorted by its value."""
    return tag("td", text, class_="number", data_value=None if value is None else repr(value))


def _cell(cell: str) -> str:
    return cell if isinstance(cell, Html) and cell.startswith("<td") else tag("td", cell)


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
