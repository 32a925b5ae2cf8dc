"""Bring the catalogues up to the sentences that the code marks: `python -m annotation.locale.update`.

New sentences come into each .po file without a translation, changed ones go. The .mo files beside them are
what the program reads; they are kept in the repository, so that a clone runs without a build step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from annotation.comparison import COMPARISON_TYPES
from annotation.scale import named_points
from kpdemo.translation import ENGLISH, LANGUAGES

LOCALE = Path(__file__).parent
ROOT = LOCALE.parent.parent
NAME = "rater"
PYTHON = (
    *("annotation/ui/rate.py", "annotation/ui/wording.py"),
    *("annotation/services/ratings.py", "annotation/services/rater_queue.py"),
    *("annotation/services/assignment.py", "annotation/services/repeats.py"),
)
SCRIPTS = (
    *(f"annotation/assets/scripts/{name}.js" for name in ("parts", "consent")),
    *(
        f"annotation/assets/scripts/rate/{name}.js"
        for name in ("page", "session", "view", "training", "sender", "tabs", "keys", "form", "store")
    ),
)
"""The files whose sentences raters read; those of other pages are in English."""
_NEEDLESS = re.compile(
    rb'"(Project-Id-Version|Report-Msgid|POT-Creation|PO-Revision|Last-Tr|Language-Team|Generated)[^"]*"\n'
)
_KEYWORDS = {"_": None, "ngettext": (1, 2)}

Message = str | tuple[str, ...]


def marked_messages() -> Iterator[tuple[Message, str]]:
    """Every message, with where it stands."""
    for name in PYTHON:
        for message in _in_python((ROOT / name).read_text(encoding="utf-8")):
            yield message, name
    for name in SCRIPTS:
        content = BytesIO((ROOT / name).read_bytes())
        for _, message, *_rest in extract(
            "javascript", content, _KEYWORDS, options={"parse_template_string": True}
        ):
            yield message, name
    for point in named_points():
        for text in (point.name, point.summary, point.description):
            yield text, "annotation/scale.py"
    for kind in COMPARISON_TYPES.values():
        for text in (kind.label, *kind.headings, kind.question):
            yield text, "annotation/comparison.py"


def _in_python(source: str) -> Iterator[Message]:
    """Babel's reader does not look into the braces of f-strings."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if node.func.id in ("_", "mark") and texts:
            yield texts[0]
        elif node.func.id == "ngettext" and len(texts) == 2:
            yield texts[0], texts[1]


def template() -> Catalog:
    """All messages without a translation."""
    catalog = Catalog(project="kpdemo", charset="utf-8")
    for message, where in marked_messages():
        catalog.add(message, locations=[(where, 0)])
    return catalog


def _new_catalogue(code: str) -> Catalog:
    return Catalog(locale=code, header_comment=f"# What raters meet, in {LANGUAGES[code]}.", fuzzy=False)


def path_of(code: str, suffix: str) -> Path:
    return LOCALE / code / "LC_MESSAGES" / f"{NAME}.{suffix}"


def read_catalogue(code: str) -> Catalog:
    with path_of(code, "po").open("rb") as file:
        return read_po(file, locale=code)


def to_po(catalog: Catalog) -> bytes:
    """The catalogue as it is kept: without line numbers and days, which change with everything."""
    file = BytesIO()
    write_po(file, catalog, width=100, include_lineno=False, ignore_obsolete=True)
    return _NEEDLESS.sub(b"", file.getvalue())


def to_mo(catalog: Catalog) -> bytes:
    file, never = BytesIO(), datetime(2026, 1, 1, tzinfo=UTC)
    catalog.creation_date = catalog.revision_date = never  # else every call would give other bytes
    write_mo(file, catalog)
    return file.getvalue()


def main() -> None:
    marked = template()
    for code in LANGUAGES:
        if code == ENGLISH:
            continue
        path = path_of(code, "po")
        path.parent.mkdir(parents=True, exist_ok=True)
        catalog = read_catalogue(code) if path.exists() else _new_catalogue(code)
        catalog.update(marked, no_fuzzy_matching=True)
        path.write_bytes(to_po(catalog))
        path_of(code, "mo").write_bytes(to_mo(read_catalogue(code)))


if __name__ == "__main__":
    main()
