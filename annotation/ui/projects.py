"""My projects and what to do next; the page of one project, and the form of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import gradio as gr

from annotation.assignment import Progress
from annotation.changes import print_settings
from annotation.comparison import COMPARISON_TYPES
from annotation.consent import describe_renewal
from annotation.errors import AnnotationError, ExportError, SettingsError, WrongSettings
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.guidelines import is_starter, starter_guidelines
from annotation.projects import (
    DEFAULTS,
    STEPS,
    ProjectCounts,
    check_settings,
    default_threshold,
    flagged_text,
    usual_thresholds,
    wider_range_text,
)
from annotation.scale import CLSS, CLSS_POINTS, Scale, earlier_words_text, parse_scale
from annotation.services.accounts import AccountService
from annotation.services.audit import EventService
from annotation.services.consents import ConsentService
from annotation.services.gold import ExportRecord, GoldCounts, GoldService
from annotation.services.pairs import PairService, StuckPair, StuckPairs
from annotation.services.projects import OverviewService, ProjectLine, ProjectService
from annotation.services.ratings import RatingService
from annotation.translation import _, mark, ngettext
from annotation.types import Average, ProjectSettings, Role, User
from annotation.ui.accounts import (
    ExclusionHandlers,
    MembersHandlers,
    build_exclusion_section,
    build_members_section,
    events_html,
)
from annotation.ui.crowds import CrowdHandlers, build_crowd_section
from annotation.ui.figures import listing_html, type_label
from annotation.ui.pairs import (
    ImportHandlers,
    PairListHandlers,
    RemarksHandlers,
    build_import_section,
    build_pair_list,
    build_remarks_section,
)
from annotation.ui.quality import QualityHandlers, build_quality_section
from annotation.ui.widgets import (
    NARROW,
    Filling,
    KeptForm,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    decimal_field,
    decimal_of,
    decimal_or_none,
    decimal_text,
    require_member,
    saved_html,
    whole_field,
    whole_of,
    whole_or_none,
)
from annotation.ui.wording import (
    all_withdrawn_text,
    graded_text,
    grades_text,
    own_scale_html,
    pairs_text,
    progress_html,
    regroup_numbers,
    roles_text,
    time_html,
)
from annotation.web.downloads import gold_address, read_options
from kpdemo.translation import ENGLISH, LANGUAGES, language_of, use_language
from kpdemo.ui.html import escape, group_digits, markdown_html
from kpdemo.ui.widgets import (
    GO_ON,
    QUIETLY,
    PageLink,
    empty_html,
    keep_reason,
    links_html,
    note_html,
    section_heading,
    shown_to_user,
    unseen_box,
)

NOTHING_YET = mark("You are not in any project yet. Ask the administrator of a project to add you.")
NO_MORE = mark(
    "You are in no project now; what you graded or wrote is kept. Ask the administrator of a project to add "
    "you again."
)
NO_PROJECTS = mark("No projects yet. Make one below, then import pairs and invite raters.")
PAUSED = mark("Paused: your administrator can tell you when you can go on")
CHANGED_TEXT = mark("The text that you agreed to has changed: please agree again")
NEW_TYPE = "type"
"""Of the address: the comparison type of a project that is to be made."""

FORGET_REFUSAL = "() => ''"
"""What was wrong with the form may be mended now: the next press tells."""


@dataclass(frozen=True)
class HomeHandlers:
    accounts: AccountService
    overview: OverviewService
    projects: ProjectService
    ratings: RatingService

    def show(self, request: gr.Request) -> tuple[str, gr.Accordion, Any]:
        """My projects; the form for a new one, with the type that the address names.

        The form is for administrators of the server.
        """
        with shown_to_user(AnnotationError):
            place = self.overview.place(request.username or "", None)
            user, lines = place.user, self.overview.projects(place.user)
            with use_language(language_of(request.cookies, request.headers, place.language)):
                cards = [project_html(line, user, self._progress(line, user)) for line in lines]
                none = "" if cards else empty_html(self._without_projects(user))
        asked = str(request.query_params.get(NEW_TYPE, ""))
        types = [asked] if asked in COMPARISON_TYPES else gr.skip()
        form = gr.Accordion(visible=user.is_administrator, open=not lines or asked in COMPARISON_TYPES)
        if not cards:
            return none, form, types
        return f'<ul class="projects">{"".join(cards)}</ul>', form, types

    def _without_projects(self, user: User) -> str:
        if user.is_administrator:
            return _(NO_PROJECTS)
        return _(NO_MORE if self.overview.has_worked(user) else NOTHING_YET)

    def create(self, request: gr.Request, *values: object) -> str:
        """Make a project of the form; where its page is."""
        with shown_to_user(AnnotationError):
            user = self.accounts.require(request.username, None)
            project = self.projects.create(read_settings_form(values), created_by=user)
        return f"/annotate/project?project={project.id}"

    def _progress(self, line: ProjectLine, user: User) -> Progress | None:
        if Role.RATER not in line.roles or not line.pairs:
            return None
        return self.ratings.progress(line.id, user.id)


def build_home_page(handlers: HomeHandlers, page: gr.Blocks) -> None:
    cards = gr.HTML(
        empty_html(_("Opening your projects.")),
        elem_id="home-projects",
        apply_default_css=False,
        js_on_load=None,
    )
    with gr.Accordion(_("New project"), open=False, visible=False, elem_id="home-new") as form:
        kept = build_kept_form("new")
        fields = settings_fields(NEW)
        make = gr.Button(_("Create project"), variant="primary", elem_id="home-create")
        refused = gr.HTML("", elem_id="home-refused", js_on_load=None)
    made = unseen_box("home-made")
    opened = page.load(
        handlers.show, outputs=[cards, form, fields.types], api_name="show_projects", **QUIETLY
    )
    keep_reason(opened, cards)
    making = make.click(handlers.create, fields.components, made, api_name="create_project")
    making.success(None, made, js=GO_ON, api_name="go_to_new_project")
    keep_reason(making, refused)
    is_open = [(form, {"open": True})]
    kept.keep(fields.components, around=is_open, asked=fields.types, shown=[opened], saved=[making])
    edits = [field.input for field in fields.components]
    gr.on(edits, None, outputs=refused, js=FORGET_REFUSAL, api_name="forget_refused_project", **QUIETLY)


def next_steps(line: ProjectLine, user: User, progress: Progress | None) -> list[PageLink]:
    """What there is to do for this user, the most pressing first; what leads nowhere is left out."""
    leads = user.is_administrator or Role.ADMINISTRATOR in line.roles
    settles = leads or Role.ADJUDICATOR in line.roles
    there = f"project={line.id}"
    steps = []
    if leads and not line.pairs and not line.unwritten:
        text = _("Restore or import pairs") if line.withdrawn else _("Import pairs")
        steps.append(PageLink(text, f"/annotate/project?{there}"))
    if leads and not line.raters and not line.is_graded:
        steps.append(PageLink(_("Invite raters"), f"/annotate/project?{there}&tab=members"))
    if page := _page_of_the_text(line):
        steps.append(PageLink(_("Agree to the changed text"), f"/annotate/{page}?{there}"))
    if Role.WRITER in line.roles and line.unwritten:
        steps.append(PageLink(_("Write"), f"/annotate/write?{there}"))
    if (leads or Role.EDITOR in line.roles) and line.to_review:
        count = group_digits(line.to_review)
        text = ngettext("Review {count} text", "Review {count} texts", line.to_review, count=count)
        steps.append(PageLink(text, f"/annotate/review?{there}"))
    is_done = line.is_paused or (progress is not None and progress.rated >= progress.total)
    if progress is not None and not is_done:
        steps.append(PageLink(_("Grade pairs"), f"/annotate/rate?{there}"))
    if settles and line.to_adjudicate:
        count = group_digits(line.to_adjudicate)
        text = ngettext(
            "Adjudicate {count} pair", "Adjudicate {count} pairs", line.to_adjudicate, count=count
        )
        steps.append(PageLink(text, f"/annotate/adjudicate?{there}"))
    if leads and line.is_graded and not line.to_adjudicate:
        steps.append(PageLink(_("Export gold"), f"/annotate/project?{there}&tab=gold"))
    if settles and line.finished:
        steps.append(PageLink(_("See agreement"), f"/annotate/agreement?{there}"))
    if progress is not None and is_done and progress.rated:
        steps.append(PageLink(_("See my answers"), f"/annotate/rate?{there}"))
    return steps


def _page_of_the_text(line: ProjectLine) -> str:
    """Where the user agrees again; none if they need not, or are given no work that asks for it."""
    if line.must_agree_anew and Role.RATER in line.roles and not line.is_paused:
        return "rate"
    return "write" if line.must_agree_anew and Role.WRITER in line.roles else ""


def project_html(line: ProjectLine, user: User, progress: Progress | None) -> str:
    leads = user.is_administrator or line.roles & {Role.ADMINISTRATOR, Role.ADJUDICATOR}
    steps = next_steps(line, user, progress)
    facts = []
    if progress is not None:
        facts.append(progress_html(progress.rated, progress.total, graded_text(progress)))
    if line.is_paused:
        facts.append(_(PAUSED))
    if _page_of_the_text(line):
        facts.append(_(CHANGED_TEXT))
    if leads and line.pairs:
        facts.append(progress_html(line.finished, line.pairs, pairs_done_text(line.finished, line.pairs)))
        if line.to_adjudicate:
            facts.append(escape(_("{number} to adjudicate", number=group_digits(line.to_adjudicate))))
    unwritten = line.unwritten if leads or line.roles & {Role.WRITER, Role.EDITOR} else 0
    if unwritten:
        text = ngettext(
            "Up to {count} larger item to write for",
            "Up to {count} larger items to write for",
            unwritten,
            count=group_digits(unwritten),
        )
        facts.append(escape(text))
    if not line.pairs and not unwritten:
        facts.append(_without_pairs(line, leads=bool(leads)))
    name = escape(line.name)
    title = f'<a href="{escape(_title_address(line, user))}"><bdi>{name}</bdi></a>'
    of_server = _("administrator of the server") if user.is_administrator else ""
    own = line.roles - {Role.ADMINISTRATOR} if of_server else line.roles  # one is enough
    mine = ", ".join(filter(None, (of_server, roles_text(own))))
    waiting = f'<span class="small">{escape(_waiting_text(line, user))}</span>'
    following = links_html(steps) if steps else waiting
    return (
        f'<li class="project"><div class="project-about"><h2>{title}</h2>'
        f'<p class="small">{escape(mine)}</p></div>'
        f'<ul class="project-facts">{"".join(f"<li>{fact}</li>" for fact in facts)}</ul>'
        f'<p class="project-steps">{following}</p></li>'
    )


def _without_pairs(line: ProjectLine, *, leads: bool) -> str:
    if not line.withdrawn:
        return _("No pairs yet")
    return escape(all_withdrawn_text(line.withdrawn)) if leads else _("No pairs at the moment")


def _waiting_text(line: ProjectLine, user: User) -> str:
    """Where this user has nothing to do: whom the project waits for, as its leaders may know."""
    leads = user.is_administrator or Role.ADMINISTRATOR in line.roles
    if (leads or Role.ADJUDICATOR in line.roles) and line.pairs > line.finished and line.raters:
        return ngettext(
            "Waiting for {count} rater to grade",
            "Waiting for {count} raters to grade",
            line.raters,
            count=group_digits(line.raters),
        )
    if leads and line.unwritten:
        return _("Waiting for writers to write")
    return _("Nothing for you to do at the moment")


def _title_address(line: ProjectLine, user: User) -> str:
    """The page of the project that shows most to this user."""
    if user.is_administrator or Role.ADMINISTRATOR in line.roles:
        page = "project"
    else:
        pages = ((Role.RATER, "rate"), (Role.ADJUDICATOR, "adjudicate"), (Role.EDITOR, "review"))
        page = next((page for role, page in pages if role in line.roles), "write")
    return f"/annotate/{page}?project={line.id}"


CONSENT_SAYS = mark(
    "Raters and writers must agree to it before their first pair, and again after every change. Leave empty "
    "for none"
)
STARTER_SAYS = mark("Ticking a type fills in a starter: change it as you like")
SCALE_SAYS = mark(
    "A line for each point: grade, name, a colon and what it means. “Question:”, “Larger:” and “Smaller:” "
    "begin the lines of question and items. Lines under [document2keyphrase], for example, apply to that "
    "type only. Leave empty for the usual words"
)
CONSENT_FIRST = mark("They agree to this first:")
EMPTY_PREVIEW = mark("No guidelines yet. Instructions for raters appear here while they grade.")
SCALES = [
    (mark("0–4 in quarters (CLSS)"), "clss"),
    ("0–5 (STS)", "sts"),
    ("0–10", "0-10"),
    ("1–7", "1-7"),
]


def known_types() -> list[tuple[str, str]]:
    """To choose from, with the names that files have for them."""
    return [(f"{_(known.label)} ({name})", name) for name, known in COMPARISON_TYPES.items()]


def table_1() -> str:
    """The usual words, as one's own are written."""
    return "\n".join(f"{point.value} {_(point.name)}: {_(point.summary)}" for point in CLSS_POINTS)


