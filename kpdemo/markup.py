"""Markup within texts: tags and entities of HTML and JATS, as in abstracts from publishers, commands of
LaTeX, invisible characters, and letters in a form of print, such as the ligature "ﬁ" of a PDF.

Words without markup inside keep their offsets; for all others the original offsets are known. What of a
document is not content (`kpdemo.boilerplate`) is left out here too.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from html.entities import html5
from operator import itemgetter
from typing import Any

from kpdemo.boilerplate import LeftOut, blank_out, describe_left_out, find_bibliography, find_boilerplate
from kpdemo.types import Document, Span

_BLOCKS = (
    "abstract article aside blockquote body button canvas caption dd div dl dt fieldset figcaption figure "
    "footer form h[1-6] head header html iframe li list list-item main meta nav ol option p pre sec script "
    "section select style table tbody td textarea tfoot th thead title tr ul"
)
_INLINE = (
    "a abbr audio b big bold br cite code del disp-formula em ext-link font formula hr i img inf "
    "inline-formula input ins italic kbd label link mark math monospace picture q roman s samp sans-serif sc "
    "small source span strike strong styled-content sub sup svg tex tex-math time tt u underline var video "
    "wbr xref"
)
_HIDDEN = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
"""Where a word may be cut, or which way it runs: not a part of it."""
_LATIN = "[A-Za-zÀ-ɏ]"
_JOINERS = "[\u200c\u200d]"
"""Invisible after Latin letters; in other scripts they change the word."""
_PRINTED = "\ufb00-\ufb06\U0001d400-\U0001d7ff"  # ligatures, and the letters of formulas
_IS_HIDDEN, _IS_JOINER = re.compile(f"[{_HIDDEN}]"), re.compile(_JOINERS)
_IS_LATIN, _IS_PRINTED = re.compile(_LATIN), re.compile(f"[{_PRINTED}]")
_OPEN, _CLOSE = "(?:<|&lt;)", "(?:>|&gt;)"  # a publisher's tags may be escaped as if they were text
_VALUE = r"""(?:"[^"<>]{0,300}"|'[^'<>]{0,300}'|&quot;[^&<>]{0,300}&quot;|[\w:/.#%+-]{1,300})"""
_ATTRIBUTES = (
    rf"(?:(?:\s{{1,9}}[\w:.-]{{1,60}}\s{{0,9}}=\s{{0,9}}{_VALUE})*\s{{0,9}}/?"
    r"|\s{1,9}[\w:.-]{1,60}\s{0,9}=[^<>]{0,1000})"  # whatever follows: a browser prints none of it
)


def _tags(names: str) -> str:
    return rf"{_OPEN}/?(?:{'|'.join(names.split())}){_ATTRIBUTES}{_CLOSE}"


