"""What of a text is not its content: references, acknowledgements, running heads, numbers and addresses.

A heading stands on a line of its own; it may be numbered, in capitals, or one of Markdown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from kpdemo.types import Span


class Kind(StrEnum):
    """Of what is left out."""

    REFERENCES = "references"
    ACKNOWLEDGEMENTS = "acknowledgements"
    LINE = "line"


class LeftOut(NamedTuple):
    """A piece of a text that is not content, by its character offsets."""

    start: int
    end: int
    kind: Kind


_REFERENCES = """
references|reference list|list of references|bibliography|works cited|literature cited|cited literature
references and notes|notes and references|references cited|cited references
literaturverzeichnis|literaturangaben|quellenverzeichnis|referenzen|bibliografie|bibliographie
références|références bibliographiques|références citées|ouvrages cités
referencias|referencias bibliográficas|bibliografía|literatura citada|obras citadas
referências|referências bibliográficas|bibliografia|riferimenti bibliografici|referències
referenties|literatuurlijst|referenser|litteraturförteckning|källförteckning|referencer|referanser
litteraturliste|lähdeluettelo|kirjallisuusluettelo|kasutatud kirjandus|irodalomjegyzék|hivatkozások
seznam literatury|použitá literatura|zoznam literatúry|použitá literatúra|piśmiennictwo|popis literature
referințe|referințe bibliografice|список литературы|список источников|библиография
список літератури|список використаних джерел|βιβλιογραφία|βιβλιογραφικές αναφορές|kaynaklar|kaynakça
المراجع|قائمة المراجع|المصادر والمراجع|فهرست منابع|منابع و مراجع|רשימת מקורות|ביבליוגרפיה|संदर्भ ग्रंथ|संदर्भ सूची
daftar pustaka|tài liệu tham khảo|เอกสารอ้างอิง|บรรณานุกรม|literatūros sąrašas|literatūras saraksts
参考文献|參考文獻|引用文献|引用文獻|참고문헌|참고 문헌|인용문헌
"""
_OFTEN_REFERENCES = """
literature|sources|literatur|quellen|sources citées|fuentes|fontes|riferimenti|fonti|literatuur|bronnen
litteratur|källor|kilder|lähteet|kirjallisuus|kirjandus|viited|irodalom|források|literatura|reference|literatúra
viri|литература|источники|ссылки|література|джерела|αναφορές|منابع|مراجع|المصادر|מקורות|संदर्भ|सन्दर्भ|referensi
literatūra|文献
"""
"""Headings of sections that may also be about literature or wells."""
_ACKNOWLEDGEMENTS = """
acknowledgements?|acknowledgments?|danksagung|remerciements?|agradecimientos?|agradecimentos?|ringraziamenti|agraïments
dankwoord|dankbetuiging|tack|taksigelser|takk|kiitokset|tänuavaldused|köszönetnyilvánítás|poděkování|poďakovanie
podziękowania|zahvala|zahvale|mulțumiri|благодарности|благодарность|подяки|подяка|благодарност|ευχαριστίες|teşekkür
شكر وتقدير|تشکر و قدردانی|תודות|आभार|ucapan terima kasih|lời cảm ơn|กิตติกรรมประกาศ|padėka|pateicības
致谢|致謝|謝辞|감사의 글|사사
"""


def _heading(names: str) -> re.Pattern[str]:
    listed = "|".join(names.split("\n")).strip("|")
    mark = r"(?P<mark>\#{1,6}\s*|(?:\d{1,2}|[IVX]{1,5}|[A-Z])(?:\.\d{1,2})*[.)]?\s+)?"
    return re.compile(rf"\W{{0,3}}?{mark}\W{{0,3}}?(?P<name>{listed})[*_:.\s\#]{{0,8}}$", re.IGNORECASE)


_IS_REFERENCES, _IS_OFTEN, _IS_THANKS = map(_heading, (_REFERENCES, _OFTEN_REFERENCES, _ACKNOWLEDGEMENTS))
_HEADINGS = (_IS_REFERENCES, _IS_THANKS)
_NEAR = 20
"""Lines."""
_THANKS_RUN_IN = re.compile(r"(?:(?i:acknowledge?ments?)|Danksagung|Remerciements|致谢|謝辞)\s?[:：.—–-]")
_NEXT_SECTION = re.compile(
    r"\#{1,6}\s|(?:\d{1,2}\.?\s|[A-Z]\.?\s)?(?:appendi(?:x|ces)|supplement(?:ary|al)|supporting information"
    r"|anhang|annexes?|anexos?|apêndice|appendice|bijlagen?|bilag|bilaga|附录|附錄|付録|부록|приложени[ея]|dodatek)"
    r"(?!\w)[^.]{0,60}$",
    re.IGNORECASE,
)
_CITED = re.compile(
    r"(?<!\d)(?:1[6-9]|20)\d\d(?!\d)|^\s*\[\d{1,3}\]|^\s*\d{1,3}[.)]\s|\bet al\b|\bdoi\b|https?:"
    r"|\bpp?\.\s?\d",
    re.MULTILINE | re.IGNORECASE,
)
_BIBLIOGRAPHY = re.compile(r"\\begin\{thebibliography\}.*?(?:\\end\{thebibliography\}|\Z)", re.DOTALL)

_LONGEST_HEADING = 60
_LONGEST_UNCITED = 400
"""Characters of a section under such a heading that names no year, number or address."""
_SENTENCE_END = re.compile(r"[.!?:;。！？」』”\")\]]\s*$")

_ADDRESS = r"(?:https?://|www\.|doi:\s?|10\.\d{4,9}/)[^\s<>]+|[\w.+{},-]+@[\w-]+(?:\.[\w-]+)+"
_ADDRESS_LABEL = (
    r"(?:e-?mails?|correspond\w{2,8}(?: author)?s?|contact|url|web(?:site)?|home ?page|available at|doi"
    r"|courriel|correo(?: electrónico)?|kontakt)\s?[:：]?"
)
_ADDRESS_LINE = re.compile(rf"(?:[\W_]*(?:{_ADDRESS_LABEL}\s*)?(?:{_ADDRESS})[\W_]*)+$", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"\W{0,3}(?:(?:pages?|seite|página|pp?\.|s\.)\s?)?\d{1,4}(?:\s?(?:/|of|von|sur|de|di)\s?\d{1,4})?\W{0,3}$"
    r"|第\s?\d{1,4}\s?[页頁ページ]{1,3}$",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"\s*(\d{1,4})(?=[ \t]+\S|\s*$)")
_LEAST_NUMBERED = 5
_LEAST_REPEATED = 3
_LONGEST_HEAD = 100
_DIGITS = re.compile(r"\d+")


class _Line(NamedTuple):
    """A line without the blanks around it, its place in the text, and where the next one begins."""

    text: str
    start: int
    end: int


def find_boilerplate(text: str) -> list[LeftOut]:
    """Where a text is not content, in order and apart from one another.

    >>> text = "Kernels compare graphs.\\n\\nReferences\\n[1] A. Bee. Trees."
    >>> [piece.kind.value for piece in find_boilerplate(text)]
    ['references']
    """
    if "\n" not in text.strip():
        return []
    lines = _lines(text)
    found: list[LeftOut] = []
    for piece in _sections(text, lines):
        before = found[-1] if found else None
        if before and before.kind is piece.kind and not text[before.end : piece.start].strip():
            found[-1] = before._replace(end=piece.end)  # its heading is repeated on each page
        else:
            found.append(piece)
    stray = [LeftOut(start, end, Kind.LINE) for start, end in _stray_lines(lines) if not _is_in(found, start)]
    return sorted(found + stray)


def _is_in(pieces: Sequence[LeftOut], place: int) -> bool:
    number = bisect_right(pieces, place, key=attrgetter("start"))
    return number > 0 and place < pieces[number - 1].end


def find_bibliography(text: str) -> list[LeftOut]:
    """Where the references of a text in LaTeX are."""
    return [LeftOut(*match.span(), Kind.REFERENCES) for match in _BIBLIOGRAPHY.finditer(text)]


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        lines.append(_Line(line.strip(), start + indent, start + len(line)))
        start += len(line)
    return lines


def _sections(text: str, lines: Sequence[_Line]) -> Iterator[LeftOut]:
    """The sections under headings of references and acknowledgements."""
    done = 0
    first_letter = next((place for place, letter in enumerate(text) if letter.isalpha()), len(text))
    for number, line in enumerate(lines):
        runs_in = _THANKS_RUN_IN.match(line.text) is not None
        if number < done or not line.text or (len(line.text) > _LONGEST_HEADING and not runs_in):
            continue
        if line.start <= first_letter:
            continue  # the title of the text, or a piece of it on its own
        if _is_heading(lines, number, _IS_REFERENCES) or _is_heading(lines, number, _IS_OFTEN):
            last = _end_of_references(lines, number)
            section = text[line.end : lines[last - 1].end]
            often = not _plain(line.text, _IS_REFERENCES)
            if section.strip() and (_CITED.search(section) or not (often or len(section) > _LONGEST_UNCITED)):
                yield LeftOut(line.start, lines[last - 1].end, Kind.REFERENCES)
                done = last
        elif runs_in or _is_heading(lines, number, _IS_THANKS):
            done = _end_of_paragraph(lines, number)
            yield LeftOut(line.start, lines[done - 1].end, Kind.ACKNOWLEDGEMENTS)


def _plain(line: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    spaced = line if re.fullmatch(r"(?:\w )+\w", line) is None else line.replace(" ", "")
    return pattern.match(spaced)


def _is_heading(lines: Sequence[_Line], number: int, pattern: re.Pattern[str]) -> bool:
    """Whether the line is such a heading, and not the end or the beginning of a line of prose."""
    match = _plain(lines[number].text, pattern)
    if match is None:
        return False
    apart = number > 0 and not lines[number - 1].text
    name = match["name"]
    if match["mark"] or name.isupper() or (apart and not name.islower()):
        return True
    if name.islower():
        # In a text without capitals; the lines near it tell.
        near = lines[max(number - _NEAR, 0) : number + _NEAR]
        return apart and not any(line.text[:1].isupper() for line in near)
    following = lines[number + 1].text if number + 1 < len(lines) else ""
    return _SENTENCE_END.search(lines[number - 1].text) is not None and not following[:1].islower()


def _end_of_references(lines: Sequence[_Line], number: int) -> int:
    for place in range(number + 1, len(lines)):
        line = lines[place].text
        if _NEXT_SECTION.match(line) or any(_is_heading(lines, place, one) for one in _HEADINGS):
            return place
    return len(lines)


def _end_of_paragraph(lines: Sequence[_Line], number: int) -> int:
    """The line after the paragraph that follows a heading, or that begins with one."""
    place = number + 1
    if not _THANKS_RUN_IN.match(lines[number].text):
        while place < len(lines) and not lines[place].text:
            place += 1
    while place < len(lines) and lines[place].text:
        line = lines[place].text
        if _NEXT_SECTION.match(line) or any(_plain(line, one) for one in (_IS_REFERENCES, _IS_OFTEN)):
            break
        place += 1
    return place


def _stray_lines(lines: Sequence[_Line]) -> Iterator[Span]:
    """Running heads after the first, numbers of pages and lines, and lines of nothing but addresses."""
    heads = Counter(_DIGITS.sub("", line.text) for line in lines if len(line.text) <= _LONGEST_HEAD)
    numbers = _line_numbers(lines)
    met: set[str] = set()
    for number, line in enumerate(lines):
        if not line.text:
            continue
        head = _DIGITS.sub("", line.text)
        repeats = heads[head] >= _LEAST_REPEATED and " " in head.strip() and any(map(str.isalpha, head))
        if _PAGE_NUMBER.match(line.text) or _ADDRESS_LINE.match(line.text) or (repeats and head in met):
            yield line.start, line.end
        elif number in numbers:
            yield line.start, line.start + numbers[number]
        met.add(head)


def _line_numbers(lines: Sequence[_Line]) -> dict[int, int]:
    """The lines of a numbered manuscript, each with the length of its number."""
    found: dict[int, int] = {}
    run: dict[int, int] = {}
    last = 0
    for place, line in enumerate(lines):
        if not line.text:
            continue
        match = _LINE_NUMBER.match(line.text)
        value = int(match[1]) if match else -1
        if match and run and value == last + 1:
            run[place] = match.end()
        else:
            run = {place: match.end()} if match else {}
        last = value
        if len(run) >= _LEAST_NUMBERED:
            found |= run
    return found


def blank_out(text: str, pieces: Sequence[LeftOut]) -> str:
    """The text with blanks for these pieces; where one is its end, the text ends before it.

    A section leaves a blank line, so that no phrase runs across it.
    """
    kept: list[str] = []
    done = 0
    for piece in pieces:
        length = piece.end - piece.start
        kept.append(text[done : piece.start])
        kept.append("\n\n".ljust(length)[:length] if piece.kind is not Kind.LINE else " " * length)
        done = piece.end
    kept.append(text[done:])
    whole = "".join(kept)
    return whole.rstrip() if pieces and not text[pieces[-1].end :].strip() else whole


def describe_left_out(pieces: Sequence[LeftOut]) -> tuple[str, ...]:
    """A sentence on each section that is left out, and one on all single lines.

    >>> describe_left_out([LeftOut(1234, 2000, Kind.REFERENCES)])
    ('The references (from character 1,234) were left out.',)
    """
    sections = [
        f"The {piece.kind} (from character {piece.start:,}) were left out."
        for piece in pieces
        if piece.kind is not Kind.LINE
    ]
    lines = sum(piece.kind is Kind.LINE for piece in pieces)
    if lines == 1:
        sections.append("In 1 line a running head, a number or an address was left out.")
    elif lines:
        sections.append(f"In {lines:,} lines running heads, numbers or addresses were left out.")
    return tuple(sections)