@dataclass(frozen=True)
class SettingsFields:
    """One component for each setting, in the order of `read_settings_form`."""

    name: gr.Textbox
    types: gr.CheckboxGroup
    own_types: gr.Textbox
    guidelines: gr.Textbox
    raters_per_pair: gr.Number
    threshold: gr.Textbox
    step: gr.Radio
    is_random: gr.Checkbox
    seed: gr.Textbox
    may_revise: gr.Checkbox
    lease_minutes: gr.Number
    most_per_rater: gr.Textbox
    consent: gr.Textbox
    scale_words: gr.Textbox
    average: gr.Radio
    repeat_percent: gr.Number
    scale: gr.Dropdown
    language: gr.Dropdown

    @property
    def components(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


NEW = "new"
"""Begins the element ids of a new project's form."""


def settings_fields(prefix: str) -> SettingsFields:
    """The form with the values of a new project; `prefix` begins its element ids."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            name = gr.Textbox(label=_("Name"), max_lines=1, max_length=400, elem_id=f"{prefix}-name")
            types = gr.CheckboxGroup(  # none is ticked at first: only the pairs tell which ones are right
                known_types(),
                value=[],
                label=_("Comparison types"),
                info=_("Tick what your pairs compare, at least one"),
                elem_id=f"{prefix}-types",
            )
            own_types = gr.Textbox(
                label=_("Your own types"),
                info=_("Separated by spaces, the larger item first, such as abstract2title"),
                max_lines=2,
                elem_id=f"{prefix}-own-types",
            )
            raters = whole_field(
                DEFAULTS.raters_per_pair,
                label=_("Raters per pair"),
                info=_("How many people grade each pair"),
                elem_id=f"{prefix}-raters",
            )
            said = gr.HTML("", elem_id=f"{prefix}-range", js_on_load=None)
        with gr.Column(scale=6, min_width=320):
            guidelines, consent, scale_words, seen, preview = _text_fields(prefix)
    with gr.Accordion(_("More settings"), open=False, elem_id="new-more") if prefix == NEW else gr.Group():
        scale = _scale_field(prefix)
        most, threshold, lease, seed = _number_fields(prefix)
        average, step, may_revise, is_random = _choice_fields(prefix)
        language = _language_field(prefix)
        repeats = whole_field(
            DEFAULTS.repeat_percent,
            label=_("Repeat pairs (%)"),
            info=_("So many of a rater's pairs come back to them, unmarked: do they agree with themselves?"),
            elem_id=f"{prefix}-repeats",
        )
    seen.select(
        preview_texts,
        [guidelines, consent, scale_words, scale],
        preview,
        api_name=f"preview_{prefix}_guidelines",
        show_progress="hidden",
    )
    _say_range(prefix, said, raters, threshold, scale)
    if prefix == NEW:  # the threshold of a project that is there is changed by hand alone
        gr.on(
            [raters.input],
            follow_raters,
            [raters, threshold, scale],
            threshold,
            api_name="follow_raters",
            trigger_mode="always_last",
            **QUIETLY,
        )
        gr.on(
            [types.change, language.change],  # the address may have ticked one
            follow_types,
            [types, guidelines, language],
            guidelines,
            api_name="follow_types",
            trigger_mode="always_last",
            **QUIETLY,
        )
        gr.on(
            [scale.change],
            follow_scale,
            [scale, raters, threshold],
            [step, threshold],
            api_name="follow_scale",
            trigger_mode="always_last",
            **QUIETLY,
        )
    return SettingsFields(
        *(name, types, own_types, guidelines, raters, threshold, step, is_random, seed, may_revise, lease),
        most,
        consent,
        scale_words,
        average,
        repeats,
        scale,
        language,
    )


def _number_fields(prefix: str) -> tuple[gr.Textbox, gr.Textbox, gr.Number, gr.Textbox]:
    with gr.Row():
        most = gr.Textbox(  # a Number would show 0 where there is no limit
            "",
            label=_("Most pairs per rater"),
            info=_("For equal shares; empty for no limit"),
            max_lines=1,
            min_width=NARROW,
            elem_id=f"{prefix}-most",
        )
        threshold = decimal_field(
            DEFAULTS.threshold,
            label=_("Flag a difference of"),
            info=_("This much or more is adjudicated; empty for never"),
            elem_id=f"{prefix}-threshold",
        )
        lease = whole_field(
            DEFAULTS.lease_minutes,
            label=_("Time limit per pair (minutes)"),
            info=_("After that, others may get it"),
            elem_id=f"{prefix}-lease",
        )
        seed = gr.Textbox(  # a Number would round a large one
            str(DEFAULTS.seed),
            label=_("Seed for the order"),
            info=_("Makes the order reproducible, also of larger items"),
            max_lines=1,
            min_width=NARROW,
            elem_id=f"{prefix}-seed",
        )
    return most, threshold, lease, seed


def _scale_field(prefix: str) -> gr.Dropdown:
    """Of a project that is there it says which scale it has; that stays."""
    return gr.Dropdown(
        [(_(said), name) for said, name in SCALES],
        value="clss",
        label=_("Scale"),
        info=_("Or your own: lowest, highest and step, such as 1-5/0.5. It cannot change later")
        if prefix == NEW
        else _("Chosen when the project was made"),
        allow_custom_value=True,
        interactive=prefix == NEW,
        elem_id=f"{prefix}-grades",
    )


def follow_scale(scale: object, raters: object, threshold: object) -> tuple[Any, Any]:
    """The steps of a scale that was chosen, and its usual threshold, but for a project without one."""
    try:
        chosen, step = parse_scale(str(scale or ""))
        number, given = whole_of(raters, "number"), decimal_or_none(threshold, "number")
    except SettingsError as error:
        gr.Warning(escape(str(error)))
        return gr.skip(), gr.skip()
    of_range = gr.skip() if given is None else decimal_text(default_threshold(number, chosen))
    return _step_of(chosen, step), of_range


def _step_of(scale: Scale, step: Decimal) -> Any:
    return gr.Radio(choices=[str(known) for known in scale.steps], value=str(step))


def _say_range(
    prefix: str, said: gr.HTML, raters: gr.Number, threshold: gr.Textbox, scale: gr.Dropdown
) -> None:
    """Below the number of raters, while it says so: that more of them mean more flagged pairs."""
    gr.on(
        [raters.change, threshold.change],
        range_html,
        [raters, threshold, scale],
        said,
        api_name=f"show_{prefix}_range",
        trigger_mode="always_last",
        **QUIETLY,
    )


def follow_raters(raters: object, threshold: object, scale: object = "clss") -> Any:
    """The usual threshold for so many raters, in place of that for another number; one's own stays."""
    try:
        number, given = whole_of(raters, "number"), decimal_or_none(threshold, "number")
        chosen, _words = parse_scale(str(scale or ""))
    except SettingsError:
        return gr.skip()
    is_usual = given in usual_thresholds(chosen)
    return decimal_text(default_threshold(number, chosen)) if is_usual else gr.skip()


def follow_types(types: list[str] | None, guidelines: str | None, language: str | None = ENGLISH) -> Any:
    """Starter guidelines for the types that are ticked, in place of those for others; one's own stay."""
    code = language or ENGLISH
    return starter_guidelines(types or (), code) if is_starter(guidelines or "") else gr.skip()


def range_html(raters: object, threshold: object, scale: object = "clss") -> str:
    """What to know of the two numbers; nothing while one of them cannot be read."""
    try:
        chosen, _words = parse_scale(str(scale or ""))
        text = wider_range_text(whole_of(raters, "number"), decimal_or_none(threshold, "number"), chosen)
    except SettingsError:
        return ""
    return text and note_html(text, role="status")


def _choice_fields(prefix: str) -> tuple[gr.Radio, gr.Radio, gr.Checkbox, gr.Checkbox]:
    average = gr.Radio(
        [(_("mean of its grades"), Average.MEAN.value), (_("median of its grades"), Average.MEDIAN.value)],
        value=DEFAULTS.average.value,
        label=_("Gold grade of a pair without a decision"),
        elem_id=f"{prefix}-average",
    )
    step = gr.Radio(
        [str(known) for known in STEPS],
        value=str(DEFAULTS.step),
        label=_("Steps between grades"),
        elem_id=f"{prefix}-step",
    )
    may_revise = gr.Checkbox(
        DEFAULTS.may_revise, label=_("Raters may change their grades"), elem_id=f"{prefix}-revise"
    )
    is_random = gr.Checkbox(DEFAULTS.is_random, label=_("Pairs in random order"), elem_id=f"{prefix}-random")
    return average, step, may_revise, is_random


def _language_field(prefix: str) -> gr.Dropdown:
    return gr.Dropdown(
        [(name, code) for code, name in LANGUAGES.items()],
        value=DEFAULTS.language,
        label=_("Language of the raters' pages"),
        info=_("Raters may choose another one; what you write yourself stays as it is"),
        elem_id=f"{prefix}-language",
    )


def _text_fields(prefix: str) -> tuple[gr.Textbox, gr.Textbox, gr.Textbox, gr.Tab, gr.HTML]:
    """Guidelines, the text to agree to and own words of the scale; the tab and the place of a look at all."""
    with gr.Tabs(overflow_behavior="wrap"):
        with gr.Tab(_("Guidelines")):
            guidelines = gr.Textbox(
                label=_("Guidelines in Markdown"),
                info=_(STARTER_SAYS) if prefix == NEW else None,
                lines=14,
                max_lines=24,
                elem_id=f"{prefix}-guidelines",
            )
        with gr.Tab(_("Consent")):
            consent = gr.Textbox(
                label=_("Consent text in Markdown"),
                info=_(CONSENT_SAYS),
                lines=12,
                max_lines=24,
                elem_id=f"{prefix}-consent",
            )
        with gr.Tab(_("Scale")):
            scale_words = gr.Textbox(
                label=_("Your own words for the points of the scale"),
                info=_(SCALE_SAYS),
                placeholder=table_1(),
                lines=12,
                max_lines=24,
                elem_id=f"{prefix}-scale",
            )
        with gr.Tab(_("As raters see them")) as seen:
            preview = gr.HTML(
                empty_html(_(EMPTY_PREVIEW)), elem_id=f"{prefix}-preview", elem_classes="guidelines"
            )
    return guidelines, consent, scale_words, seen, preview


def preview_texts(
    guidelines: str, consent: str = "", scale_words: str = "", scale: object = DEFAULTS.scale.name
) -> str:
    """What raters will read, from Markdown, and own words of the scale; nothing is kept."""
    shown = markdown_html(guidelines) if guidelines and guidelines.strip() else empty_html(_(EMPTY_PREVIEW))
    shown += _preview_scale(scale_words or "", str(scale or ""))
    if not consent or not consent.strip():
        return shown
    return f'<p class="small">{_(CONSENT_FIRST)}</p>{markdown_html(consent)}<hr>{shown}'


def _preview_scale(scale_words: str, scale: str) -> str:
    """The points in the project's own words, or why these cannot be used; nothing without any."""
    if not scale_words.strip():
        return ""
    try:
        tables = own_scale_html(scale_words, parse_scale(scale)[0])
    except SettingsError as error:
        return note_html(str(error))
    return tables and f'<div class="rate rate-guidelines">{tables}</div>'


def settings_values(settings: ProjectSettings) -> list[Any]:
    """What the fields show of a project, in their order."""
    known = [name for name in settings.types if name in COMPARISON_TYPES]
    own = [name for name in settings.types if name not in COMPARISON_TYPES]
    return [
        settings.name,
        known,
        " ".join(own),
        settings.guidelines,
        settings.raters_per_pair,
        decimal_text(settings.threshold),
        str(settings.step) if settings.scale == CLSS else _step_of(settings.scale, settings.step),
        settings.is_random,
        str(settings.seed),
        settings.may_revise,
        settings.lease_minutes,
        "" if settings.most_per_rater is None else str(settings.most_per_rater),
        settings.consent,
        settings.scale_words,
        settings.average.value,
        settings.repeat_percent,
        "clss" if settings.scale == CLSS else settings.scale.name,
        settings.language,
    ]


def read_settings_form(values: Sequence[Any]) -> ProjectSettings:
    """The settings that the fields hold, in their order, as they are kept.

    Raises:
        SettingsError: some of them cannot be used; it tells all of these.
    """
    wrong = WrongSettings()
    name, types, own_types, guidelines, raters, threshold, step, is_random, seed, *others = values
    may_revise, lease, most, consent, scale_words, average, repeats, scale, language = others
    chosen = (*(types or ()), *str(own_types or "").replace(",", " ").split())
    settings = ProjectSettings(
        name=str(name or ""),
        types=wrong.check(_some_type, chosen, instead=DEFAULTS.types),
        guidelines=str(guidelines or ""),
        raters_per_pair=wrong.check(
            whole_of, raters, mark("number of raters per pair"), instead=DEFAULTS.raters_per_pair
        ),
        threshold=wrong.check(
            decimal_or_none, threshold, mark("difference for adjudication"), instead=DEFAULTS.threshold
        ),
        average=wrong.check(_average_of, average, instead=DEFAULTS.average),
        step=wrong.check(decimal_of, step, mark("step between grades"), instead=DEFAULTS.step),
        is_random=bool(is_random),
        seed=wrong.check(whole_of, seed, mark("seed"), instead=DEFAULTS.seed),
        may_revise=bool(may_revise),
        lease_minutes=wrong.check(whole_of, lease, mark("number of minutes"), instead=DEFAULTS.lease_minutes),
        most_per_rater=wrong.check(whole_or_none, most, mark("limit of pairs per rater"), instead=None),
        consent=str(consent or ""),
        scale_words=str(scale_words or ""),
        repeat_percent=wrong.check(
            whole_of, repeats, mark("percentage of repeat pairs"), instead=DEFAULTS.repeat_percent
        ),
        scale=wrong.check(parse_scale, str(scale or ""), instead=(CLSS, CLSS.step))[0],
        language=str(language or DEFAULTS.language),
    )
    checked = wrong.check(check_settings, settings, instead=settings)
    wrong.raise_if_any()
    return checked


def _average_of(value: object) -> Average:
    if value not in set(Average):
        raise SettingsError(_("The gold grade without a decision is the mean or the median: choose one."))
    return Average(str(value))


def _some_type(chosen: tuple[str, ...]) -> tuple[str, ...]:
    if chosen:
        return chosen
    raise SettingsError(
        _("The project has no comparison types: tick at least one, or name types of your own.")
    )


NO_PAIRS = mark("No pairs yet. Import a file of pairs, then invite raters.")


def pairs_done_text(done: int, pairs: int) -> str:
    """3 of 7 pairs done."""
    return ngettext(
        "{done} of {count} pair done",
        "{done} of {count} pairs done",
        pairs,
        done=group_digits(done),
        count=group_digits(pairs),
    )


def counts_html(counts: ProjectCounts) -> str:
    """How far the project is, for each type and genre."""
    if not counts.pairs:
        return empty_html(all_withdrawn_text(counts.withdrawn) if counts.withdrawn else _(NO_PAIRS))
    done = pairs_done_text(counts.finished, counts.pairs)
    flagged, waiting = group_digits(counts.flagged), group_digits(counts.to_adjudicate)
    said = [grades_text(counts.ratings)]
    said.append(
        _("{flagged} flagged, {waiting} to adjudicate", flagged=flagged, waiting=waiting)
        if counts.flagged
        else _("{flagged} flagged", flagged=flagged)
    )
    if counts.withdrawn:
        said.append(_("{pairs} withdrawn", pairs=pairs_text(counts.withdrawn)))
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(type_label(group.type))}</th>'
        f'<td dir="auto">{escape(group.genre or "–")}</td>'
        + "".join(
            f'<td class="number">{group_digits(figure)}</td>'
            for figure in (group.pairs, group.finished, group.ratings, group.flagged)
        )
        + "</tr>"
        for group in counts.groups
    )
    heads = (_("Type"), _("Genre"), _("Pairs"), _("Done"), _("Grades"), _("Flagged"))
    return (
        f"<p>{progress_html(counts.finished, counts.pairs, done)}</p><p>{escape(' · '.join(said))}</p>"
        f"{listing_html(heads, rows, numbers=range(2, len(heads)), label=_('Pairs by type'))}"
    )


