"""Bring the catalogues of the public page up to the sentences that the code marks.

`python -m kpdemo.locale.update`: new sentences come into each .po file without a translation, changed ones
go. The .mo files beside them are what the program reads; they are kept in the repository, so that a clone
runs without a build step.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from kpdemo.languages import NAMES
from kpdemo.predictors import available_models
from kpdemo.translation import ENGLISH, LANGUAGES

LOCALE = Path(__file__).parent
ROOT = LOCALE.parent.parent
_NEEDLESS = re.compile(
    rb'"(Project-Id-Version|Report-Msgid|POT-Creation|PO-Revision|Last-Tr|Language-Team|Generated)[^"]*"\n'
)
_KEYWORDS = {"_": None, "ngettext": (1, 2)}

Message = str | tuple[str, ...]


def _nothing() -> Iterator[tuple[Message, str]]:
    yield from ()


@dataclass(frozen=True)
class Domain:
    """A part of the product with catalogues of its own, and the files whose sentences it shows."""

    name: str
    folder: Path
    says: str
    """What it is, for the head of its catalogues."""
    python: Sequence[str]
    scripts: Sequence[str]
    templates: Sequence[str] = ()
    more: Callable[[], Iterator[tuple[Message, str]]] = _nothing
    """Messages that nothing marks, with where they stand."""
    beside: Domain | None = None
    """Whose messages are looked for first: they are not needed once more."""

    def marked_messages(self) -> Iterator[tuple[Message, str]]:
        """Every message, with where it stands."""
        for name in self.python:
            for message in _in_python((ROOT / name).read_text(encoding="utf-8")):
                yield message, name
        for name in self.scripts:
            content = BytesIO((ROOT / name).read_bytes())
            options = {"parse_template_string": True}
            for _line, message, *_rest in extract("javascript", content, _KEYWORDS, options=options):
                yield message, name
        for name in self.templates:
            content = BytesIO((ROOT / name).read_bytes())
            for _line, message, *_rest in extract("jinja2.ext:babel_extract", content, _KEYWORDS):
                yield message, name
        yield from self.more()

    def template(self) -> Catalog:
        """All messages without a translation."""
        catalog = Catalog(project="kpdemo", charset="utf-8")
        known = set() if self.beside is None else {one.id for one in self.beside.template()}
        for message, where in self.marked_messages():
            if message not in known:
                catalog.add(message, locations=[(where, 0)])
        return catalog

    def path_of(self, code: str, suffix: str) -> Path:
        return self.folder / code / "LC_MESSAGES" / f"{self.name}.{suffix}"

    def read_catalogue(self, code: str) -> Catalog:
        with self.path_of(code, "po").open("rb") as file:
            return read_po(file, locale=code)

    def update(self) -> None:
        """Write the catalogues anew."""
        marked = self.template()
        for code in LANGUAGES:
            if code == ENGLISH:
                continue
            path = self.path_of(code, "po")
            path.parent.mkdir(parents=True, exist_ok=True)
            comment = f"# {self.says}, in {LANGUAGES[code]}."
            new = Catalog(locale=code, header_comment=comment, fuzzy=False)
            catalog = self.read_catalogue(code) if path.exists() else new
            catalog.update(marked, no_fuzzy_matching=True)
            path.write_bytes(to_po(catalog))
            self.path_of(code, "mo").write_bytes(to_mo(self.read_catalogue(code)))


def _in_python(source: str) -> Iterator[Message]:
    """Babel's reader does not look into the braces of f-strings."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if node.func.id in ("_", "mark", "mark_message") and texts:
            yield texts[0]
        elif node.func.id == "ngettext" and len(texts) == 2:
            yield texts[0], texts[1]


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


def _unmarked() -> Iterator[tuple[Message, str]]:
    for name in NAMES.values():
        yield name, "kpdemo/languages.py"
    for line in available_models().values():
        yield line, "kpdemo/predictors.py"
    for example in json.loads((LOCALE.parent / "assets" / "examples.json").read_text(encoding="utf-8")):
        yield example["field"], "kpdemo/assets/examples.json"


PAGE = Domain(
    "page",
    LOCALE,
    "The public page",
    (
        "app.py",
        *(f"kpdemo/ui/{name}.py" for name in ("html", "page", "widgets", "models", "requests", "results")),
        *(f"kpdemo/ui/{name}.py" for name in ("predict", "compare", "send", "files", "space", "evaluate")),
        *("kpdemo/ui/charts.py", "kpdemo/ui/uploads.py", "kpdemo/passages.py", "kpdemo/text.py"),
    ),
    tuple(f"kpdemo/assets/scripts/{name}.js" for name in ("page", "reader", "files", "answer", "charts")),
    more=_unmarked,
)

if __name__ == "__main__":
    PAGE.update()
