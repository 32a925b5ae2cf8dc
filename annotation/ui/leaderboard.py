"""The leaderboard of a project: systems on a gold set, and which is better than which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.events import Dependency

from annotation.errors import AccessError, AnnotationError, ScoreFileError, SignedOutError
from annotation.files.scores import (
    GoldPair,
    gold_digest,
    read_uploaded_gold,
    read_uploaded_scores,
    read_uploaded_ungraded,
)
from annotation.scale import Scale
from annotation.scoring import Estimate
from annotation.sense_pairs import Dictionary
from annotation.senses import WORD_TO_SENSE
from annotation.services.accounts import AccountService
from annotation.services.leaderboard import (
    UPLOADED,
    Board,
    Gold,
    GoldVersion,
    OwnGold,
    SystemService,
    board_as_latex,
    check_training,
)
from annotation.services.projects import ProjectService
from annotation.system_report import (
    Contrast,
    Correlations,
    Difference,
    ScoreReport,
    System,
    wide_intervals_text,
)
from annotation.systems import (
    BASELINES,
    EMBEDDING,
    BuiltInSystem,
    build_system,
    calibrate,
    check_apart,
    left_out_text,
    needs_senses,
    open_senses,
    scores_text,
    tell_remark,
)
from annotation.translation import _, mark, ngettext, tell
from annotation.types import Role
from annotation.ui.figures import (
    Cell,
    Column,
    Table,
    alpha_of,
    file_name,
    genre_chart,
    latex_button,
    reasons_html,
    savable_html,
    type_label,
)
from annotation.ui.pairs import box_after, refusal_html
from annotation.ui.widgets import (
    PAGE_ERRORS,
    Parts,
    admit_member,
    file_box,
    on_choice,
    require_leader,
    require_member,
)
from annotation.ui.wording import pairs_text, regroup_numbers, time_html, time_in
from annotation.web.downloads import board_address
from kpdemo.translation import ENGLISH, use_language
from kpdemo.ui.charts import Chart, chart_buttons, show_chart
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    keep_reason,
    note_html,
    section_heading,
    shown_to_user,
    unseen_box,
)

SHOWN_DIGITS = 12
"""Of the SHA-256 of a gold set."""
ORIGINS = {
    UPLOADED: mark("Scores from files"),
    "lcs": mark("Longest common substring (lcs)"),
    "gst": "Greedy String Tiling (gst)",  # a name
    "embedding": mark("Embedding of the default model (embedding)"),
}
"""Where a system's scores come from, as the page calls it."""


def pearson_table(board: Board) -> Table:
    """The official figures: Pearson by type, its sum, the rank by the sum; and who added the system."""
    return _figures_table(board, "pearson", _("Pearson (official), ranked by its sum"), is_pearson=True)


def spearman_table(board: Board) -> Table:
    """The second opinion."""
    return _figures_table(board, "spearman", _("Spearman, ranked by its sum"), is_pearson=False)


def _figures_table(board: Board, name: str, caption: str, *, is_pearson: bool) -> Table:
    report, ranks = board.report, board.report.ranks()[f"sum_{name}"]

    def estimate_of(part: Correlations) -> Estimate:
        return part.pearson if is_pearson else part.spearman

    rows: list[tuple[Cell, ...]] = []
    for place in report.best_first(f"sum_{name}"):
        system, entry = report.systems[place], board.entries[place]
        total = system.sum_pearson if is_pearson else system.sum_spearman
        figures = (alpha_of(estimate_of(system.types[type])) for type in report.types)
        about = (_(ORIGINS[entry.origin]), entry.at, entry.by or _("command line")) if is_pearson else ()
        rows.append((system.name, ranks[place], *figures, alpha_of(total), *about))
    columns = (
        Column(_("System"), text=True),
        Column(_("Rank")),
        *(Column(type_label(type), 3) for type in report.types),
        Column(_("Sum"), 3),
    )
    about_columns = tuple(Column(name, text=True) for name in (_("Scores"), _("Added"), _("By")))
    return Table(name, caption, columns + about_columns if is_pearson else columns, tuple(rows))


