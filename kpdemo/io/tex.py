"""The text of LaTeX documents."""

from __future__ import annotations

import re
from typing import Any

from kpdemo.errors import InputError
from kpdemo.types import Document

_COMMENT = re.compile(r"(?<!\\)%.*")
_CITATION = re.compile(
    r"[ ~]*\\(?:[a-zA-Z]*cite[a-zA-Z]*|(?:auto|[cC]|eq|name|page)?ref|label)"
    r"\*?(?:\s*\[[^][]*\]){0,2}\s*\{[^{}]*\}"
)
_INCLUDED = re.compile(r"\\(?:input|include|subfile)\s*\{\s*([^{}]*?)\s*\}")
_UNSEEN = ("thebibliography", "tikzpicture", "lstlisting", "verbatim", "filecontents", "filecontents*")
_HEADINGS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_SILENT = (
    *("maketitle", "tableofcontents", "bibliography", "bibliographystyle", "includegraphics", "thanks"),
    *("vspace", "hspace"),
)
_LACKING = (
    "part",
    "paragraph",
    "subparagraph",
    "thanks",
    "bibliography",
    "bibliographystyle",
    "vspace",
    "hspace",
)
"""Those whose arguments the library does not know."""
_GAP = re.compile(r"[ \t]*\n[ \t]*(?:\n\s*)+")


def tex_document(source: str, name: str, id: str) -> Document:
    r"""The document of a LaTeX file: what is between \begin{document} and \end{document}, and its \title.

    Citations, references, bibliography and listings are left out. What \input and \include name is another
    file, which is not opened: a warning of the document names it.

    Raises:
        InputError: it cannot be read as LaTeX.
    """
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError, get_default_latex_context_db
    from pylatexenc.macrospec import std_macro

    source = _COMMENT.sub("", source)
    included = list(dict.fromkeys(_INCLUDED.findall(source)))
    source = _CITATION.sub("", _INCLUDED.sub("", source))
    known = get_default_latex_context_db()
    known.add_context_category("documents", macros=[std_macro(name, "*[{") for name in _LACKING])
    converter = LatexNodes2Text(latex_context=_context(), math_mode="text")
    try:
        nodes = LatexWalker(source, latex_context=known, tolerant_parsing=True).get_latex_nodes()[0]
        whole = _named(nodes, "environmentname", "document")
        inner = whole[0].nodelist if whole else nodes
        titles = _named([*nodes, *inner], "macroname", "title")
        title = converter.nodelist_to_text(titles[0].nodeargd.argnlist[-1:]) if titles else ""
        text = converter.nodelist_to_text(inner)
    except (LatexWalkerError, LookupError, RecursionError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: not LaTeX that can be read ({reason[:100]}); give a PDF of it.") from None
    warnings = (
        (f"{name}: {', '.join(included)} was not read: give it as a file of its own.",) if included else ()
    )
    return Document(_GAP.sub("\n\n", text).strip(), title=" ".join(title.split()), id=id, warnings=warnings)


def _named(nodes: Any, kind: str, name: str) -> list[Any]:
    return [node for node in nodes if getattr(node, kind, None) == name]


def _context() -> Any:
    """How the library writes macros, but headings as they are, on lines of their own."""
    from pylatexenc.latex2text import EnvironmentTextSpec, MacroTextSpec, get_default_latex_context_db

    context = get_default_latex_context_db()
    context.add_context_category(
        "documents",
        prepend=True,
        macros=[
            *(MacroTextSpec(name, simplify_repl="\n\n%(3)s\n\n") for name in _HEADINGS),
            *(MacroTextSpec(name, simplify_repl="") for name in _SILENT),
            MacroTextSpec("footnote", simplify_repl=" (%(2)s)"),
        ],
        environments=[EnvironmentTextSpec(name, discard=True) for name in _UNSEEN],
    )
    return context
