"""Options that are given as KEY=VALUE, once for each key."""

from __future__ import annotations


def pairs(option: str, texts: list[str] | None) -> dict[str, str] | None:
    """Return the values by their keys; None where the option was not given."""
    from streamgauge.errors import UsageError

    if texts is None:
        return None
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {text}: there is no value", f"Write {option} KEY=VALUE.")
        if option == "--vary" and key in found:
            raise UsageError(f"{option} {key} is given twice", f"Write {option} {key}=VALUE,VALUE.")
        found[key] = value
    return found