_ARGUMENTS = r"\*?(?:\s{0,3}\[[^][]{0,300}\]){0,2}(?:\s{0,3}\{[^{}]{0,500}\})"
_SILENT = (
    r"(?:auto|foot|no|paren|text)?cite[a-z]{0,12}|(?:auto|c|eq|page)?ref|label|bibitem|bibliography(?:style)?"
    r"|documentclass|usepackage|input|include(?:graphics)?|(?:this)?pagestyle|[hv]space|setlength|url|href|color"
    r"|textcolor|graphicspath|newtheorem|hypersetup|pagenumbering|email|orcid"
)
"""Commands of LaTeX whose first argument is not printed."""
_PIECES = (
    r"(?:part|chapter|(?:sub){0,2}section|(?:sub)?paragraph|title|author|caption|footnote|thanks|keywords)"
)
_FORMULAS = (
    "equation|align(?:at)?|gather|multline|eqnarray|displaymath|math|split|array|tikzpicture|comment"
    "|filecontents"
)
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi "
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "c": "\u0327",
    "k": "\u0328",
}
_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ"}
_LETTERS |= {"aa": "å", "AA": "Å", "i": "ı", "LaTeX": "LaTeX", "TeX": "TeX"}
_LETTERS |= {name: html5[f"{name};"] for name in _GREEK.split()} | {
    "varepsilon": "ε",
    "varphi": "φ",
    "ell": "l",
}
_LETTER = rf"\\(?:{'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}})?"
_ACCENT = r"""(?:\{\\[`'^"~=.][A-Za-z]\}|\\[`'^"~=.](?:\{\\?[A-Za-z]\}|[A-Za-z])|\\[uHvckr]\{[A-Za-z]\})"""
_FORMULA = r"\$(?=\S)[^$\n]{1,300}?(?<=\S)\$(?!\d)|\\\([^\n]{1,300}?\\\)"
_BALANCED = r"\{(?:[^{}]|\{[^{}]{0,500}\}){0,500}\}"
_LATEX = (
    rf"(?P<formulas>\$\$[^$]{{1,2000}}\$\$|\\\[(?:(?!\\\[).){{1,2000}}?\\\]"
    rf"|\\begin\{{(?P<environment>(?:{_FORMULAS})\*?)\}}(?:(?!\\begin\{{(?P=environment)\}}).)*?"
    r"\\end\{(?P=environment)\})"
    rf"|(?P<inside>(?<=[\w-])(?:{_FORMULA})|(?:{_FORMULA})(?=[-–]?\w))|(?P<formula>{_FORMULA})"
    rf"|(?P<silent>\\(?i:{_SILENT}){_ARGUMENTS}|\\(?:re|provide)?newcommand\*?\{{?\\[A-Za-z]+\}}?(?:\[\d\])?{_BALANCED})"
    rf"|(?P<accent>{_ACCENT})|(?P<letter>{_LETTER})|\\(?P<sign>[&%$#_{{}}])"
    rf"|(?P<piece>\\(?:begin|end)\{{[A-Za-z*]{{1,40}}\}}(?:\[[^][\n]{{0,200}}\])?|\\{_PIECES}\*?(?:\[[^][]{{0,300}}\])?\s?\{{"
    r"|\\item\b(?:\[[^][]{0,100}\])?|\\\\(?:\[[^][]{0,20}\])?|\\par\b)"
    r"|(?P<command>(?:(?<![\w:\\])\\[A-Za-z]{1,40}\*?|\\[A-Za-z]{1,40}\*?(?=\s?[\[{]))(?:\[[^][\n]{0,100}\])?)"
    r"|(?P<brace>(?<!\\)[{}])|(?P<remark>(?<!\\)%[^\n]*)|(?<=\w)~(?=[\w\\$])"
)
_IS_LATEX = re.compile(
    r"\\[A-Za-z]{2,40}\*?\s?[\[{]|\\begin\{|\\[\"'`^~=.]\{?[A-Za-z]|\$[^$\n]{0,300}[\\_^{][^$\n]{0,300}\$|\$[A-Za-z]\$"
)
_IS_SOURCE = re.compile(r"\\(?:documentclass|begin\{document\}|(?:sub)*section\*?\{|bibliography)")
"""Only there a percent sign begins a remark."""
_PIECE = re.compile(rf"\\{_PIECES}\*?(?:\[[^][]{{0,300}}\])?\s?{_BALANCED}")
_TAGS_AND_SIGNS = (
    r"<!--(?:(?!<!--).)*?-->"  # in one pass, even if none ends
    r"|(?P<code><(?P<name>script|style)\b[^<>]{0,300}>(?:(?!<(?P=name)\b).)*?</(?P=name)\s{0,9}>)"
    rf"|(?P<block>{_OPEN}/?(?:jats|xhtml):(?:{'|'.join(_BLOCKS.split())}){_ATTRIBUTES}{_CLOSE}|{_tags(_BLOCKS)})"
    rf"|{_OPEN}/?(?:jats|mml|xhtml|xlink):[\w-]+{_ATTRIBUTES}{_CLOSE}|{_tags(_INLINE)}"
    r"|&(?P<entity>[a-z][a-z\d]{1,31}|\#\d{1,7}|\#x[\da-f]{1,6});"
    rf"|[{_HIDDEN}]|(?<={_LATIN}){_JOINERS}|(?P<printed>[{_PRINTED}])"
    r"|(?<=\])\((?:https?://|[./#])[^()\s]{1,500}\)"  # the address of a link of Markdown
)
_UNREAD = re.compile(_TAGS_AND_SIGNS, re.IGNORECASE | re.DOTALL)
_UNREAD_IN_LATEX = re.compile(rf"{_LATEX}|(?i:{_TAGS_AND_SIGNS})", re.DOTALL)
_MAY_BE_UNREAD = re.compile(rf"[<&\\${_HIDDEN}\u200c\u200d{_PRINTED}]|\]\(")
_PARAGRAPH = "\n\n"
_SPELLING = "b big bold em font i inf italic mark monospace roman s sc small strong sub tt u underline"
"""Tags that may occur within a word. What is in `sup` is another one: a power, or the number of a note."""
_SPELLS = re.compile(rf"{_OPEN}/?(?:jats:|xhtml:)?(?:{'|'.join(_SPELLING.split())})(?![\w:-])", re.IGNORECASE)
_JOINING = frozenset("&-'’‐‑–/")
_GOES_ON = re.compile(rf"\w|[{re.escape(''.join(sorted(_JOINING)))}]\w")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True)
class UnmarkedDocument(Document):
    """A document whose markup was read.

    Attributes:
        moves: (place, distance), ascending: from this place of `text` on, up to the next, a character stood
            so much further on in the text as it was given.
        left_out: the pieces that are not content, by their offsets in the text as it was given.
    """

    moves: tuple[tuple[int, int], ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def without_markup(document: Document) -> Document:
    """The document with blanks for tags, for entities their characters, and plain letters for those of print.

    Commands of LaTeX are blanks too, with the keys of citations, and so are formulas, but for the letters of
    one within a word ("$k$-means"). A tag that begins or ends a paragraph or another piece becomes a blank
    line. A word with markup or hidden characters inside is put together, and the blanks follow it. What is
    between two tags stays, except scripts and styles; so does what only looks like a tag: "a <b and c> d",
    "List<String>".

    What is no content of the body, see `kpdemo.boilerplate`, is blanks too.
    """
    if isinstance(document, UnmarkedDocument):
        return document
    cited = find_bibliography(document.body)
    title, body = _read(document.title), _read(blank_out(document.body, cited))
    pieces = find_boilerplate(body.text)
    text = blank_out(body.text, pieces)
    if (text, title.text) == (document.body, document.title):
        return document
    start = document.body_start + len(title.text) - len(document.title)
    further = document.body_start - start
    kept: dict[str, Any] = {one.name: getattr(document, one.name) for one in fields(Document)}
    moves = (
        *title.moves,
        *((start + place, further + distance) for place, distance in ((0, 0), *body.moves)),
    )
    read = UnmarkedDocument(**kept | {"body": text, "title": title.text, "moves": moves})
    given = spans_as_given(read, [(start + piece.start, start + piece.end) for piece in pieces])
    left_out = [
        *(LeftOut(document.body_start + one.start, document.body_start + one.end, one.kind) for one in cited),
        *(LeftOut(*span, piece.kind) for span, piece in zip(given, pieces, strict=True)),
    ]
    return replace(read, left_out=tuple(sorted(left_out)))


def reading_warnings(document: Document) -> tuple[str, ...]:
    """What a reader should know about how a document was read: a sentence each."""
    return describe_left_out(document.left_out) if isinstance(document, UnmarkedDocument) else ()


def plain_text(text: str) -> str:
    """A piece of text as `without_markup` reads it, and single blanks where it read some."""
    read = _read(text).text
    return text if read == text else " ".join(read.split())


def plain_document(document: Document) -> Document:
    """The document and its gold keyphrases without markup: as models read the one and find the others."""
    keyphrases = filter(None, map(plain_text, document.keyphrases))
    return without_markup(replace(document, keyphrases=tuple(keyphrases)))


def spans_as_given(document: Document, spans: Sequence[Span]) -> tuple[Span, ...]:
    """Where these places of a document's text were before its markup was read.

    A word that ends with an entity, or in tags that open within it, ends after these.
    """
    if not isinstance(document, UnmarkedDocument):
        return tuple(spans)
    moves = document.moves

    def as_given(place: int) -> int:
        number = bisect_right(moves, place, key=itemgetter(0))
        return place + (moves[number - 1][1] if number else 0)

    return tuple((as_given(start), as_given(end)) for start, end in spans)


def _read(given: str) -> _Writer:
    writer = _Writer()
    found: list[re.Match[str]] = []
    closing: set[int] = set()
    if _MAY_BE_UNREAD.search(given):
        is_latex = ("\\" in given or "$" in given) and _IS_LATEX.search(given)
        pattern = _UNREAD_IN_LATEX if is_latex else _UNREAD
        found = [match for match in pattern.finditer(given) if _is_markup(match)]
        closing = {match.end() - 1 for match in _PIECE.finditer(given)} if is_latex else closing
    done = 0
    for match, behind in zip(found, _behind(given, found), strict=True):
        writer.write(given[done : match.start()])
        done = match.end()
        if character := _character(match):
            writer.write_character(character, len(match[0]))
        elif (
            _spells(match)
            and match.start() not in closing
            and writer.is_in_word(behind, is_hidden=_is_hidden(match))
        ):
            writer.owe(len(match[0]))
        else:
            writer.write_blanks(_blanks(match, closing), len(match[0]))
    writer.write(given[done:])
    writer.settle()
    return writer


def _blanks(match: re.Match[str], closing: set[int]) -> str:
    """What stands first in the place of markup: a line break or two, or what no phrase runs across."""
    kinds = match.groupdict()
    if kinds.get("formula"):
        return "$"
    is_piece = kinds["block"] or kinds["code"] or kinds.get("piece") or kinds.get("formulas")
    if is_piece or match.start() in closing:
        return _PARAGRAPH[: len(match[0])]
    return ""


def _is_markup(match: re.Match[str]) -> bool:
    if match.groupdict().get("remark"):
        return _IS_SOURCE.search(match.string) is not None
    name = match["entity"]
    return not name or name.startswith("#") or f"{name};" in html5


def _character(match: re.Match[str]) -> str:
    """What is read in place of an entity or of a letter; nothing for a tag or what is hidden."""
    if match.re is _UNREAD_IN_LATEX:
        if match["inside"]:
            return _formula_letters(match["inside"])
        if match["accent"] or match["letter"] or match["sign"]:
            return _latex_letters(match[0])
    if not (match["printed"] or match["entity"]) or _is_hidden(match):
        return ""
    return _IS_PRINTED.sub(lambda letter: unicodedata.normalize("NFKC", letter[0]), html.unescape(match[0]))


def _latex_letters(written: str) -> str:
    r"""The letters that LaTeX prints for an accent, a letter or a sign: "ö" for `\"{o}`."""
    name = written.strip("{} \n\t")[1:]
    if (letter := _LETTERS.get(name.rstrip("{} \n\t"))) is not None:
        return letter
    if len(name) == 1 or written[1:] in "{}":
        return written[1:]
    letter = name[1:].strip("{}").removeprefix("\\")
    return unicodedata.normalize("NFC", letter + _ACCENTS[name[0]])


_COMMAND = re.compile(r"\\([A-Za-z]+)\s?")


def _formula_letters(formula: str) -> str:
    """What of a formula within a word is printed on the line: the k of `$\\mathbf{k}$-means`."""
    named = _COMMAND.sub(lambda match: _LETTERS.get(match[1], ""), formula)
    return "".join(sign for sign in named if sign.isalnum())


def _spells(match: re.Match[str]) -> bool:
    """Whether it may occur within a word without being a part of it."""
    if match.re is _UNREAD_IN_LATEX and (match["brace"] or match["command"]):
        return True
    return _SPELLS.match(match[0]) is not None or _is_hidden(match)


def _is_hidden(match: re.Match[str]) -> bool:
    """Whether it is an invisible character, or the entity of one."""
    character = html.unescape(match[0])
    if _IS_JOINER.fullmatch(character):
        return match.start() > 0 and _IS_LATIN.match(match.string, match.start() - 1) is not None
    return _IS_HIDDEN.fullmatch(character) is not None


def _behind(given: str, found: Sequence[re.Match[str]]) -> list[str | None]:
    """For each match the next two characters of the word that it is in; None where the word ends before."""
    answers: list[str | None] = []
    answer: str | None = None
    start, entity, spells = len(given), "", False  # of the match that comes next in the text
    for match in reversed(found):
        between = given[match.end() : start] if start - match.end() < 2 else ""
        if between in _JOINING:
            begins = between + (entity or (answer or "" if spells else ""))
        elif match.end() < start:
            begins = given[match.end() : match.end() + 2]
        elif entity:
            begins = entity + (answer or "")
        else:
            begins = answer or "" if spells else ""
        answer = begins[:2] if _GOES_ON.match(begins) else None
        answers.append(answer)
        start, spells = match.start(), _spells(match)
        entity = _character(match)
    return answers[::-1]


class _Writer:
    """The text as it is read: as long as the one that was given, except for ligatures.

    Attributes:
        moves: see `UnmarkedDocument`.
        owed: blanks that follow when the word ends.
        surplus: how many characters longer the text is by now.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail = ""
        self._length = 0
        self.moves: list[tuple[int, int]] = []
        self.owed = 0
        self.surplus = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def is_in_word(self, behind: str | None, *, is_hidden: bool) -> bool:
        """Whether a tag is within a word, or after one with tags, rather than between two words.

        Args:
            behind: see `_behind`; a capital and a small letter after a tag are those of the next word, as
                after a heading: "<b>Methods</b>Random walks".
            is_hidden: it is not a tag but a hidden character, which separates no words: "Power\u200bPoint".
        """
        if not self._tail or not (self._tail[-1].isalnum() or self._tail[-1] in _JOINING):
            return False
        if behind is None:
            return self.owed > 0
        begins_next = len(self._tail) > 1 and self._tail.isalpha() and behind.istitle() and behind.isalpha()
        return is_hidden or not begins_next

    def write(self, piece: str) -> None:
        space = _SPACE.search(piece) if self.owed else None
        if space:
            self._append(piece[: space.start()])
            self.settle()
            piece = piece[space.start() :]
        self._append(piece)

    def write_character(self, kept: str, length: int) -> None:
        """A character in the place of `length`, what follows as close to it as it was given."""
        if kept.isspace():
            self.settle()
        self._append(kept)
        self.surplus += max(len(kept) - length, 0)
        self.owe(max(length - len(kept), 0))
        if kept.isspace():
            self.settle()

    def write_blanks(self, kept: str, length: int) -> None:
        self.settle()
        self._append(kept.ljust(length))

    def owe(self, blanks: int) -> None:
        self.owed += blanks
        self.moves.append((self._length, self.owed - self.surplus))

    def settle(self) -> None:
        """Write what is owed."""
        if self.owed:
            self._append(" " * self.owed)
            self.owed = 0
            self.moves.append((self._length, -self.surplus))

    def _append(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._tail = (self._tail + piece[-2:])[-2:]
            self._length += len(piece)
