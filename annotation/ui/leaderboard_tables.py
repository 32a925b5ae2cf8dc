"""What the leaderboard shows of a board: its tables, its chart and its sentences. No Gradio."""

from __future__ import annotations

from datetime import datetime

from annotation.scoring import Estimate
from annotation.services.system_rows import Entry, GoldVersion
from annotation.services.systems import UPLOADED, Board
from annotation.systems.report import Contrast, Correlations, Difference, ScoreReport
from annotation.systems.wide_intervals import wide_intervals_text
from annotation.ui.score_charts import genre_chart
from annotation.ui.tables import Cell, Column, Table, alpha_of, reasons_html, type_label
from annotation.ui.wording import counted, grouped, regrouped, time_html, time_in
from kpdemo.ui.charts import Chart
from kpdemo.ui.widgets import escape, note_html

SHOWN_DIGITS = 12
"""Of the SHA-256 of a gold set."""
ORIGINS = {
    UPLOADED: "Scores from files",
    "lcs": "Longest common substring (lcs)",
    "gst": "Greedy String Tiling (gst)",
    "embedding": "Embedding of the default model (embedding)",
}
"""Where a system's scores come from, as the page calls it."""


def pearson_table(board: Board) -> Table:
    """The official figures: Pearson by type, its sum, the rank by the sum; and who added the system."""
    return _figures_table(board, "pearson", "Pearson (official), ranked by its sum", is_pearson=True)


def spearman_table(board: Board) -> Table:
    """The second opinion."""
    return _figures_table(board, "spearman", "Spearman, ranked by its sum", is_pearson=False)


def _figures_table(board: Board, name: str, caption: str, *, is_pearson: bool) -> Table:
    report, ranks = board.report, board.report.ranks()[f"sum_{name}"]

    def estimate_of(part: Correlations) -> Estimate:
        return part.pearson if is_pearson else part.spearman

    rows: list[tuple[Cell, ...]] = []
    for place in report.best_first(f"sum_{name}"):
        system, entry = report.systems[place], board.entries[place]
        total = system.sum_pearson if is_pearson else system.sum_spearman
        figures = (alpha_of(estimate_of(system.types[type])) for type in report.types)
        about = (ORIGINS[entry.origin], *_who(entry)) if is_pearson else ()
        rows.append((system.name, ranks[place], *figures, alpha_of(total), *about))
    columns = (
        Column("System", text=True),
        Column("Rank"),
        *(Column(type_label(type), 3) for type in report.types),
        Column("Sum", 3),
    )
    about_columns = tuple(Column(name, text=True) for name in ("Scores", "Added", "By"))
    return Table(name, caption, columns + about_columns if is_pearson else columns, tuple(rows))


def _who(entry: Entry) -> tuple[datetime, str]:
    return entry.at, entry.by or "command line"


def ranks_table(board: Board) -> Table | None:
    """The rank of each system on each type and by both sums; None of a single system."""
    report, ranks = board.report, board.report.ranks()
    if len(report.systems) < 2:
        return None
    by = (*report.types, "sum_pearson", "sum_spearman")
    names = (*(type_label(type) for type in report.types), "Sum of Pearson", "Sum of Spearman")
    rows: list[tuple[Cell, ...]] = [
        (report.systems[place].name, *(ranks[each][place] for each in by))
        for place in board.report.best_first()
    ]
    columns = (Column("System", text=True), *(Column(name) for name in names))
    return Table("ranks", "Ranks: Pearson by type, and both sums", columns, tuple(rows))


def genres_table(board: Board) -> Table | None:
    """Pearson of each system on each genre, all types together; None without genres."""
    genres = genres_of(board)
    if not genres:
        return None
    systems = board.report.systems
    rows: list[tuple[Cell, ...]] = [
        (systems[place].name, *(alpha_of(systems[place].genres[genre].all.pearson) for genre in genres))
        for place in board.report.best_first()
    ]
    columns = (Column("System", text=True), *(Column(genre, 3) for genre in genres))
    return Table("genres", "Pearson by genre, all types together", columns, tuple(rows))


def genres_of(board: Board) -> list[str]:
    return list(board.report.systems[0].genres)


def board_chart(board: Board) -> Chart | None:
    """The systems from the best on, each with its genres; None without genres."""
    systems = [board.report.systems[place] for place in board.report.best_first()]
    return genre_chart(
        [system.name for system in systems],
        [
            (genre, [system.genres[genre].all.pearson.value for system in systems])
            for genre in genres_of(board)
        ],
    )