MOST_SHOWN = 20


def stuck_html(stuck: StuckPairs, project_id: int) -> str:
    """How many there are or will be, what to do, and the first of them; nothing where there are none."""
    return _stuck_html(stuck, project_id) + _short_html(stuck, project_id)


def _short_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.short_text:
        return ""
    deeds = {
        "short": escape(regroup_numbers(stuck.short_text)),
        "raise_limit": _tab_link(project_id, "settings", _("raise the limit")),
        "invite": _tab_link(project_id, "members", _("invite another rater")),
    }
    said = (
        _("{short}: {raise_limit}, {invite}, or resume one who is paused.", **deeds)
        if stuck.paused
        else _("{short}: {raise_limit}, or {invite}.", **deeds)
    )
    links = escape(f" {regroup_numbers(stuck.links_text)}") if stuck.open_links and not stuck.total else ""
    return f'<p class="note" role="status" id="project-short">{said}{links}</p>'


def _tab_link(project_id: int, tab: str, text: str) -> str:
    return f'<a href="/annotate/project?project={project_id}&amp;tab={tab}">{escape(text)}</a>'


def _stuck_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.total:
        return ""
    links = [escape(regroup_numbers(stuck.links_text))] if stuck.open_links else []
    count = group_digits(stuck.total)
    if not stuck.raters:
        said = ngettext(
            "{count} pair lacks grades, and no rater can be given pairs. {invite}.",
            "{count} pairs lack grades, and no rater can be given pairs. {invite}.",
            stuck.total,
            count=count,
            invite=_tab_link(project_id, "members", _("Invite raters, or grade them yourself")),
        )
        return f'<p class="note" role="status" id="project-stuck">{" ".join([said, *links])}</p>'
    lack = ngettext(
        "{count} pair lacks grades, and too few raters are left for it.",
        "{count} pairs lack grades, and too few raters are left for them.",
        stuck.total,
        count=count,
    )
    said = " ".join([escape(lack), *_remedies(stuck, project_id), *links])
    items = "".join(f'<li dir="auto">{escape(stuck_text(pair))}</li>' for pair in stuck.items[:MOST_SHOWN])
    rest = stuck.total - min(stuck.total, MOST_SHOWN)
    more = f'<p class="small">{_("And {count} more.", count=group_digits(rest))}</p>' if rest else ""
    return (
        f'<div class="note" role="status" id="project-stuck"><p>{said}</p>'
        f"<details><summary>{_('Which pairs')}</summary><ul>{items}</ul>{more}</details></div>"
    )


