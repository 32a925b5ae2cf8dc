"""Marks in a text: by offset, all of them, and safe for any text."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from kpdemo.boilerplate import Kind, LeftOut
from kpdemo.types import Keyphrase
from kpdemo.ui.html import escape, layout, marked_html
from kpdemo.ui.requests import LONGEST_TEXT


class Reader(HTMLParser):
    """The text of a piece of HTML, and the text inside each mark by its offsets."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.marked: dict[tuple[int, int], str] = {}
        self.tags: set[str] = set()
        self._open: list[tuple[int, int]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        values = dict(attrs)
        self._open.append((int(values["data-start"]), int(values["data-end"])))

    def handle_endtag(self, tag):
        self._open.pop()

    def handle_data(self, data):
        self.text += data
        for span in self._open:
            self.marked[span] = self.marked.get(span, "") + data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader._open == []
    return reader


def keyphrase(*spans: tuple[int, int], text: str = "phrase", score: float = 0.5) -> Keyphrase:
    return Keyphrase(text, score, spans)


def test_a_keyphrase_is_marked_where_its_spans_say():
    text = "A scalar potential, no vector potential."
    reader = read(marked_html(text, [keyphrase((2, 18))]))
    assert reader.text == text
    assert reader.marked == {(2, 18): "scalar potential"}


def test_a_nested_keyphrase_has_its_own_mark_inside_the_other():
    text = "boundary integral equation"
    html = marked_html(text, [keyphrase((0, 26)), keyphrase((9, 26))])
    assert read(html).marked == {(0, 26): text, (9, 26): "integral equation"}
    assert re.search(r'class="kp kp-2"[^>]*>boundary <mark[^>]*class="kp kp-1"', html)


def test_crossing_keyphrases_are_both_whole():
    reader = read(marked_html("alpha beta gamma", [keyphrase((0, 10)), keyphrase((6, 16))]))
    assert reader.marked == {(0, 10): "alpha beta", (6, 16): "beta gamma"}


def test_the_first_piece_of_a_mark_and_no_other_has_its_id():
    html = marked_html("alpha beta gamma", [keyphrase((0, 10)), keyphrase((6, 16))])
    ids = re.findall(r' id="([^"]+)"', html)
    assert sorted(ids) == ["kp-0-10", "kp-6-16"]


def test_the_label_of_a_mark_names_phrase_and_score():
    assert 'title="deep &quot;net&quot; · 0.81"' in marked_html(
        "deep net", [Keyphrase('deep "net"', 0.81, ((0, 8),))]
    )


def test_overlapping_marks_never_share_a_line():
    marks = layout([keyphrase((0, 10)), keyphrase((6, 16)), keyphrase((6, 10)), keyphrase((20, 24))])
    assert [(mark.span, mark.level) for mark in marks] == [
        ((0, 10), 2), ((6, 16), 3), ((6, 10), 1), ((20, 24), 1),
    ]  # fmt: skip


def test_html_in_the_text_is_shown_as_text():
    text = '<script>alert(1)</script> <img src=x onerror="x"> ${alert(2)} {{x}} `y` & "z"'
    html = marked_html(text, [keyphrase((0, 8))])
    assert read(html).text == text
    assert read(html).tags == {"mark"}
    assert not set("${}`") & set(html)


def test_emoji_and_right_to_left_text_keep_their_offsets():
    text = "😀 מודל שפה 👩‍🔬 language model"
    start = text.index("language")
    reader = read(marked_html(text, [keyphrase((2, 10)), keyphrase((start, len(text)))]))
    assert reader.text == text
    assert reader.marked == {(2, 10): "מודל שפה", (start, len(text)): "language model"}


def test_a_long_text_is_in_parts_that_end_with_a_paragraph_and_tear_no_mark():
    text = f"{'words ' * 2_000}\n\n" * 5
    html = marked_html(text, [keyphrase((0, 5), (12_000, 12_010))])
    assert re.sub("<[^>]*>", "", html) == text
    parts = re.findall("<div>(.*?)</div>", html, re.DOTALL)
    assert "".join(parts) == html.replace("<div>", "").replace("</div>", "")
    assert [len(re.sub("<[^>]*>", "", part)) for part in parts] == [2 * 12_002, *[12_002] * 3]


def test_what_was_not_read_is_folded_or_grey_where_no_mark_tells_otherwise():
    text = "Kernels compare graphs.\n17\nMore kernels.\n\nReferences\n[1] A. Bee. Trees."
    number, section = text.index("17"), text.index("References")
    pieces = [
        LeftOut(0, 7, Kind.LINE),
        LeftOut(number, number + 2, Kind.LINE),
        LeftOut(section, len(text), Kind.REFERENCES),
    ]
    html = marked_html(text, [keyphrase((0, 7))], pieces)
    assert '\n<span class="left-out" title="left out">17</span>\n' in html
    assert html.count("left-out") == 2
    summary = "References, left out: 29 characters</summary>"
    assert html.endswith(f"{summary}References\n[1] A. Bee. Trees.</details>")
    assert re.sub("<summary.*?</summary>|<[^>]*>", "", html) == text


def test_the_longest_text_of_the_page_with_many_marks_is_laid_out_at_once():
    text = "graph neural network " * (LONGEST_TEXT // 21)
    spans = tuple((at, at + 20) for at in range(0, len(text), 21))
    inner = tuple((at + 6, at + 20) for at in range(0, len(text), 21))
    started = time.process_time()
    marked_html(text, [keyphrase(*spans), keyphrase(*inner)])
    assert time.process_time() - started < 2


def test_no_keyphrase_leaves_the_text_plain():
    assert marked_html("plain", []) == "plain"
    assert marked_html("", []) == ""


@given(
    st.text(min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(1, 60)), max_size=12),
)
def test_any_spans_in_any_text_come_back_whole(text, pairs):
    spans = {(start, end) for start, end in pairs if start < end <= len(text)}
    reader = read(marked_html(text, [keyphrase(span) for span in sorted(spans)]))
    assert reader.text == text
    assert reader.marked == {(start, end): text[start:end] for start, end in spans}


@given(st.text())
def test_escaped_text_reads_as_itself(text):
    assert read(escape(text)).text == text
