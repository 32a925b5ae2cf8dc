"""Hook of MkDocs: the pages that are made from the code, and links to files outside the documentation."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from mkdocs.structure.files import File, Files

import annotation.cli
import db.cli
import kpdemo.cli
from kpdemo.ui.start import VARIABLES, read_settings

ROOT = Path(__file__).parent.parent
PROGRAMS = {
    "app.py": lambda words: read_settings(words, {}),
    "-m kpdemo": kpdemo.cli.main,
    "-m annotation": annotation.cli.main,
    "-m db": db.cli.main,
}
COMMAND = re.compile(r"^  ([a-z]+)  +\S", re.M)
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./((?!\.\.)[^)#]+)\)")


def on_files(files: Files, config: Any) -> Files:
    pages = {
        "commands.md": commands(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "]("),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the files outside the documentation, to which the site has no link."""
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)


def commands() -> str:
    """What `--help` says of every program and command, as the page of a reference."""
    parts = ["# Command lines"]

    def add(program: str, words: Sequence[str]) -> None:
        text = help_of(program, words)
        parts.append(
            f"{'#' * (2 + len(words))} {' '.join(words) or f'python {program}'}\n\n```text\n{text}\n```"
        )
        for name in COMMAND.findall(text.partition("Commands:")[2]):
            add(program, [*words, name])

    for program in PROGRAMS:
        add(program, [])
    return "\n\n".join(parts) + "\n"


def settings_table() -> str:
    """What `python app.py` can be told, by options and by variables, as it stands in docs/operations.md."""
    rows = ["| Option | Variable | What it sets |", "|---|---|---|"]
    for entry in re.split(r"\n  (?=--|-h)", help_of("app.py", [], width=1000))[2:]:
        option, text = re.split(r"\s{2,}", entry.partition("\n\n")[0], maxsplit=1)
        found = re.search(r"default: the variable (KPDEMO_[A-Z_]+)", text)
        variable = f"`{found[1]}`" if found else ""
        rows.append(f"| `{option.partition(' ')[0]}` | {variable} | {text} |")
    rows += [f"| | `{name}` | {text} |" for name, text in VARIABLES.items()]
    return "\n".join(rows) + "\n"


def help_of(program: str, words: Sequence[str], *, width: int = 90) -> str:
    printed = io.StringIO()
    wide = {"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, wide),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        PROGRAMS[program]([*words, "--help"])
    return printed.getvalue().strip()