def _remedies(stuck: StuckPairs, project_id: int) -> list[str]:
    """What can be done about pairs that too few raters are left for, as sentences in HTML."""
    told = []
    if stuck.by_limit:
        limit = escape(regroup_numbers(stuck.limit_text))
        told.append(f"{limit}: {_tab_link(project_id, 'settings', _('raise the limit'))}.")
        invite = _tab_link(project_id, "members", _("invite another rater"))
        told.append(
            _("Or {deed}, or resume one who is paused.", deed=invite)
            if stuck.paused
            else _("Or {deed}.", deed=invite)
        )
    else:
        invite = _tab_link(project_id, "members", _("Invite another rater"))
        told.append(_("{deed}, or resume one who is paused.", deed=invite) if stuck.paused else f"{invite}.")
    if stuck.fewer_would_do:
        lower = _tab_link(project_id, "settings", _("lower the number of raters per pair"))
        told.append(_("Or {deed}.", deed=lower))
    if stuck.broken:
        broken = regroup_numbers(stuck.broken_text)
        text = _("{broken}: a pair that cannot be graded can be withdrawn under All pairs.", broken=broken)
        told.append(escape(text))
    return told


def stuck_text(pair: StuckPair) -> str:
    """p-17, Sentence to phrase: 1 grade, 1 more needed, 0 raters left, 2 skips, 1 as broken"""
    skips = ngettext("{count} skip", "{count} skips", pair.skips, count=group_digits(pair.skips))
    raters = ngettext(
        "{count} rater left", "{count} raters left", pair.raters_left, count=group_digits(pair.raters_left)
    )
    told = [
        grades_text(pair.grades),
        _("{count} more needed", count=group_digits(pair.missing)),
        raters,
        skips,
    ]
    if pair.broken:
        told.append(_("{count} as broken", count=group_digits(pair.broken)))
    return f"{pair.external_id}, {type_label(pair.type)}: {', '.join(told)}"