def difference_of(board: Board, first: str, second: str) -> Difference | None:
    """How two systems differ, the first less the second; None where they are not two of the board."""
    for one in board.report.differences:
        if (one.first, one.second) == (first, second):
            return one
        if (one.first, one.second) == (second, first):
            types = {type: _turned(part) for type, part in one.types.items()}
            return Difference(first, second, types, _turned(one.sum_pearson))
    return None


def _turned(part: Contrast) -> Contrast:
    """The same contrast, the second system less the first."""
    old, test = part.difference, part.williams
    low, high = (None, None) if old.low is None or old.high is None else (-old.high, -old.low)
    value = None if old.value is None else -old.value
    turned = Estimate(value, low, high, old.reason, old.interval_reason)
    return Contrast(turned, part.p, None if test is None else type(test)(-test.t, test.degrees, test.p))


def difference_table(difference: Difference) -> Table:
    """By type and in sum: the difference, and the two probabilities that there is none."""
    parts = [(type_label(type), part) for type, part in difference.types.items()]
    if len(parts) > 1:
        parts.append(("sum", difference.sum_pearson))
    rows = tuple(
        (
            name,
            alpha_of(part.difference),
            part.p,
            None if part.williams is None else part.williams.t,
            None if part.williams is None else part.williams.p,
        )
        for name, part in parts
    )
    columns = (
        Column("Type", text=True),
        Column("Difference of Pearson", 3, signed=True),
        Column("p (bootstrap)", 3, probability=True),
        Column("Williams' t", 2),
        Column("p (Williams)", 3, probability=True),
    )
    caption = f"{difference.first} minus {difference.second}"
    return Table("difference", caption, columns, rows)


def gold_label(gold: GoldVersion, zone: str | None = "") -> str:
    """How the list of gold sets calls one; when it is from, by the clocks of the time zone."""
    name = gold.name or "The project"
    return f"{name} · {counted(gold.pairs, 'pair')} · {time_in(gold.at, zone)} · {gold.sha256[:8]}"


def gold_named(gold: GoldVersion) -> str:
    """What a sentence calls it."""
    name = "the project's gold" if gold.is_own else f"gold from {gold.name}"
    return f"{name} ({gold.sha256[:SHOWN_DIGITS]})"


def gold_html(gold: GoldVersion, current: str, pairs_now: int) -> str:
    """Which gold these figures are of, and whether the project's has changed since.

    Args:
        current: SHA-256 of the project's gold now.
        pairs_now: how many pairs that has.
    """
    digest = f'<code title="SHA-256 {gold.sha256}">{gold.sha256[:SHOWN_DIGITS]}</code>'
    pairs = escape(counted(gold.pairs, "pair"))
    if gold.sha256 == current:
        return f"<p>On the project's gold as it is now: {pairs}, version {digest}.</p>"
    if not gold.is_own:
        return f"<p>On gold from {escape(gold.name)}, of {time_html(gold.at)}: {pairs}, version {digest}.</p>"
    now = counted(pairs_now, "pair has", "pairs have")
    return (
        f"<p>On the project's gold of {time_html(gold.at)}: {pairs}, version {digest}. The gold has changed "
        f"since: {escape(now)} a grade now, {grouped(gold.pairs)} then. These figures are of the older gold; "
        "to measure a system on the new one, add it again.</p>"
    )


def wide_intervals_html(report: ScoreReport) -> str:
    """That ranks are uncertain, where an interval is undefined or over half of what a correlation can be."""
    text = wide_intervals_text(report, type_label)
    return note_html(regrouped(text)) if text else ""


def method_html(board: Board) -> str:
    """How the figures were made, and what to know of some of them."""
    report = board.report
    remarks = dict.fromkeys(system.remark for system in report.systems if system.remark)
    text = (
        f"{counted(report.pairs, 'pair')}. 95 % intervals by the percentile bootstrap over pairs, "
        f"{grouped(report.resamples)} resamples, seed {report.seed}; the resamples are the same for all "
        "systems. A type that a system leaves out adds nothing to its sum. p is two-sided and not corrected "
        "for the number of comparisons."
    )
    return f'<p class="small">{escape(" ".join((text, *remarks)))}</p>{_undefined_html(report)}'


def _undefined_html(report: ScoreReport) -> str:
    """Why some figures of the tables are undefined: for each system and reason, where."""
    told: list[tuple[str, str]] = []
    for system in report.systems:
        places: dict[str, list[str]] = {}
        for type, part in system.types.items():
            places.setdefault(part.pearson.reason, []).append(type_label(type))
        for genre, whole in system.genres.items():
            places.setdefault(whole.all.pearson.reason, []).append(genre)
        told += [(f"{system.name}: {', '.join(where)}", reason) for reason, where in places.items() if reason]
    return reasons_html("leaderboard-undefined", told)
