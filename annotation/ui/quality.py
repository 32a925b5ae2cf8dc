"""The tab of a project for the quality of its raters: training, hidden gold checks, and how each one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from annotation.changes import print_settings
from annotation.errors import ImportFileError, SettingsError
from annotation.exchange import open_file, read_known_pairs
from annotation.quality import QualitySettings
from annotation.sense_pairs import Dictionary, add_senses_to_known
from annotation.services.accounts import AccountService
from annotation.services.known_pairs import KnownLine, KnownPairService, KnownSummary
from annotation.services.projects import ProjectService
from annotation.services.quality import (
    FORMER,
    KnownKind,
    QualityOverview,
    QualityService,
    Standing,
    Work,
    WorkService,
)
from annotation.translation import _, mark, ngettext
from annotation.types import KnownPairInput, ProjectSettings, Role
from annotation.ui.figures import Column, Table, listing_html, savable_html
from annotation.ui.pairs import checked_upload, import_event, import_result_html, refusal
from annotation.ui.widgets import (
    PAGE_ERRORS,
    Filling,
    Keeping,
    KeptForm,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    decimal_field,
    decimal_of,
    decimal_text,
    file_box,
    require_member,
    saved_html,
    whole_field,
    whole_of,
)
from annotation.ui.wording import time_html
from annotation.wording import beginning, share_text
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    keep_reason,
    note_html,
    section_heading,
    unseen_box,
)

LABEL = 60
NO_RATERS = mark("No raters yet. Add one in the tab Members.")
NO_KNOWN = mark("No pairs with a known grade yet. Import training or check pairs above.")
WORK_SAYS = mark(
    "Grades of check pairs are included, and so are those that no longer count because they were set aside "
    "or their pair was withdrawn. Hours are how long the graded pairs were on the rater's screen, in a "
    "visible window; imported grades have no time."
)


def training_html(overview: QualityOverview) -> str:
    """How many training pairs there are, and what that means."""
    if not overview.training_pairs:
        return empty_html(_("No training pairs: raters start working at once."))
    said = ngettext(
        "{count} training pair in use.",
        "{count} training pairs in use.",
        overview.training_pairs,
        count=group_digits(overview.training_pairs),
    )
    return f"<p>{escape(said)}</p>"


def checks_html(overview: QualityOverview) -> str:
    """How many check pairs there are, and whether they are given out."""
    if not overview.check_pairs:
        return empty_html(_("No check pairs yet."))
    every = overview.settings.check_every
    rate = (
        _("One pair in {every} is one of them.", every=every)
        if every
        else _("None are shown yet: choose how often, and save.")
    )
    said = ngettext(
        "{count} check pair.",
        "{count} check pairs.",
        overview.check_pairs,
        count=group_digits(overview.check_pairs),
    )
    return f"<p>{escape(f'{said} {rate}')}</p>"


def known_label(line: KnownLine) -> str:
    """A line of the list of pairs: which it is, and how its smaller item begins."""
    return f"{_(line.kind.value)} {line.external_id}: {beginning(line.right, LABEL)}"


def known_html(line: KnownLine) -> str:
    """Both items of a pair."""
    sides = "".join(
        f'<div class="rate-text" dir="auto">{escape(text)}</div>' for text in (line.left, line.right)
    )
    return f'<div class="rate-items known-pair" role="group" aria-label="{_("The pair")}">{sides}</div>'


def known_summary_html(summary: KnownSummary, kind: KnownKind) -> str:
    """What was imported, and what was there already."""
    count = {"count": group_digits(summary.pairs)}
    said = (
        ngettext(
            "Imported {count} training pair.", "Imported {count} training pairs.", summary.pairs, **count
        )
        if kind is KnownKind.TRAINING
        else ngettext("Imported {count} check pair.", "Imported {count} check pairs.", summary.pairs, **count)
    )
    imported = import_result_html(said, summary.duplicates, has_new=summary.pairs > 0)
    return imported + "".join(map(note_html, summary.notes))


def standings_html(overview: QualityOverview) -> str:
    """A row for each rater."""
    if not overview.standings:
        return empty_html(_(NO_RATERS))
    rows = "".join(_standing_html(standing, overview) for standing in overview.standings)
    heads = (_("Rater"), _("Work"), _("Training"), _("Attempts"), _("Check pairs"), _("Accepted"))
    return listing_html(heads, rows, numbers=(4, 5), label=_("Raters"))


def _standing_html(standing: Standing, overview: QualityOverview) -> str:
    share = share_text(standing.accepted_checks / standing.checks) if standing.checks else "–"
    attempts = ", ".join(
        _("{done} of {all}", done=each.accepted, all=each.pairs) for each in standing.attempts
    )
    paused = None if standing.is_former else standing.paused_at
    work = escape(_(standing.work))
    if paused is not None:
        work = _("{work} since {time}", work=work, time=time_html(paused))
    return (
        f'<tr><th scope="row" dir="auto">{escape(standing.user.name)}</th><td>{work}</td>'
        f"<td>{_training_state(standing, overview)}</td><td>{escape(attempts or '–')}</td>"
        f'<td class="number">{group_digits(standing.checks)}</td><td class="number">{share}</td></tr>'
    )


def _training_state(standing: Standing, overview: QualityOverview) -> str:
    if standing.passed_at is not None:
        return _("passed {time}", time=time_html(standing.passed_at))
    if standing.excused_at is not None:
        return _("excused")
    return _("not passed yet") if overview.training_pairs and not standing.is_former else "–"


def work_table(works: Sequence[Work]) -> Table:
    """A row for each rater, and for each former rater who did something."""
    rows = tuple(
        (
            work.rater,
            _(FORMER) if work.is_former else _("rater"),
            work.ratings,
            work.last_day,
            work.last_week,
            work.skipped,
            work.held,
            work.hours,
            work.per_hour,
            work.first_at,
            work.last_at,
        )
        for work in works
    )
    columns = (
        Column(_("Rater"), text=True),
        Column(_("Now"), text=True),
        Column(_("Grades")),
        Column(_("Last 24 hours")),
        Column(_("Last 7 days")),
        Column(_("Skipped")),
        Column(_("Held now")),
        Column(_("Hours"), 1),
        Column(_("Grades an hour"), 1),
        Column(_("First"), text=True),
        Column(_("Last"), text=True),
    )
    return Table("work", _("The work of each rater"), columns, rows)


def work_html(works: Sequence[Work], project: str) -> str:
    """The table with what it counts."""
    if not works:
        return empty_html(_(NO_RATERS))
    table = savable_html(lambda: work_table(works), project, page="quality")
    return f"<p>{escape(_(WORK_SAYS))}</p>{table}"


COLUMNS_HTML = "<code>id, type, left, right, grade</code>"
CORRECTING_SAYS = mark(
    "A corrected grade applies to unfinished attempts and to all grades of a check pair, including earlier "
    "ones. Finished attempts keep their result."
)


@dataclass(frozen=True)
class Upload:
    file: gr.File
    run: gr.Button
    result: gr.HTML


def training_box() -> Upload:
    says = _(
        "TSV, CSV, XLSX or JSON Lines with {columns}, the known grade, and, if you wish, {explanation}, "
        "which raters see after grading.",
        columns=COLUMNS_HTML,
        explanation="<code>explanation</code>",
    )
    return _upload_box("training", _("A file of training pairs"), says, _("Import training pairs"))


def checks_box() -> Upload:
    says = _("TSV, CSV, XLSX or JSON Lines with {columns}, the known grade.", columns=COLUMNS_HTML)
    return _upload_box("checks", _("A file of check pairs"), says, _("Import check pairs"))


def _upload_box(kind: str, label: str, says: str, run: str) -> Upload:
    file = file_box(label, f"quality-{kind}-file")
    gr.HTML(f'<p class="small">{says}</p>', elem_id=f"quality-{kind}-fields")
    button = gr.Button(run, elem_id=f"quality-{kind}-run")
    return Upload(file, button, answer_place(f"quality-{kind}-result"))


@dataclass(frozen=True)
class KnownFields:
    none: gr.HTML
    """Stands in place of the form while there is no pair."""
    form: gr.Column
    kept: KeptForm
    pair: gr.Dropdown
    texts: gr.HTML
    grade: gr.Textbox
    run: gr.Button
    said: gr.HTML


def known_fields() -> KnownFields:
    section_heading(_("Known grades"), "quality-known-heading")
    none = gr.HTML("", elem_id="quality-known-none")
    with gr.Column(visible=False, elem_id="quality-known-form") as form:
        gr.HTML(f'<p class="small">{_(CORRECTING_SAYS)}</p>', elem_id="quality-known-says")
        kept = build_kept_form("quality-known")
        with gr.Row(elem_classes="form-row"):
            pair = gr.Dropdown(
                [],
                label=_("Training or check pair"),
                allow_custom_value=True,
                elem_id="quality-known",
                scale=5,
            )
            grade = decimal_field(None, label=_("Known grade"), elem_id="quality-known-grade", scale=1)
            run = gr.Button(_("Set this grade"), elem_id="quality-known-set", scale=1, min_width=160)
        texts = gr.HTML("", elem_id="quality-known-texts", js_on_load=None)
        said = answer_place("quality-known-said")
    return KnownFields(none, form, kept, pair, texts, grade, run, said)


def training_fields() -> tuple[gr.Number, gr.Textbox]:
    default = QualitySettings()
    with gr.Row():
        pass_mark = whole_field(
            default.pass_percent,
            label=_("Pass mark, %"),
            info=_("Share of grades that must be close"),
            elem_id="quality-pass-mark",
        )
        distance = decimal_field(
            default.training_distance,
            label=_("Counts as close within"),
            info=_("Points from the known grade"),
            elem_id="quality-training-distance",
        )
    return pass_mark, distance


def check_fields() -> tuple[gr.Number, gr.Textbox]:
    default = QualitySettings()
    with gr.Row():
        every = whole_field(
            default.check_every,
            label=_("One pair in"),
            info=_("20 means one pair in 20; 0 means none"),
            elem_id="quality-check-every",
        )
        distance = decimal_field(
            default.check_distance,
            label=_("Counts as accepted within"),
            info=_("Points from the known grade"),
            elem_id="quality-check-distance",
        )
    return every, distance


def limit_fields() -> tuple[gr.Number, gr.Number, gr.Number]:
    """Tries at the training; of how many check grades how many may be wrong."""
    default = QualitySettings()
    with gr.Row():
        tries = whole_field(
            default.training_tries,
            label=_("Tries at the training"),
            info=_("0 means any number"),
            elem_id="quality-training-tries",
        )
        wrong = whole_field(
            default.block_wrong,
            label=_("Block after wrong checks"),
            info=_("0 means never"),
            elem_id="quality-block-wrong",
        )
        last = whole_field(
            default.block_of,
            label=_("Of the last"),
            info=_("A blocked rater's pairs go to others"),
            elem_id="quality-block-of",
        )
    return tries, wrong, last


def quality_values(settings: QualitySettings) -> tuple[int | str, ...]:
    """What the fields show, in the order of `read_quality_form`."""
    return (
        settings.pass_percent,
        decimal_text(settings.training_distance),
        settings.training_tries,
        settings.check_every,
        decimal_text(settings.check_distance),
        settings.block_wrong,
        settings.block_of,
    )


def read_quality_form(
    pass_mark: object,
    training_distance: object,
    training_tries: object,
    check_every: object,
    check_distance: object,
    block_wrong: object,
    block_of: object,
) -> QualitySettings:
    """The settings that the fields hold.

    Raises:
        SettingsError: a field holds no number.
    """
    return QualitySettings(
        training_distance=decimal_of(training_distance, mark("accepted distance of training grades")),
        pass_percent=whole_of(pass_mark, mark("pass mark")),
        check_every=whole_of(check_every, mark("number of pairs for one check")),
        check_distance=decimal_of(check_distance, mark("accepted distance of check grades")),
        training_tries=whole_of(training_tries, mark("number of tries at the training")),
        block_wrong=whole_of(block_wrong, mark("number of wrong check grades")),
        block_of=whole_of(block_of, mark("number of check grades that are looked at")),
    )


SHOWN_PARTS = 10
TRAINING_SAYS = mark(
    "Raters grade these pairs first, on the same page, and see after each one what was expected and why. "
    "The actual grading starts when enough of their grades are close; otherwise they try again. Raters who "
    "have passed are not asked again. Training never counts for agreement, gold or exports."
)
CHECKS_SAY = mark(
    "Pairs with a known grade, mixed in with the others: raters cannot tell them apart, and get each of them "
    "at most once. They never count for agreement, gold, exports or the progress of the "
    "project; only administrators see the share of accepted grades, below."
)


@dataclass(frozen=True)
class QualityHandlers:
    accounts: AccountService
    projects: ProjectService
    quality: QualityService
    known_pairs: KnownPairService
    dictionary: Dictionary
    work: WorkService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The settings."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            settings = self.quality.settings(project_id)
        return print_settings(settings), *quality_values(settings)

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """How many pairs there are, and the raters; what is typed into the settings stays."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            return self._fill(self.quality.overview(project_id), project_id)

    def save(self, request: gr.Request, seen: str, *values: object) -> tuple[Any, ...]:
        """Change what the fields say; what somebody else changed meanwhile comes into them."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = read_quality_form(*values)
            kept = self.quality.change(project_id, mine, seen=seen, by=user)
            shown = self._fill(self.quality.overview(project_id), project_id)
        fields = [gr.skip() for _value in values] if kept == mine else quality_values(kept)
        said = saved_html(_("Saved."), is_alone=kept == mine)
        return said, print_settings(kept), *fields, *shown

    def import_training(self, request: gr.Request, upload: str | None) -> tuple[Any, ...]:
        """Training pairs from a file, all of them or none."""
        return self._import(request, upload, KnownKind.TRAINING)

    def import_checks(self, request: gr.Request, upload: str | None) -> tuple[Any, ...]:
        """Check pairs from a file, all of them or none."""
        return self._import(request, upload, KnownKind.CHECK)

    def clear_training(self, request: gr.Request) -> tuple[Any, ...]:
        """Use the training pairs no longer."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            retired = self.known_pairs.retire_training(project_id, by=user)
            said = (
                ngettext(
                    "{count} training pair no longer used; what raters did with it is kept.",
                    "{count} training pairs no longer used; what raters did with them is kept.",
                    retired,
                    count=group_digits(retired),
                )
                if retired
                else _("There are no training pairs to stop using.")
            )
            return done_html(said), *self._fill(self.quality.overview(project_id), project_id)

    def excuse(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Let a rater work without training."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if not name:
                raise SettingsError(_("No rater is chosen: choose who may work without training."))
            self.quality.excuse(project_id, name, by=user)
            said = done_html(_("{name} may work without training.", name=name))
            return said, *self._fill(self.quality.overview(project_id), project_id)

    def show_known(self, request: gr.Request, chosen: str | None) -> tuple[str, Any]:
        """The texts of a pair, and the grade that is known of it."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            line = self._line(project_id, chosen)
        return known_html(line), decimal_text(line.grade)

    def set_known(self, request: gr.Request, chosen: str | None, grade: object) -> tuple[Any, ...]:
        """Correct the known grade of a pair."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            line = self._line(project_id, chosen)
            number = decimal_of(grade, mark("known grade"))
            before = self.known_pairs.set_grade(project_id, line.kind, line.id, number, by=user)
            said = _(
                "The known grade of {pair} is {grade}; it was {before}.",
                pair=line.external_id,
                grade=number,
                before=before,
            )
            return done_html(said), *self._fill(self.quality.overview(project_id), project_id)

    def _line(self, project_id: int, chosen: str | None) -> KnownLine:
        lines = {_token(line): line for line in self.known_pairs.known(project_id)}
        if chosen not in lines:
            raise SettingsError(_("No pair is chosen: choose one from the list."))
        return lines[chosen]

    def _fill(self, overview: QualityOverview, project_id: int) -> tuple[Any, ...]:
        names = [standing.user.name for standing in overview.standings if not standing.is_former]
        known = [(known_label(line), _token(line)) for line in self.known_pairs.known(project_id)]
        return (
            training_html(overview),
            gr.Button(visible=overview.training_pairs > 0),
            checks_html(overview),
            "" if known else empty_html(_(NO_KNOWN)),
            gr.Column(visible=bool(known)),
            gr.Dropdown(choices=known),  # the one that is chosen stays
            standings_html(overview),
            gr.Row(visible=bool(names)),
            gr.Dropdown(choices=names, value=None),
            work_html(self.work.work(project_id), self.projects.get(project_id).name),
        )

    def _import(self, request: gr.Request, upload: str | None, kind: KnownKind) -> tuple[Any, ...]:
        try:
            project_id, user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            path = checked_upload(upload)
            read = _read(path, self.projects.get(project_id).settings)
            pairs = list(add_senses_to_known(read, self.dictionary.open_or_none))
            is_training = kind is KnownKind.TRAINING
            bring = self.known_pairs.import_training if is_training else self.known_pairs.import_checks
            summary = bring(project_id, pairs, by=user, files=[path.name])
        except PAGE_ERRORS as error:
            return *refusal(error, upload), *(gr.skip() for _ in range(SHOWN_PARTS))
        path.unlink(missing_ok=True)
        shown = self._fill(self.quality.overview(project_id), project_id)
        return known_summary_html(summary, kind), gr.File(value=None), *shown


def build_quality_section(handlers: QualityHandlers) -> tuple[Filling, Filling, tuple[Any, ...]]:
    """How the settings are filled and how the rest is, and the events that change what the project has."""
    kept = build_kept_form("quality")
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            section_heading(_("Training"), "quality-training-heading")
            gr.HTML(f"<p>{escape(_(TRAINING_SAYS))}</p>", elem_id="quality-training-says")
            training = gr.HTML("", elem_id="quality-training", js_on_load=None)
            pass_mark, training_distance = training_fields()
            trained = training_box()
            clear = gr.Button(
                _("Stop using these pairs"), size="sm", visible=False, elem_id="quality-training-clear"
            )
        with gr.Column(scale=5, min_width=320):
            section_heading(_("Check pairs"), "quality-checks-heading")
            gr.HTML(f"<p>{escape(_(CHECKS_SAY))}</p>", elem_id="quality-checks-says")
            checks = gr.HTML("", elem_id="quality-checks", js_on_load=None)
            check_every, check_distance = check_fields()
            checked = checks_box()
    tries, block_wrong, block_of = limit_fields()
    said = answer_place("quality-said")
    save = gr.Button(_("Save these settings"), variant="primary", elem_id="quality-save")
    known = known_fields()
    section_heading(_("Raters"), "quality-raters-heading")
    raters = gr.HTML("", elem_id="quality-raters", js_on_load=None)
    with gr.Row(visible=False, elem_classes="form-row") as excusing_row:
        chosen = gr.Dropdown([], label=_("Rater"), allow_custom_value=True, elem_id="quality-rater", scale=3)
        excuse = gr.Button(_("Excuse from training"), elem_id="quality-excuse", scale=1, min_width=160)
    section_heading(_("Who worked how much"), "quality-work-heading")
    work = gr.HTML("", elem_id="quality-work-part", js_on_load=None)
    seen = unseen_box("quality-seen")
    fields = [
        *(seen, pass_mark, training_distance, tries),
        *(check_every, check_distance, block_wrong, block_of),
    ]
    listed = [raters, excusing_row, chosen, work]
    shown = [training, clear, checks, known.none, known.form, known.pair, *listed]
    saving = answer_event(
        save.click, handlers.save, fields, [said, *fields, *shown], js=kept.sends, api_name="save_quality"
    )
    done = [said, *shown]
    clearing = answer_event(clear.click, handlers.clear_training, None, done, api_name="clear_training")
    excusing = answer_event(excuse.click, handlers.excuse, chosen, done, api_name="excuse_rater")
    imports = (
        _on_import(trained, handlers.import_training, "import_training_pairs", shown),
        _on_import(checked, handlers.import_checks, "import_check_pairs", shown),
    )
    correcting = _on_correction(known, handlers, shown)
    keeping = Keeping(kept, fields[1:], [saving], began=seen)
    settings = Filling(handlers.open, fields, "open_quality", keeping=keeping)
    filling = Filling(handlers.show, shown, "show_quality")
    return settings, filling, (saving, *imports, clearing, excusing, correcting)


def _on_import(box: Upload, handler: Callable[..., Any], name: str, shown: list[Any]) -> Any:
    event = import_event(box.run, handler, [box.file], [box.result, box.file, *shown], name)
    keep_reason(event, box.result)
    return event


def _on_correction(known: KnownFields, handlers: QualityHandlers, shown: list[Any]) -> Any:
    kept = known.kept
    choosing = known.pair.change(  # also when its pair has gone
        handlers.show_known,
        known.pair,
        [known.texts, known.grade],
        js=kept.pauses,
        api_name="show_known_pair",
        **QUIETLY,
    )
    kept.resume_after(choosing)
    event = answer_event(
        known.run.click,
        handlers.set_known,
        [known.pair, known.grade],
        [known.said, *shown],
        js=kept.sends,
        api_name="set_known_grade",
    )
    kept.keep([known.grade], known.pair, is_of_began=True, shown=[choosing], saved=[event])
    return event


def _read(path: Path, settings: ProjectSettings) -> list[KnownPairInput]:
    with open_file(path, name=path.name) as source:
        pairs = list(read_known_pairs(source, only_type=settings.only_type, scale=settings.scale))
    if not pairs:
        raise ImportFileError(
            _("{file} has no pairs: write a header and a row for each pair.", file=path.name)
        )
    return pairs


def _token(line: KnownLine) -> str:
    return f"{line.kind}:{line.id}"