FORMATS = [
    ("JSON Lines", Format.JSONL.value),
    ("CSV", Format.CSV.value),
    (mark("CSV for spreadsheet programs: no text runs as a formula"), Format.SPREADSHEET.value),
    ("Parquet", Format.PARQUET.value),
    (mark("SemEval-2014 Task 3: input and gold files"), Format.SEMEVAL.value),
]
UNFINISHED = [
    (mark("Export only when there are none"), Unfinished.REFUSE.value),
    (mark("Leave them out"), Unfinished.LEAVE_OUT.value),
    (mark("List them in a separate file"), Unfinished.LIST.value),
]
RATERS = [
    (mark("Without individual grades"), RaterColumns.NONE.value),
    (mark("With grades of “rater 1” and so on"), RaterColumns.ANONYMOUS.value),
    (mark("With grades and account names"), RaterColumns.NAMED.value),
]
NOTHING_TO_EXPORT = mark("No pairs yet. Import a file of pairs; the gold set grows with their grades.")


@dataclass(frozen=True)
class ExportHandlers:
    accounts: AccountService
    gold: GoldService

    def show(
        self,
        format: str | None,
        unfinished: str | None,
        raters: str | None,
        comments: bool | None,
        request: gr.Request,
    ) -> tuple[str, str]:
        """What would be written, with the link that writes it, and the exports before."""
        try:
            project_id, _user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            options = read_options(format or "", unfinished or "", raters or "", "yes" if comments else "")
            earlier = exports_html(self.gold.exports(project_id))
            counts = self.gold.counts(project_id)
            if not counts.pairs:
                said = all_withdrawn_text(counts.withdrawn) if counts.withdrawn else _(NOTHING_TO_EXPORT)
                return empty_html(said), earlier
            try:
                self.gold.check(project_id, options)
            except ExportError as error:
                return export_counts_html(counts) + closed_html(str(error)), earlier
        except AnnotationError as error:
            return note_html(str(error), role="alert"), ""
        return export_counts_html(counts) + link_html(project_id, options, counts), earlier


