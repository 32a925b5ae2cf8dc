"""Catalogues of the pages: complete, in step with the code, and nothing that is shown escapes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from string import Formatter

import pytest
from babel.numbers import get_decimal_symbol

from annotation.locale.update import PROJECT, RATER
from annotation.quality import WRONG_CHECKS, ExcludedGrades, describe_excluded
from annotation.senses import NO_WORDNET, WORDNET_ADVICE
from annotation.systems import CALIBRATED, LEFT_OUT, tell_remark
from annotation.translation import CATALOGUES, _, ngettext
from kpdemo import locale as of_page
from kpdemo.locale.update import PAGE, ROOT, Domain, to_mo, to_po
from kpdemo.translation import (
    ENGLISH,
    LANGUAGES,
    current_language,
    html_language,
    use_language,
    write_decimal,
    write_number,
)

CODES = [code for code in LANGUAGES if code != ENGLISH]
OF_OTHERS = {
    *("SettingsError", "WrongSettings", "NoteError", "BodyError", "LargeBodyError"),
    *("_error", "ImportFileError", "InputError", "self._error", "self._blank", "self._no_grade"),
}
OF_BUGS = {"AssertionError", "LookupError"}
"""What programs and commands are told, in English, and of files that are imported which line is wrong."""
EVERY = (RATER, PROJECT, PAGE)
DOMAINS = pytest.mark.parametrize("domain", EVERY, ids=[domain.name for domain in EVERY])
EVERY_SCRIPT = [(domain, name) for domain in EVERY for name in domain.scripts]
TOLD_ON_PAGES = (*RATER.python, *PROJECT.python)
OF_LINES = "annotation/files/scores.py"
"""What is wrong with a line of an uploaded file is told in English."""


@cache
def marked_in(domain: Domain) -> frozenset[str | tuple[str, ...]]:
    """Read once: the scripts take seconds."""
    return frozenset(one.id for one in domain.template() if one.id)


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def placeholders(text: str) -> set[str]:
    return {name for _text, name, *_rest in Formatter().parse(text) if name}


@DOMAINS
@pytest.mark.parametrize("code", CODES)
def test_a_catalogue_has_all_that_is_marked_and_nothing_else(domain, code):
    catalogue, wanted = domain.read_catalogue(code), marked_in(domain)
    run = f"python -m {'kpdemo' if domain is PAGE else 'annotation'}.locale.update"
    assert {message.id for message in catalogue if message.id} == wanted, run
    assert not catalogue.obsolete
    for message in catalogue:
        if not message.id:
            continue
        assert not message.fuzzy, message.id
        texts, names = forms(message.string), placeholders(forms(message.id)[-1])
        assert len(texts) == (1 if isinstance(message.id, str) else catalogue.num_plurals), message.id
        for text in texts:
            assert text.strip(), f"{code} lacks {message.id!r}"
            assert not re.search(r'[<>&"]', text), f"{text!r} would be markup"
            # A form for one may do without its number.
            assert placeholders(text) | {"count"} == names | {"count"}, f"{message.id!r}: {text!r}"


@DOMAINS
@pytest.mark.parametrize("code", CODES)
def test_what_gettext_reads_is_made_of_what_translators_write(domain, code):
    catalogue = domain.read_catalogue(code)
    assert domain.path_of(code, "mo").read_bytes() == to_mo(catalogue)
    assert domain.path_of(code, "po").read_bytes() == to_po(catalogue)
    if domain is PROJECT:  # no script is given it
        return
    messages = (CATALOGUES if domain is RATER else of_page.CATALOGUES).messages(code)
    assert len(messages) == sum(1 for message in catalogue if message.id and "\n" not in message.id)
    if domain is RATER:
        assert messages["Close"] == catalogue["Close"].string


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_language_of_a_page_is_that_of_its_requests(code):
    with use_language(html_language(code)):
        assert current_language() == code


def test_counts_and_decimals_are_written_as_the_language_does():
    said = {}
    for code in ("en", "sr", "fr"):
        with use_language(code):
            counted = ("You have {count} more try.", "You have {count} more tries.")
            said[code] = [ngettext(*counted, count) for count in (0, 1, 3, 5, 11, 21)]
    assert said["en"][1:3] == ["You have 1 more try.", "You have 3 more tries."]
    words = ("0 pokušaja", "1 pokušaj", "3 pokušaja", "5 pokušaja", "11 pokušaja", "21 pokušaj")
    assert said["sr"] == [f"Imate još {word}." for word in words]
    assert said["fr"][:2] == ["Il vous reste 0 essai.", "Il vous reste 1 essai."]
    with use_language("de"):
        assert (_("Close"), _("Save and next")) == ("Schließen", "Speichern und weiter")  # of both catalogues
        assert (_("Close"), write_decimal(Decimal("0.50"))) == ("Schließen", "0,5")
    with use_language("xx"):
        assert (_("Close"), write_decimal(Decimal("0.50"))) == ("Close", "0.5")


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_decimal_mark_is_that_of_the_unicode_consortium(code):
    with use_language(code):
        written = write_number("-0.640"), write_decimal(Decimal("2.750"))
    mark = get_decimal_symbol("sr_Latn" if code == "sr" else code)
    assert written == (f"-0{mark}640", f"2{mark}75")


def test_what_is_kept_in_english_is_told_in_the_reader_s_language():
    reason = NO_WORDNET.format(folder="/a", file="data.adj", advice=WORDNET_ADVICE)
    calibrated = CALIBRATED.format(name="lcs (calibrated)", count="1,200")
    remark = f"{calibrated} {LEFT_OUT.format(type='word2sense', reason=reason)}"
    assert tell_remark(remark) == remark
    with use_language("de"):
        told = tell_remark(remark)
        assert tell_remark("Somebody's own words.") == "Somebody's own words."
    assert told.startswith("lcs (calibrated): seine Werte sind Typ für Typ")
    assert "word2sense ist ausgelassen: In /a ist kein WordNet (data.adj fehlt): unter Debian" in told


def test_the_reason_why_a_rater_is_blocked_is_told_in_the_reader_s_language():
    blocked = ExcludedGrades("rater 2", 7, WRONG_CHECKS.format(wrong=3, checks=5), "2026-03-01")
    by_hand = ExcludedGrades("rater 3", 1, "Grades at random.", "2026-03-02")
    assert "(2026-03-01: 3 of the last 5 check grades were wrong)" in describe_excluded([blocked])
    with use_language("de"):
        told = describe_excluded([blocked, by_hand])
    assert "3 der letzten 5 Kontrollbewertungen waren falsch" in told
    assert "Grades at random." in told


WHOLE = (
    *("accounts", "adjudicate", "agreement", "crowds", "figures", "leaderboard", "pages", "pairs"),
    *("predictions", "projects", "quality", "rate", "senses", "widgets", "wording", "writing"),
)
"""Pages of which nothing is left in English."""


def texts_in_html(source: str) -> Iterator[str]:
    """What stands between the tags of the f-strings and strings of a page, and in its labels."""
    tree = ast.parse(source)
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
            html = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            html = node.value
        else:
            continue
        if "<" in html:
            html = re.sub(r"<(kbd|time|code).*?</\1>", "", html, flags=re.DOTALL)
            labels = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', html)
            yield from (text.strip("\0\n ") for text in (*re.split(r"<[^>]*>?", html), *labels))


@pytest.mark.parametrize("name", [f"annotation/ui/{name}.py" for name in WHOLE])
def test_every_text_of_the_pages_is_marked(name):
    source = (ROOT / name).read_text(encoding="utf-8")
    is_text = re.compile(r"^[^\W\d_]{2,}[^=\"{}]*$")
    assert [text for text in texts_in_html(source) if is_text.match(text)] == []
    assert [text for text in texts_in_html("f'<p id=x>{a} Hello you</p>'") if is_text.match(text)]


@pytest.mark.parametrize("name", [*RATER.templates, *PROJECT.templates])
def test_every_text_of_the_templates_is_marked(name):
    template = (ROOT / name).read_text(encoding="utf-8")
    bare = re.sub(r"{{.*?}}|{%.*?%}|<(?:style|script)>.*?</(?:style|script)>", "", template, flags=re.DOTALL)
    labels = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', bare)
    assert not re.search(r"[^\W\d_]", "".join([*re.split(r"<[^>]*>", bare), *labels]))


@pytest.mark.parametrize("name", [name for name in TOLD_ON_PAGES if name != OF_LINES])
def test_every_refusal_that_a_page_shows_is_marked(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    plain = [
        ast.unparse(call)
        for call in raised
        if isinstance(call, ast.Call)
        and any(isinstance(given, ast.Constant | ast.JoinedStr) for given in call.args)
        and ast.unparse(call.func) not in OF_OTHERS | OF_BUGS
    ]
    assert plain == []


@pytest.mark.parametrize(("domain", "name"), EVERY_SCRIPT, ids=[name for _domain, name in EVERY_SCRIPT])
def test_every_text_of_the_scripts_is_marked(domain, name):
    of_annotation = () if domain is PAGE else (*marked_in(RATER), *marked_in(PROJECT))
    marked = {part for message in (*marked_in(domain), *of_annotation) for part in forms(message)}
    sentences = sentences_in_script((ROOT / name).read_text(encoding="utf-8"))
    assert [text for text in sentences if not any(text in message for message in marked)] == []


def sentences_in_script(source: str) -> Iterator[str]:
    """The strings of JavaScript that look like something to read."""
    sentence = re.compile(r"^[A-Z][a-z]+([ .:,].*)?$|[a-z]{2,} [a-z]{2,}[ .,:;]")
    keys = {"Enter", "Backspace", "Escape", "Arrow", "Alt", "Control", "Meta", "Shift", "Tab"}
    for match in SCRIPT_PARTS.finditer(source):
        quoted = match["string"] or ""
        text = quoted[1:-1]
        if quoted.startswith("`"):
            text = re.sub(r"\$\{.*\}", "", text, flags=re.DOTALL)
        is_code = text in keys or text.startswith(("#", "body {"))
        if sentence.search(text) and not is_code:
            yield text


SCRIPT_PARTS = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|(?:(?<=[(,=:?!&|\[{;>\n])|(?<=return))\s*/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/"
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)""",
    re.DOTALL,
)
"""Comments, regular expressions, which may hold quotation marks, and strings."""


def test_an_unmarked_sentence_of_a_script_is_found():
    source = r"""
      // Nobody reads a comment.
      const is_quote = (text) => text.match(/["'`]/) || /[/"]\//.test(text);  /* "Nor this one." */
      if (event.key === "Enter" && half / 2 > 1 / two) return /'/;
      say("Wait a moment."); say('It\'s the end of it.'); say(`No pair of ${number} is left.`);
      say(_("Close")); element.className = "is-open";
    """
    found = [*sentences_in_script(source)]
    assert found == ["Wait a moment.", r"It\'s the end of it.", "No pair of  is left.", "Close"]