def ranks_table(board: Board) -> Table | None:
    """The rank of each system on each type and by both sums; None of a single system."""
    report, ranks = board.report, board.report.ranks()
    if len(report.systems) < 2:
        return None
    by = (*report.types, "sum_pearson", "sum_spearman")
    names = (*(type_label(type) for type in report.types), _("Sum of Pearson"), _("Sum of Spearman"))
    rows: list[tuple[Cell, ...]] = [
        (report.systems[place].name, *(ranks[each][place] for each in by))
        for place in board.report.best_first()
    ]
    columns = (Column(_("System"), text=True), *(Column(name) for name in names))
    return Table("ranks", _("Ranks: Pearson by type, and both sums"), columns, tuple(rows))


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
    columns = (Column(_("System"), text=True), *(Column(genre, 3) for genre in genres))
    return Table("genres", _("Pearson by genre, all types together"), columns, tuple(rows))


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
            types = {type: _reverse_contrast(part) for type, part in one.types.items()}
            return Difference(first, second, types, _reverse_contrast(one.sum_pearson))
    return None


def _reverse_contrast(part: Contrast) -> Contrast:
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
        parts.append((_("sum"), difference.sum_pearson))
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
        Column(_("Type"), text=True),
        Column(_("Difference of Pearson"), 3, signed=True),
        Column(_("p (bootstrap)"), 3, probability=True),
        Column(_("Williams' t"), 2),
        Column(_("p (Williams)"), 3, probability=True),
    )
    caption = _("{first} minus {second}", first=difference.first, second=difference.second)
    return Table("difference", caption, columns, rows)


def gold_label(gold: GoldVersion, zone: str | None = "") -> str:
    """How the list of gold sets calls one; when it is from, by the clocks of the time zone."""
    name = gold.name or _("The project")
    return f"{name} · {pairs_text(gold.pairs)} · {time_in(gold.at, zone)} · {gold.sha256[:8]}"


def added_text(system: str, gold: GoldVersion, scores: str) -> str:
    """That a system was added, on which gold, and how much of that it scores."""
    told = {"system": system, "version": gold.sha256[:SHOWN_DIGITS], "scores": scores}
    if gold.is_own:
        return _("Added {system} on the project's gold ({version}): {scores}", **told)
    return _("Added {system} on gold from {name} ({version}): {scores}", name=gold.name, **told)


def gold_html(gold: GoldVersion, current: str, pairs_now: int) -> str:
    """Which gold these figures are of, and whether the project's has changed since.

    Args:
        current: SHA-256 of the project's gold now.
        pairs_now: how many pairs that has.
    """
    told = {
        "version": f'<code title="SHA-256 {gold.sha256}">{gold.sha256[:SHOWN_DIGITS]}</code>',
        "pairs": escape(pairs_text(gold.pairs)),
    }
    if gold.sha256 == current:
        said = _("On the project's gold as it is now: {pairs}, version {version}.", **told)
        return f"<p>{said}</p>"
    told["time"] = time_html(gold.at)
    if not gold.is_own:
        name = escape(gold.name)
        said = _("On gold from {name}, of {time}: {pairs}, version {version}.", name=name, **told)
        return f"<p>{said}</p>"
    said = _("On the project's gold of {time}: {pairs}, version {version}.", **told)
    since = ngettext(
        "The gold has changed since: {count} pair has a grade now, {before} then.",
        "The gold has changed since: {count} pairs have a grade now, {before} then.",
        pairs_now,
        count=group_digits(pairs_now),
        before=group_digits(gold.pairs),
    )
    again = _("These figures are of the older gold; to measure a system on the new one, add it again.")
    return f"<p>{said} {since} {again}</p>"


def wide_intervals_html(report: ScoreReport) -> str:
    """That ranks are uncertain, where an interval is undefined or over half of what a correlation can be."""
    text = wide_intervals_text(report, type_label)
    return note_html(regroup_numbers(text)) if text else ""