def build_export_section(handlers: ExportHandlers) -> Filling:
    default = ExportOptions()
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            section_heading(_("Export the gold set"), "export-heading")
            format = gr.Radio(
                translate_choices(FORMATS),
                value=default.format.value,
                label=_("Format"),
                elem_id="export-format",
            )
            unfinished = gr.Radio(
                translate_choices(UNFINISHED),
                value=default.unfinished.value,
                label=_("Pairs without a gold grade"),
                elem_id="export-unfinished",
            )
            raters = gr.Radio(
                translate_choices(RATERS),
                value=default.raters.value,
                label=_("Raters"),
                elem_id="export-raters",
            )
            comments = gr.Checkbox(
                default.comments, label=_("Include raters' comments"), elem_id="export-comments"
            )
        with gr.Column(scale=6, min_width=320):
            section_heading(_("What is written"), "export-result-heading")
            result = gr.HTML("", elem_id="export-result", js_on_load=None)
            section_heading(_("Earlier exports"), "export-earlier-heading")
            earlier = gr.HTML("", elem_id="export-earlier", js_on_load=None)
            again = gr.Button(_("Refresh"), elem_id="export-again", size="sm")
    fields: list[Any] = [format, unfinished, raters, comments]
    filling = Filling(handlers.show, [result, earlier], "show_export", fields)
    for number, field in enumerate(fields, 1):
        filling.when(field.change, name=f"show_export_{number}")
    filling.when(again.click, name="show_export_again")
    return filling


def translate_choices(choices: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(_(said), value) for said, value in choices]


