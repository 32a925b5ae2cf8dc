"""The command that lists what raters said beside their grades: python -m annotation remarks PROJECT."""

from __future__ import annotations

from typing import Any

import typer

from annotation.characters import beginning
from annotation.commands.options import DatabaseOption, JsonOption, ProjectArgument, open_project
from annotation.services.remarks import Remark, RemarkKind, RemarkService
from annotation.terminal import show_json, show_line, show_table
from db import DEFAULT_URL

_SHOWN = 48
"""Characters of a text in the table."""
_HEADERS = ("Kind", "Type", "Id", "Rater", "Reason", "Text", "When (UTC)")
_EXAMPLES = """
Examples:

\b
  python -m annotation remarks news
  python -m annotation remarks news --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("remarks", epilog=_EXAMPLES)(remarks)


def remarks(
    project: ProjectArgument,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the comments and skips of the raters, problems first, then the newest."""
    database, found = open_project(database_url, project)
    page = RemarkService(database).remarks(found.id, limit=None)
    if as_json:
        said = [_as_json(remark) for remark in page.items]
        show_json({"project": found.name, "counts": page.counts, "remarks": said})
        return
    if page.items:
        show_table(_HEADERS, [_cells(remark) for remark in page.items])
    problems, comments, skips = (page.counts[kind] for kind in RemarkKind)
    show_line(f"{problems:,} problems, {comments:,} other comments, {skips:,} skipped.")


def _as_json(remark: Remark) -> dict[str, Any]:
    return {
        "kind": remark.kind,
        "id": remark.external_id,
        "type": remark.type,
        "left": remark.left,
        "right": remark.right,
        "rater": remark.rater,
        "reason": remark.reason,
        "text": remark.text,
        "at": remark.at.isoformat(),
        "check": remark.is_check,
        "withdrawn": remark.is_withdrawn,
    }


def _cells(remark: Remark) -> tuple[object, ...]:
    marks = [" (check)"] * remark.is_check + [" (withdrawn)"] * remark.is_withdrawn
    return (
        remark.kind,
        "".join([remark.type, *marks]),
        remark.external_id,
        remark.rater,
        remark.reason or "",
        beginning(remark.text, _SHOWN),
        f"{remark.at:%Y-%m-%d %H:%M}",
    )
