"""Records of bibliographies with title, abstract and keyphrases: BibTeX, RIS, XML of PubMed and in JATS."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

from kpdemo.errors import InputError
from kpdemo.extras import needs_extra
from kpdemo.io.packages import children, local_name, parse_xml, visible_text
from kpdemo.io.tables import Row, RowError, line_name

_BLOCKS = (
    "abstract boxed-text caption def-item disp-formula disp-quote fig list list-item p sec statement "
    "table-wrap title tr"
)
_BREAKS = dict.fromkeys(_BLOCKS.split(), "\n\n") | {"td": "\t", "th": "\t", "break": "\n"}
_NOT_READ = "annotation annotation-xml fn-group graphic label object-id ref-list tex-math"
_UNSEEN = frozenset(_NOT_READ.split())
_OTHER_ABSTRACTS = ("graphical", "teaser", "key-points", "highlights", "toc", "executive-summary")


def bibtex_rows(text: str, name: str) -> Iterator[Row | RowError]:
    """The entries of a BibTeX file, accents and braces of LaTeX read, by the lines where they begin.

    Keywords are separated by ";" where one entry has any, and by "," otherwise.
    """
    with needs_extra("files", name):
        from bibtexparser.entrypoint import parse_string
        from bibtexparser.middlewares import LatexDecodingMiddleware
        from bibtexparser.model import DuplicateBlockKeyBlock, Entry, ParsingFailedBlock

    logger = logging.getLogger("bibtexparser")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what it logs is reported here
    try:
        library = parse_string(text, append_middleware=[LatexDecodingMiddleware()])
    except (ValueError, RecursionError, LookupError) as error:
        raise InputError(f"{name}: not BibTeX that can be read ({error}); save it again.") from None
    finally:
        logger.setLevel(level)
    keywords = [
        field.value for entry in library.entries for field in entry.fields if field.key.lower() == "keywords"
    ]
    mark = ";" if any(";" in str(value) for value in keywords) else ","
    for block in library.blocks:
        line = (block.start_line or 0) + 1
        if isinstance(block, Entry):
            fields = {field.key.lower(): " ".join(str(field.value).split()) for field in block.fields}
            phrases = [phrase.strip() for phrase in fields.get("keywords", "").split(mark)]
            yield _record(
                name,
                Row(
                    line,
                    {
                        "id": block.key,
                        "title": fields.get("title", ""),
                        "abstract": fields.get("abstract", ""),
                        "keyphrases": [phrase for phrase in phrases if phrase],
                    },
                ),
            )
        elif isinstance(block, DuplicateBlockKeyBlock):
            problem = f'the key "{block.key}" is that of an earlier entry; give each its own.'
            yield RowError(f"{line_name(name, line)}: {problem}", line)
        elif isinstance(block, ParsingFailedBlock):
            problem = "an entry that is no BibTeX, such as one whose braces are not closed; fix or delete it."
            yield RowError(f"{line_name(name, line)}: {problem}", line)


def ris_rows(text: str, name: str) -> Iterator[Row | RowError]:
    """The records of an RIS file, counted."""
    with needs_extra("files", name):
        import rispy

    try:
        records = rispy.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{name}: not RIS that can be read ({error}); export it again.") from None
    if not records:
        raise InputError(f'{name}: no RIS records, which begin with "TY  - "; export the file again.')
    for number, record in enumerate(records, 1):
        keywords = record.get("keywords", [])
        parts = [part.strip() for keyword in keywords for part in keyword.split(";")]
        yield _record(
            name,
            Row(
                number,
                {
                    "id": _first(record, "id", "accession_number", "doi"),
                    "title": _first(record, "title", "primary_title"),
                    "abstract": _first(record, "abstract", "notes_abstract"),
                    "keyphrases": [part for part in parts if part],
                },
                "record",
            ),
        )


def _first(record: dict[str, Any], *names: str) -> str:
    return next((" ".join(str(record[name]).split()) for name in names if record.get(name)), "")


def xml_rows(content: bytes, name: str) -> Iterator[Row | RowError]:
    """The articles of an XML file of PubMed or in JATS, counted.

    Raises:
        InputError: it is another XML file, or none.
    """
    root = parse_xml(content, name)
    readers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "PubmedArticle": _pubmed_fields,
        "PubmedBookArticle": _pubmed_fields,
        "article": _jats_fields,
    }
    kind = local_name(root)
    found = [root] if kind in readers else [one for one in root if local_name(one) in readers]
    if not found:
        raise InputError(
            f"{name}: XML of another kind, which begins with <{kind}>; give articles of PubMed or in JATS."
        )
    for number, article in enumerate(found, 1):
        yield _record(name, Row(number, readers[local_name(article)](article), "record"))


def _pubmed_fields(article: Any) -> dict[str, Any]:
    abstracts = children(article, "Abstract")[:1]  # those in other languages are elsewhere
    parts = [part for abstract in abstracts for part in children(abstract, "AbstractText")]
    labelled = [": ".join(filter(None, (part.get("Label", ""), _line(part)))) for part in parts]
    titles = children(article, "ArticleTitle") or children(article, "BookTitle")
    return {
        "id": _line_of(children(article, "PMID")),
        "title": _line_of(titles),
        "abstract": "\n\n".join(labelled),
        "keyphrases": [phrase for one in children(article, "Keyword") if (phrase := _line(one))],
    }


def _jats_fields(article: Any) -> dict[str, Any]:
    front = next(iter(children(article, "front")), article)
    meta = next(iter(children(front, "article-meta")), front)
    for citation in children(article, "xref"):
        if citation.get("ref-type") == "bibr":
            _empty(citation)
    abstracts = [
        one for one in children(meta, "abstract") if one.get("abstract-type") not in _OTHER_ABSTRACTS
    ]
    bodies = [one for one in article if local_name(one) == "body"]
    ids = {one.get("pub-id-type", ""): _line(one) for one in children(meta, "article-id")}
    groups = [
        one for one in children(meta, "kwd-group") if not one.get("kwd-group-type", "").startswith("abbrev")
    ]
    return {
        "id": next((ids[kind] for kind in ("doi", "pmid", "pmcid", "pmc", *ids) if ids.get(kind)), ""),
        "title": _line_of(children(meta, "article-title")),
        "abstract": "\n\n".join(filter(None, map(_text, [*abstracts[:1], *bodies[:1]]))),
        "keyphrases": [
            phrase for group in groups for one in children(group, "kwd") if (phrase := _line(one))
        ],
    }


def _text(element: Any) -> str:
    """What stands in it; no blank is left before a mark where a citation was."""
    return re.sub(r" +(?=[,.;:])", "", visible_text(element, breaks=_BREAKS, unseen=_UNSEEN))


def _line(element: Any) -> str:
    return " ".join(_text(element).split())


def _line_of(elements: list[Any]) -> str:
    return next(iter(map(_line, elements)), "")


def _empty(element: Any) -> None:
    """Take what is in an element, not what follows it."""
    tail = element.tail
    element.clear()
    element.tail = tail


def _record(name: str, row: Row) -> Row | RowError:
    """The row, unless there is nothing to read in it."""
    if row.fields["abstract"]:
        return row
    called = f' ("{row.fields["id"]}")' if row.fields["id"] else ""
    problem = (
        f"{name}, {row.place}{called}: no abstract, so there is nothing to read; add one or leave it out."
    )
    return RowError(problem, row.line)