def export_counts_html(counts: GoldCounts) -> str:
    """How many pairs have a gold grade, and what the others lack."""
    rows: tuple[tuple[str, int, str], ...] = (
        (
            _("With a gold grade"),
            counts.with_gold,
            _("adjudicated, or the average of grades that are close enough"),
        ),
        (_("Too few grades"), counts.too_few_ratings, _("fewer than the project asks for")),
        (_("Not adjudicated"), counts.not_adjudicated, _("flagged, without a decision")),
    )
    if counts.reopened:
        meaning = _("of those with a gold grade: graded after the decision, which counts until changed")
        rows = (*rows, (_("Open again"), counts.reopened, meaning))
    if counts.problems:
        meaning = _(
            "of those with a gold grade: see Comments and skips; withdraw those that should not count"
        )
        rows = (*rows, (_("Marked as a problem"), counts.problems, meaning))
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td '
        f'class="number">{group_digits(number)}</td><td>{escape(meaning)}</td></tr>'
        for name, number, meaning in rows
    )
    return listing_html((), body, caption=pairs_text(counts.pairs), label=_("Pairs of the gold set"))


def link_html(project_id: int, options: ExportOptions, counts: GoldCounts) -> str:
    """The link that downloads the gold set, and what is in it."""
    said = [
        _(
            "A ZIP archive: {pairs}, a manifest with the protocol, counts, α and the SHA-256 of each file, "
            "and README.md, a dataset card for publishing it.",
            pairs=_exported_text(options, counts),
        )
    ]
    if options.format is Format.SEMEVAL:
        said.append(_("This layout holds no genres, no raters' grades and no comments."))
    address = escape(gold_address(project_id, options))
    return (
        f'<p><a id="export-download" href="{address}" download>{_("Export gold")}</a></p>'
        '<p id="export-told" class="small" role="status"></p>'
        f'<p class="small">{escape(" ".join(said))}</p>'
    )


def _exported_text(options: ExportOptions, counts: GoldCounts) -> str:
    """Which pairs are in the archive."""
    gold = ngettext(
        "{count} pair with a gold grade",
        "{count} pairs with a gold grade",
        counts.with_gold,
        count=group_digits(counts.with_gold),
    )
    missing = counts.pairs - counts.with_gold
    if not missing:
        return gold
    told = {"gold": gold, "count": group_digits(missing)}
    if options.unfinished is Unfinished.LIST:
        return ngettext(
            "{gold}, {count} other in a separate file",
            "{gold}, {count} others in a separate file",
            missing,
            **told,
        )
    return ngettext("{gold}, {count} other left out", "{gold}, {count} others left out", missing, **told)


def closed_html(reason: str) -> str:
    """The button while these options cannot be exported, and why."""
    return (
        '<p><button type="button" id="export-closed" disabled aria-describedby="export-reason">'
        f'{_("Export gold")}</button></p><div id="export-reason">{note_html(regroup_numbers(reason))}</div>'
    )


def exports_html(records: list[ExportRecord]) -> str:
    """The exports before, the last first."""
    if not records:
        return empty_html(_("Nothing has been exported yet."))
    body = "".join(
        f"<tr><td>{time_html(record.at)}</td><td>{record.options.format}</td>"
        f'<td class="number">{group_digits(record.pairs)}</td>'
        f"<td><bdi>{escape(record.by or _('command line'))}</bdi></td>"
        f'<td><code title="{record.manifest_sha256}">{record.manifest_sha256[:12]}</code></td></tr>'
        for record in records
    )
    heads = (_("When"), _("Format"), _("Pairs"), _("By"), _("Manifest"))
    return listing_html(heads, body, numbers=(2,), label=_("Exports"))


TABS = ("pairs", "members", "quality", "settings", "gold", "events")
SAVED = mark("Saved. Raters see the changes when they open their page again.")


@dataclass(frozen=True)
class ProjectHandlers:
    accounts: AccountService
    projects: ProjectService
    events: EventService
    pairs: PairService
    consents: ConsentService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The tab that the address names, and the settings; for others than administrators nothing."""
        try:
            project_id, _user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            project = self.projects.get(project_id)
        except AnnotationError as error:  # `explain` shows it on the page, where it stays
            raise gr.Error(escape(str(error)), visible=False, print_exception=False) from error
        asked = request.query_params.get("tab", "")
        tabs = gr.Tabs(visible=True, selected=asked if asked in TABS else TABS[0])
        return "", tabs, print_settings(project.settings), *settings_values(project.settings)

    def explain(self, request: gr.Request) -> str:
        """Why the page stays closed."""
        try:
            require_member(request, self.accounts, Role.ADMINISTRATOR)
        except AnnotationError as error:
            return empty_html(str(error))
        return ""

    def show_counts(self, request: gr.Request) -> tuple[str, str]:
        """How far the pairs are, and what was done."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            counts = self.projects.counts(project_id, viewer=user.id)
            events = self.events.recent(project_id, viewer=user.id)
            stuck = self.pairs.stuck(project_id)
        return counts_html(counts) + stuck_html(stuck, project_id), events_html(events)

    def save(self, request: gr.Request, seen: str, *values: object) -> tuple[Any, ...]:
        """Change what the form says; what somebody else changed meanwhile comes into it."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = read_settings_form(values)
            before = self.projects.get(project_id).settings
            counts = self.projects.counts(project_id, viewer=user.id)
            kept = self.projects.update(project_id, mine, seen=seen, by=user).settings
            anew = self.consents.count_to_renew(project_id) if kept.consent != before.consent else 0
            follows = [regroup_numbers(describe_renewal(anew))]
            counts_now = self.projects.counts(project_id, viewer=user.id)
            if kept.threshold != before.threshold:
                follows.append(regroup_numbers(flagged_text(counts, counts_now)))
            if kept.scale_words != before.scale_words:
                follows.append(regroup_numbers(earlier_words_text(counts_now.ratings)))
        shown = settings_values(kept)
        is_mine = shown == settings_values(mine)
        fields = [gr.skip() for _value in shown] if is_mine else shown  # somebody may be typing
        said = saved_html(_(SAVED), is_alone=is_mine)
        said += "".join(note_html(text, role="status") for text in follows if text)
        return said, print_settings(kept), *fields

    def delete(self, request: gr.Request, typed: str | None) -> str:
        """Delete the project whose name was typed; where to go then."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            self.projects.delete(project_id, typed or "", by=user)
        return "/annotate/"


