import json
import re

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from streamgauge.report.page.markup import data, join, number, table, tag

EVIL = '<script>alert("&")</script>'


def test_text_is_escaped_and_markup_is_not():
    assert tag("p", EVIL, tag("b", "x")) == (
        "<p>&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;<b>x</b></p>"
    )
    assert join(["<", Markup("<br>")]) == "&lt;<br>"


def test_attributes_are_escaped_and_may_be_left_out():
    made = tag("a", "x", class_='"><script>', data_value="1", hidden=True, href=None, checked=False)
    assert made == '<a class="&#34;&gt;&lt;script&gt;" data-value="1" hidden>x</a>'


@given(st.text())
def test_no_text_in_the_data_ends_their_element(text):
    made = data("x", {"text": text + EVIL})
    content = re.fullmatch(r'<script type="application/json" id="x">(.*)</script>', made, re.S)
    assert content is not None
    assert "<" not in content[1]
    assert json.loads(content[1]) == {"text": text + EVIL}


def test_cells_become_cells_once_and_numbers_keep_their_value():
    made = table(["name", "took"], [["<a>", number("12 ms", 0.012)]], caption="All")
    assert "<td>&lt;a&gt;</td>" in made
    assert '<td class="number" data-value="0.012">12 ms</td>' in made
    assert '<th scope="col" class="number">took</th>' in made
