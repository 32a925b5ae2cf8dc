"""What `project show` says of pairs that will never have all their grades."""

from __future__ import annotations

from typing import Any

from annotation.services.rating.stuck import StuckPair, StuckPairs
from annotation.terminal import show_line, show_table


def stuck_json(stuck: StuckPairs) -> dict[str, Any]:
    """What `project show --json` has of them."""
    items = [_as_json(pair) for pair in stuck.items]
    limit = {"by_limit": stuck.by_limit, "short_by": stuck.short_by} if stuck.most_per_rater else {}
    return {"pairs": stuck.total, **limit, "open_links": stuck.open_links, "items": items}


def _as_json(pair: StuckPair) -> dict[str, Any]:
    return {
        "id": pair.external_id,
        "type": pair.type,
        "grades": pair.grades,
        "missing": pair.missing,
        "raters_left": pair.raters_left,
        "skips": pair.skips,
        "broken": pair.broken,
    }


def show_stuck(stuck: StuckPairs) -> None:
    """How many there are or will be, what can be done, and the first of them; else nothing."""
    if stuck.total:
        _show_pairs(stuck)
    if stuck.short_text:
        links = f" {stuck.links_text}" if stuck.open_links and not stuck.total else ""
        either = "" if stuck.paused else "or "
        show_line(
            f"\n{stuck.short_text}: raise it with `project change`, {either}invite another rater"
            f"{stuck.paused_text}.{links}"
        )


def _show_pairs(stuck: StuckPairs) -> None:
    links = f" {stuck.links_text}" if stuck.open_links else ""
    if not stuck.raters:
        said = f"Pairs that lack grades: {stuck.total:,}. No rater can be given them: invite raters."
        show_line(f"\n{said}{links}")
        return
    limit = f"{stuck.limit_text}: raise it with `project change`. Or invite" if stuck.by_limit else "Invite"
    broken = f" {stuck.broken_text} with `pairs withdraw`." if stuck.broken else ""
    lower = ", or lower the number of raters per pair" if stuck.fewer_would_do else ""
    show_line(
        f"\nPairs that lack grades, with too few raters left for them: {stuck.total:,}. "
        f"{limit} another rater{stuck.paused_text}{lower}.{broken}{links}"
    )
    figures = ("Grades", "Missing", "Raters left", "Skips", "As broken")
    rows = [
        (pair.external_id, pair.type, pair.grades, pair.missing, pair.raters_left, pair.skips, pair.broken)
        for pair in stuck.items
    ]
    show_table(("Pair", "Type", *figures), rows, right=figures)
    if stuck.total > len(rows):
        show_line(f"The first {len(rows)} are shown; --json lists all.")