def build_project_page(
    handlers: ProjectHandlers,
    imports: ImportHandlers,
    members: MembersHandlers,
    quality: QualityHandlers,
    exports: ExportHandlers,
    remarks: RemarksHandlers,
    pairs: PairListHandlers,
    set_aside: ExclusionHandlers,
    crowds: CrowdHandlers,
    header: Filling,
    page: gr.Blocks,
) -> None:
    closed = gr.HTML(empty_html(_("Opening the project.")), elem_id="project-closed")
    with gr.Tabs(visible=False, elem_id="project-tabs", overflow_behavior="wrap") as tabs:
        with gr.Tab(_("Pairs"), id="pairs"):
            pairs_tab = _build_pairs_tab(imports, pairs, remarks)
        with gr.Tab(_("Members"), id="members") as members_tab:
            filling_members, members_changed, links = build_members_section(members)
            crowd = build_crowd_section(crowds, links)
            filling_graded, grades_changed = build_exclusion_section(set_aside)
        with gr.Tab(_("Quality"), id="quality") as quality_tab:
            quality_settings, filling_quality, quality_changed = build_quality_section(quality)
        with gr.Tab(_("Settings"), id="settings"):
            settings = _build_settings_tab(handlers)
        with gr.Tab(_("Gold"), id="gold"):  # which the menu leads to, and no tab that is shown
            filling_gold = build_export_section(exports)
        with gr.Tab(_("Events"), id="events") as events_tab:
            section_heading(_("What was done"), "project-events-heading")
            events = gr.HTML("", elem_id="project-events", js_on_load=None)
    opened = page.load(
        handlers.open,
        outputs=[closed, tabs, *settings.shown],
        api_name="open_project",
        show_progress="hidden",
    )
    explained = opened.failure(handlers.explain, outputs=closed, api_name="explain_project", **QUIETLY)
    keep_reason(explained, closed)
    seen, *fields = settings.shown
    is_open = [(tabs, {"selected": "settings"})]
    kept_in = (
        *(("pairs", pairs_tab.named), ("members", filling_graded), ("members", crowd.settings)),
        ("quality", quality_settings),
    )
    for tab, filling in kept_in:
        filling.keep_in(tabs, tab, *filling.after(opened))
    settings.kept.keep(fields, seen, around=is_open, shown=[opened], saved=[settings.saving])
    pairs_changed = (opened, settings.saving, *pairs_tab.changed)
    filling_members.after(opened, pairs_tab.imported, *grades_changed)
    filling_graded.after(pairs_tab.imported)
    crowd.shown.after(opened)
    crowd.shown.when(members_tab.select)
    pairs_tab.types.after(opened, settings.saving)
    pairs_tab.named.after(settings.saving)
    for listed in pairs_tab.lists:
        listed.after(*pairs_changed, *grades_changed)
    counted_anew = (*pairs_changed, *members_changed, *crowd.changed, *grades_changed, *quality_changed)
    _show_counts(handlers, [pairs_tab.counts, events], counted_anew, events_tab)
    header.after(settings.saving, *members_changed)  # it has the name and where the roles lead
    filling_gold.after(*pairs_changed)
    filling_quality.when(quality_tab.select)


@dataclass(frozen=True)
class _PairsTab:
    counts: gr.HTML
    types: Filling
    """Of the form of the import."""
    named: Filling
    """Of the form that changes named pairs."""
    lists: tuple[Filling, ...]
    imported: Any
    """The event of an import."""
    changed: tuple[Any, ...]
    """The events that change which pairs there are."""


def _build_pairs_tab(imports: ImportHandlers, pairs: PairListHandlers, remarks: RemarksHandlers) -> _PairsTab:
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            section_heading(_("Pairs"), "project-pairs-heading")
            counts = gr.HTML("", elem_id="project-counts", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            types, imported = build_import_section(imports)
    listed, named, changed = build_pair_list(pairs)
    said = build_remarks_section(remarks)
    return _PairsTab(counts, types, named, (said, listed), imported, (imported, *changed))


@dataclass(frozen=True)
class _SettingsTab:
    shown: list[Any]
    """What `open` fills: the settings as they were read, and the fields."""
    saving: Any
    """The event of saving them."""
    kept: KeptForm


def _build_settings_tab(handlers: ProjectHandlers) -> _SettingsTab:
    kept = build_kept_form("project")
    fields = settings_fields("project")
    seen = unseen_box("project-seen")
    saved = answer_place("project-saved")
    save = gr.Button(_("Save settings"), variant="primary", elem_id="project-save")
    _build_deletion(handlers)
    shown = [seen, *fields.components]
    saving = answer_event(
        save.click, handlers.save, shown, [saved, *shown], js=kept.sends, api_name="save_project"
    )
    return _SettingsTab(shown, saving, kept)


def _show_counts(handlers: ProjectHandlers, places: list[Any], after: Sequence[Any], tab: gr.Tab) -> None:
    """Count again after each of the events, and when the tab of events is chosen."""
    for number, event in enumerate(after, start=1):
        event.success(handlers.show_counts, outputs=places, api_name=f"show_counts_{number}", **QUIETLY)
    tab.select(handlers.show_counts, outputs=places, api_name="show_events", **QUIETLY)


def _build_deletion(handlers: ProjectHandlers) -> None:
    with gr.Accordion(_("Delete the project"), open=False, elem_id="project-deletion"):
        warning = _(
            "This deletes its pairs, grades and decisions for good. Export the gold set first. To confirm, "
            "type the name of the project."
        )
        gr.HTML(f"<p>{warning}</p>", elem_id="project-deletion-warning")
        with gr.Row(elem_classes="form-row"):
            typed = gr.Textbox(
                label=_("Name of the project"), max_lines=1, elem_id="project-deletion-name", scale=3
            )
            delete = gr.Button(
                _("Delete for good"), variant="stop", elem_id="project-delete", scale=1, min_width=120
            )
        refused = gr.HTML("", elem_id="project-deletion-refused", js_on_load=None)
    gone = unseen_box("project-gone")
    deleting = delete.click(handlers.delete, typed, gone, api_name="delete_project")
    deleting.success(None, gone, js=GO_ON, api_name="leave_project")
    keep_reason(deleting, refused)
