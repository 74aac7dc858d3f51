"""The shell of a page: one file with everything in it, which needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from streamgauge.report.page.markup import code, join, tag

# The same shapes in every place, so that no verdict is shown by colour alone.
_SHAPES = Markup(
    '<svg class="shapes" aria-hidden="true"><defs>'
    '<symbol id="yes" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" class="ground"/>'
    '<path d="M4.2 8.3l2.6 2.6 5-5.4" class="sign"/></symbol>'
    '<symbol id="no" viewBox="0 0 16 16"><path d="M5 0h6l5 5v6l-5 5H5l-5-5V5z" class="ground"/>'
    '<path d="M5 5l6 6M11 5l-6 6" class="sign"/></symbol>'
    '<symbol id="untold" viewBox="0 0 16 16"><path d="M8 0l8 8-8 8-8-8z" class="ground"/>'
    '<path d="M5 8h6" class="sign"/></symbol>'
    '<symbol id="warn" viewBox="0 0 16 16"><path d="M8 1l8 14H0z" class="ground"/>'
    '<path d="M8 6v4M8 12v1" class="sign"/></symbol>'
    "</defs></svg>"
)


def make_page(
    title: str, body: Sequence[str], data: Sequence[Markup], library: str, further: str = ""
) -> str:
    """Return a whole page.

    The policy in its head lets the page run its own scripts only and load nothing.

    Args:
        title: What the browser shows.
        body: The content of `main`.
        data: What the page's script reads.
        library: What `chart_library` returned; empty for a page without charts.
        further: A script that only this page needs.
    """
    style = _file("page.css")
    scripts = [*filter(None, [library]), _file("page.js"), *filter(None, [further])]
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
            tag("title", title),
            code("style", style),
        ]
    )
    parts = [
        _SHAPES,
        tag("main", *body),
        *data,
        *(code("script", script) for script in scripts),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{join(parts)}</body></html>\n'
    )


@cache
def chart_library() -> str:
    """Return the JavaScript that draws charts; making it takes more than a second, once."""
    from vl_convert import javascript_bundle

    return _inside_script(javascript_bundle("window.vegaEmbed = vegaEmbed"))


def mark(holds: bool | None) -> Markup:
    """Draw a verdict: a disc with a tick, an octagon with a cross, or a diamond with a dash."""
    names = {True: ("yes", "yes"), False: ("no", "no"), None: ("untold", "unknown")}
    name, says = names[holds]
    return _shape(name, says)


def warning(text: str) -> Markup:
    """Make an item of a list of warnings."""
    return tag("li", _shape("warn", "warning"), tag("span", text))


def _shape(name: str, says: str) -> Markup:
    use = tag("use", href=f"#{name}")
    return tag("svg", use, class_=f"mark {name}", role="img", aria_label=says)


def _policy(scripts: Sequence[str]) -> str:
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _file(name: str) -> str:
    return _inside_script((files("streamgauge.report.page") / name).read_text("utf-8"))


def _inside_script(code: str) -> str:
    r"""Keep any text in a script from ending it: `<\/` is the same to JavaScript."""
    # Line ends as a browser reads them, since the policy holds a hash of what it reads.
    return code.replace("</script", "<\\/script").replace("\r\n", "\n").replace("\r", "\n")