def method_html(board: Board) -> str:
    """How the figures were made, and what to know of some of them."""
    report = board.report
    remarks = dict.fromkeys(tell_remark(system.remark) for system in report.systems if system.remark)
    text = _(
        "{pairs}. 95 % intervals by the percentile bootstrap over pairs, {resamples} resamples, seed {seed}; "
        "the resamples are the same for all systems. A type that a system leaves out adds nothing to its "
        "sum. p is two-sided and not corrected for the number of comparisons.",
        pairs=pairs_text(report.pairs),
        resamples=group_digits(report.resamples),
        seed=report.seed,
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
        told += [
            (_("{name}: {value}", name=system.name, value=", ".join(where)), tell(reason))
            for reason, where in places.items()
            if reason
        ]
    return reasons_html("leaderboard-undefined", told)


NOBODY = mark(
    "No system has been measured yet. A system's scores are compared with the gold grades of the pairs."
)
FOR_ADMINISTRATORS = mark("An administrator of the project can add one.")
FOR_LEADERS = mark(
    "The leaderboard is for administrators and adjudicators of the project: ask your administrator."
)
CHART = mark("Pearson correlation of each system by genre, stacked, the best system first")
PAGE = "leaderboard"
NO_GENRES = mark("The pairs have no genres. Import pairs with a field genre to compare systems by genre.")
ZONE = "() => Intl.DateTimeFormat().resolvedOptions().timeZone"
IN_ZONE = "(gold) => [gold, Intl.DateTimeFormat().resolvedOptions().timeZone]"
"""The choices of a list are no HTML, where the page's script writes times as the reader's clock does."""


@dataclass(frozen=True)
class LeaderboardHandlers:
    accounts: AccountService
    projects: ProjectService
    systems: SystemService

    def open(self, request: gr.Request, zone: str | None = "") -> dict[str, Any]:
        """The first gold set, or a sentence for users who may not see the page."""
        try:
            return {"closed": "", **self._fill(request, None, zone)}
        except AccessError as error:
            reason = str(error) if isinstance(error, SignedOutError) else _(FOR_LEADERS)
        except AnnotationError as error:
            reason = str(error)
        return {"closed": empty_html(reason)}

    def show(self, gold_id: int | None, request: gr.Request, zone: str | None = "") -> dict[str, Any]:
        """The systems on a gold set, or on the first. The list of gold sets has times of the `zone`."""
        with shown_to_user(AnnotationError):
            return self._fill(request, gold_id, zone)

    def compare(self, gold_id: int | None, first: str | None, second: str | None, request: gr.Request) -> Any:
        """How the two systems differ; nothing new while only one is chosen."""
        with shown_to_user(AnnotationError):
            project_id, *_who = require_leader(request, self.accounts)
            if gold_id is None or not first or not second:
                return gr.skip()
            if first == second:
                return empty_html(_("These are the same system: choose another one to compare it with."))
            found = difference_of(self.systems.board(project_id, gold_id), first, second)
            if found is None:
                return empty_html(_("One of the two has been removed: choose again."))
            project = self.projects.get(project_id).name
            return savable_html(lambda: difference_table(found), project, page=PAGE)

    def _fill(self, request: gr.Request, gold_id: int | None, zone: str | None) -> dict[str, Any]:
        project_id, _user, leads = require_leader(request, self.accounts)
        golds = self.systems.golds(project_id)
        if not golds:
            nobody = gr.Dropdown(choices=[], value=None)
            return {
                "body": gr.Column(visible=True),
                "board": gr.Column(visible=False),
                "gold": gr.Dropdown(choices=[], value=None, visible=False),
                "chart": show_chart(None),
                "first": nobody,
                "second": nobody,
                **dict.fromkeys(
                    ("pearson", "spearman", "ranks", "genres", "save", "chart-save", "method"), ""
                ),
                "status": empty_html(_(NOBODY) if leads else f"{_(NOBODY)} {_(FOR_ADMINISTRATORS)}"),
            }
        chosen = next((gold.id for gold in golds if gold.id == gold_id), golds[0].id)
        board = self.systems.board(project_id, chosen)
        names = [board.report.systems[place].name for place in board.report.best_first()]
        choices = [(gold_label(gold, zone), gold.id) for gold in golds]
        chart = board_chart(board)
        project = self.projects.get(project_id).name
        own = self.systems.comparable_version(project_id)
        save_chart = chart_buttons("leaderboard-chart", _(CHART), file_name(project, "leaderboard-genres"))
        return {
            "body": gr.Column(visible=True),
            "board": gr.Column(visible=True),
            "gold": gr.Dropdown(choices=choices, value=chosen, visible=True),
            "chart": show_chart(chart),
            "first": gr.Dropdown(choices=names, value=names[0]),
            "second": gr.Dropdown(choices=names, value=names[min(1, len(names) - 1)]),
            "status": gold_html(board.gold, own.sha256, own.pairs) + wide_intervals_html(board.report),
            "pearson": savable_html(lambda: pearson_table(board), project, page=PAGE),
            "spearman": savable_html(lambda: spearman_table(board), project, page=PAGE),
            "ranks": savable_html(lambda: ranks_table(board), project, page=PAGE),
            "genres": savable_html(lambda: genres_table(board), project, page=PAGE)
            or empty_html(_(NO_GENRES)),
            "save": save_html(project_id, board.gold.id, self._latex_button(project, board, own)),
            "chart-save": save_chart if chart is not None else "",
            "method": method_html(board),
        }

    def _latex_button(self, project: str, board: Board, own: OwnGold) -> str:
        made_by = f"The page Leaderboard of kpdemo, project {project}"
        with use_language(ENGLISH):  # for papers
            table = board_as_latex(board, own, made_by=made_by)
        return latex_button(table, _("the ranking"), file_name(project, PAGE))


@dataclass(frozen=True)
class LeaderboardPage:
    """The parts of the page that the form for administrators fills again."""

    gold: gr.Dropdown
    zone: gr.Textbox
    """Where the reader's clock is, filled by `IN_ZONE`."""
    parts: Parts
    """What `LeaderboardHandlers.show` fills."""
    choosing: Dependency
    """The event of showing them for a gold set that is chosen."""


def build_leaderboard_page(handlers: LeaderboardHandlers, page: gr.Blocks) -> LeaderboardPage:
    closed = gr.HTML(empty_html(_("Opening the leaderboard.")), elem_id="leaderboard-closed")
    parts = Parts()

    def text(name: str) -> None:
        parts[name] = gr.HTML("", elem_id=f"leaderboard-{name}-part", js_on_load=None)

    with gr.Column(visible=False, elem_id="leaderboard-page") as body:
        gold = gr.Dropdown([], label=_("Gold set"), visible=False, elem_id="leaderboard-gold")
        zone = unseen_box("leaderboard-zone")
        text("status")
        with gr.Column(visible=False) as board:
            section_heading(_("Which system is best?"), "leaderboard-best")
            text("pearson")
            text("spearman")
            text("ranks")
            text("save")
            section_heading(_("On which genres?"), "leaderboard-where")
            chart = gr.Plot(visible=False, show_label=False, container=False, elem_id="leaderboard-chart")
            text("chart-save")
            text("genres")
            section_heading(_("Is one better than the other?"), "leaderboard-compare")
            with gr.Row(elem_classes="form-row"):
                first = gr.Dropdown([], label=_("First system"), elem_id="leaderboard-first", min_width=200)
                second = gr.Dropdown(
                    [], label=_("Second system"), elem_id="leaderboard-second", min_width=200
                )
            difference = gr.HTML("", elem_id="leaderboard-difference-part", js_on_load=None)
            text("method")
    parts.update(body=body, board=board, gold=gold, chart=chart, first=first, second=second)
    whole = Parts(closed=closed, **parts)
    opened = page.load(
        whole.fill(handlers.open), zone, whole.outputs, api_name="open_leaderboard", js=ZONE, **QUIETLY
    )
    keep_reason(opened, closed)
    choosing = on_choice(
        gold,
        parts.fill(handlers.show),
        parts.outputs,
        beside=[zone],
        js=IN_ZONE,
        api_name="show_leaderboard",
        concurrency_id="leaderboard",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=parts["status"],
    )
    gr.on(  # one event: what the two lists ask for comes in their order
        [first.change, second.change],
        handlers.compare,
        [gold, first, second],
        difference,
        api_name="compare_systems",
        trigger_mode="always_last",
        **QUIETLY,
    )
    return LeaderboardPage(gold, zone, parts, choosing)


def save_html(project_id: int, gold_id: int, beside: str) -> str:
    """Links that download everything, and what stands beside them."""
    links = "".join(
        f'<a class="keep" id="leaderboard-{ending}" download '
        f'href="{escape(board_address(project_id, gold_id, ending))}">'
        f"{_('All figures as {format}', format=ending.upper())}</a>"
        for ending in ("csv", "json")
    )
    return f'<p class="actions">{links}{beside}</p>'


OWN, SHOWN, FILES = "own", "shown", "files"
GOLDS = {
    OWN: mark("The project's gold: all pairs that have a grade now"),
    SHOWN: mark("The gold set that is shown above"),
    FILES: mark("Another gold set, from files"),
}


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """What stands in the form."""

    name: str
    what: str
    files: Sequence[Path]
    """Its scores, where it is uploaded."""
    gold: str
    """One of `GOLDS`."""
    gold_files: Sequence[Path]
    gold_id: int | None
    """Of the gold set that is shown."""
    is_calibrated: bool
    training_files: Sequence[Path]
    training_score_files: Sequence[Path]

    @property
    def boxes(self) -> tuple[Sequence[Path], ...]:
        """The files of each box of the form, in their order."""
        return self.files, self.gold_files, self.training_files, self.training_score_files


@dataclass(frozen=True)
class SystemReader:
    """Raises ScoreFileError and the like for what cannot be used; the messages name file and line."""

    systems: SystemService
    dictionary: Dictionary

    def gold(self, project_id: int, choice: SystemChoice) -> Gold:
        """The gold set that was chosen."""
        if choice.gold == FILES:
            pairs = tuple(read_uploaded_gold(choice.gold_files))
            names = ", ".join(file.name for file in choice.gold_files)
            return Gold(names, gold_digest(pairs), pairs, read_uploaded_ungraded(choice.gold_files))
        if choice.gold == SHOWN:
            if choice.gold_id is None:
                raise ScoreFileError(
                    _("No gold set is shown above: choose the project's, or one from files.")
                )
            return self.systems.gold(project_id, choice.gold_id)
        return self.systems.own_gold(project_id)

    def system(self, choice: SystemChoice, gold: Gold, scale: Scale) -> System:
        """The system that was chosen, with its scores of `gold`; of one that runs here, on `scale`."""
        if not gold.pairs:
            raise ScoreFileError(
                _(
                    "The project has no pairs with a gold grade yet: have some graded and adjudicated, or "
                    "choose gold from files."
                )
            )
        training = _training_pairs(choice.training_files, gold) if choice.is_calibrated else []
        if choice.what == UPLOADED:
            return _read_upload(choice, gold, training)
        run_here = {**BASELINES, EMBEDDING: self.systems.similarities}
        similarities = run_here.get(choice.what)
        if similarities is None:
            raise ScoreFileError(
                _("There is no system {name} here: choose another one.", name=repr(choice.what))
            )
        baseline = BuiltInSystem(choice.name or choice.what, choice.what, similarities, scale=scale)
        senses, reason = None, ""
        if needs_senses([baseline], gold.pairs):
            is_optional = any(pair.type != WORD_TO_SENSE for pair in gold.pairs)
            senses, reason = open_senses(self.dictionary.open, is_optional=is_optional)
        return build_system(baseline, gold.pairs, training, senses, reason)


def paths(uploads: Sequence[str] | None) -> list[Path]:
    """The files of a box; none of an empty one."""
    return [Path(upload) for upload in uploads or ()]


def _read_upload(choice: SystemChoice, gold: Gold, training: Sequence[GoldPair]) -> System:
    scores = read_uploaded_scores(choice.files, gold.pairs, gold.ungraded)
    name = choice.name or choice.files[0].name.partition(".")[0]
    system = System(name, scores.values, left_out=scores.left_out)
    if not choice.is_calibrated:
        return system
    ungraded = gold.ungraded | read_uploaded_ungraded(choice.training_files)
    what = mark("its scores of the training pairs")
    taught = read_uploaded_scores(choice.training_score_files, training, ungraded, what)
    return calibrate(system, gold.pairs, taught, training)


def _training_pairs(files: Sequence[Path], gold: Gold) -> Sequence[GoldPair]:
    """The training pairs of the files, none of which is measured on."""
    pairs = read_uploaded_gold(files, mark("training grades"))
    if not pairs:
        raise ScoreFileError(_("The files of training grades hold no pairs: choose others."))
    check_training(len(pairs), group_digits)
    check_apart(gold.pairs, pairs)
    return pairs


def formats_html() -> str:
    """Which files can be chosen, folded."""
    lines = (
        _(
            "{what}, as in the task, in the order of the exported gold set; only those of one type if the "
            "name of the file begins with that type, as in {file}.",
            what=f"<b>{_('One score per line')}</b>",
            file="<code>phrase2word.output.tsv</code>",
        ),
        _(
            "JSON Lines {row}, or CSV, TSV or XLSX with these columns; with {type} where two types share an "
            "id.",
            row="<code>{id, score}</code>",
            type="<code>type</code>",
        ),
        _(
            "A system may leave out whole types. If a score is missing, not a number or one too many, the "
            "message names its line and nothing is added. Scores by id are left out for pairs that have no "
            "gold grade yet."
        ),
        _(
            "{what}: {files} of an export, tables with {columns}, or the task's input and gs files together.",
            what=f"<b>{_('Gold sets')}</b>",
            files=_(
                "{first}, {second} or {third}",
                first="<code>gold.jsonl</code>",
                second="<code>.csv</code>",
                third="<code>.parquet</code>",
            ),
            columns="<code>id, type, left, right, gold</code>",
        ),
        _(
            "{what} have the formats of gold sets, and the scores of their pairs those of other scores.",
            what=f"<b>{_('Training grades')}</b>",
        ),
    )
    listed = "".join(f"<li>{line}</li>" for line in lines)
    return f"<details><summary>{_('File formats')}</summary><ul>{listed}</ul></details>"


def gold_choices() -> list[tuple[str, str]]:
    """What a system may be measured on."""
    return [(_(label), kind) for kind, label in GOLDS.items()]


CALIBRATED = mark(
    "Fits the scores of each type to the grades of other pairs by isotonic regression. This puts them on the "
    "raters' scale and keeps their order, except for ties. A pair that is in both sets is refused."
)


@dataclass(frozen=True)
class SystemFormHandlers:
    accounts: AccountService
    systems: SystemService
    dictionary: Dictionary

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The form for administrators, for others nothing: the page itself says why it is closed."""
        try:
            project_id, _user = require_member(request, self.accounts, Role.ADMINISTRATOR)
        except AnnotationError:
            return gr.skip(), gr.skip(), gr.skip()
        return gr.Column(visible=True), *self._list_golds(project_id, None)

    def list_systems(self, gold_id: int | None, request: gr.Request) -> tuple[gr.Dropdown, gr.Radio]:
        """The systems that can be removed, those on the gold set that is shown, and the gold sets to measure
        others on."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            return self._list_golds(project_id, gold_id)

    def choose(
        self, what: str | None, gold: str | None, calibrates: bool | None, request: gr.Request
    ) -> tuple[gr.File, ...]:
        """Only the boxes for files that are wanted."""
        with shown_to_user(AnnotationError):
            require_member(request, self.accounts, Role.ADMINISTRATOR)
        is_uploaded, is_calibrated = what == UPLOADED, bool(calibrates)
        wanted = (is_uploaded, gold == FILES, is_calibrated, is_calibrated and is_uploaded)
        return tuple(gr.File(visible=is_wanted) for is_wanted in wanted)

    def add(
        self,
        request: gr.Request,
        name: str | None,
        what: str | None,
        uploads: Sequence[str] | None,
        gold: str | None,
        gold_uploads: Sequence[str] | None,
        gold_id: int | None,
        calibrates: bool | None = False,
        training_grades: Sequence[str] | None = None,
        training_scores: Sequence[str] | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> tuple[Any, ...]:
        """Measure a system and keep it, or a sentence on what is wrong; what was typed stays then."""
        choice = SystemChoice(
            (name or "").strip(),
            what or "",
            paths(uploads),
            gold or OWN,
            paths(gold_uploads),
            gold_id,
            bool(calibrates),
            paths(training_grades),
            paths(training_scores),
        )
        try:
            project_id, user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            progress(None, desc=_("Reading"))
            reader = SystemReader(self.systems, self.dictionary)
            measured_on = reader.gold(project_id, choice)
            progress(None, desc=_("Scoring"))
            system = reader.system(choice, measured_on, self.systems.scale(project_id))
            kept = self.systems.add(project_id, measured_on, system, origin=choice.what, by=user)
        except PAGE_ERRORS as error:
            named = next((box for box in choice.boxes if any(file.name in str(error) for file in box)), ())
            failed = refusal_html(error, named, "added")
            return failed, gr.skip(), *map(box_after, choice.boxes), gr.skip()
        scores = scores_text(system, measured_on.pairs, type_label)
        left_out = f" {left_out_text(system.left_out)}" if system.left_out else ""
        on = next(gold for gold in self.systems.golds(project_id) if gold.id == kept)
        said = done_html(added_text(system.name, on, regroup_numbers(scores + left_out)))
        return said, "", *(gr.File(value=None) for _ in choice.boxes), kept

    def remove(self, request: gr.Request, system_id: int | None) -> str:
        """Forget a system."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if system_id is None:
                raise ScoreFileError(_("No system is chosen: choose the one to remove."))
            self.systems.remove(project_id, system_id, by=user)
        return done_html(_("Removed."))

    def _list_golds(self, project_id: int, gold_id: int | None) -> tuple[gr.Dropdown, gr.Radio]:
        golds = self.systems.golds(project_id)
        if not golds:
            known = [(label, kind) for label, kind in gold_choices() if kind != SHOWN]
            return gr.Dropdown(choices=[], value=None), gr.Radio(choices=known, value=OWN)
        chosen = next((gold.id for gold in golds if gold.id == gold_id), golds[0].id)
        entries = self.systems.board(project_id, chosen).entries
        held = gr.Dropdown(choices=[(entry.name, entry.id) for entry in entries], value=None)
        return held, gr.Radio(choices=gold_choices())


@dataclass(frozen=True, slots=True)
class _SystemFields:
    """What tells which system is added; the boxes for files in the order of `SystemFormHandlers.choose`."""

    name: gr.Textbox
    what: gr.Radio
    gold: gr.Radio
    calibrates: gr.Checkbox
    boxes: tuple[gr.File, gr.File, gr.File, gr.File]
    add: gr.Button


_INTERACTIVE = "{{__type__: 'update', interactive: {}}}"


def begin_script() -> str:
    """JavaScript: button and name rest, since what was asked and typed meanwhile would be lost."""
    measuring = f'<p class="note" role="status" id="system-measuring">{_("Measuring the system…")}</p>'
    resting = _INTERACTIVE.format("false")
    return f"() => [{resting}, {resting}, {json.dumps(measuring)}]"


END = (
    f"shown => [{_INTERACTIVE.format('true')}, {_INTERACTIVE.format('true')}, "
    "shown.includes('system-measuring') ? '' : shown]"
)
"""JavaScript: they come back, whatever became of it."""


def build_system_form(
    handlers: SystemFormHandlers, board: LeaderboardHandlers, shown: LeaderboardPage, page: gr.Blocks
) -> None:
    with gr.Column(visible=False, elem_id="system-form") as form:
        section_heading(_("Add a system"), "system-add")
        fields = _system_fields(has_embedding=handlers.systems.similarities is not None)
        result = gr.HTML("", elem_id="system-result", js_on_load=None)
        with gr.Accordion(_("Remove a system"), open=False, elem_id="system-removal"):
            with gr.Row(elem_classes="form-row"):
                held = gr.Dropdown([], label=_("System"), elem_id="system-held", scale=3)
                remove = gr.Button(
                    _("Remove"), variant="stop", elem_id="system-remove", scale=1, min_width=120
                )
            removed = gr.HTML("", elem_id="system-removed", js_on_load=None)
    added_gold = gr.State(None)
    page.load(handlers.open, outputs=[form, held, fields.gold], api_name="open_system_form", **QUIETLY)
    choices: list[Any] = [fields.what, fields.gold, fields.calibrates]
    for number, field in enumerate(choices, 1):
        field.change(handlers.choose, choices, [*fields.boxes], api_name=f"choose_files_{number}", **QUIETLY)
    files, gold_files, training, taught = fields.boxes
    resting = [fields.add, fields.name, result]
    begun = fields.add.click(
        None, None, resting, js=begin_script(), api_name="begin_system", show_progress="hidden"
    )
    added = begun.then(
        handlers.add,
        [
            fields.name,
            fields.what,
            files,
            fields.gold,
            gold_files,
            shown.gold,
            fields.calibrates,
            training,
            taught,
        ],
        [result, fields.name, *fields.boxes, added_gold],
        api_name="add_system",
        concurrency_limit=1,
        concurrency_id="score",
        show_progress_on=result,
    )
    added.then(None, result, resting, js=END, api_name="end_system", show_progress="hidden")
    removing = remove.click(handlers.remove, held, removed, api_name="remove_system")
    after = (
        added.success(
            shown.parts.fill(board.show),
            [added_gold, shown.zone],
            shown.parts.outputs,
            api_name="show_added",
            js=IN_ZONE,
            **QUIETLY,
        ),
        removing.success(
            shown.parts.fill(board.show),
            [shown.gold, shown.zone],
            shown.parts.outputs,
            api_name="show_left",
            js=IN_ZONE,
            **QUIETLY,
        ),
    )
    for number, event in enumerate((*after, shown.choosing), 1):
        event.success(
            handlers.list_systems,
            shown.gold,
            [held, fields.gold],
            api_name=f"list_systems_{number}",
            trigger_mode="always_last",
            **QUIETLY,
        )


def _system_fields(*, has_embedding: bool) -> _SystemFields:
    origins = [(_(label), name) for name, label in ORIGINS.items() if has_embedding or name != EMBEDDING]
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            what = gr.Radio(origins, value=UPLOADED, label=_("System"), elem_id="system-what")
            name = gr.Textbox(
                label=_("Name"),
                info=_("If empty, the name of the file or of the system is used."),
                max_lines=1,
                elem_id="system-name",
            )
            files = file_box(_("Its scores"), "system-files", many=True)
        with gr.Column(scale=6, min_width=320):
            gold = gr.Radio(gold_choices(), value=OWN, label=_("Measured on"), elem_id="system-gold")
            gold_files = file_box(_("Gold grades"), "system-gold-files", many=True, visible=False)
            calibrates = gr.Checkbox(
                label=_("Calibrate its scores on training grades"),
                info=_(CALIBRATED),
                elem_id="system-calibrates",
            )
            training = file_box(_("Training grades"), "system-training", many=True, visible=False)
            taught = file_box(
                _("Its scores of the training pairs"),
                "system-training-scores",
                many=True,
                visible=False,
            )
            gr.HTML(formats_html(), elem_id="system-formats")
            add = gr.Button(_("Add system"), variant="primary", elem_id="system-add-run")
    return _SystemFields(name, what, gold, calibrates, (files, gold_files, training, taught), add)
