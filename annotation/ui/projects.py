"""My projects, how far they are and what to do next; the settings of a new project or of one that exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from annotation.assignment import Progress
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import AnnotationError, SettingsError, WrongSettings
from annotation.projects import DEFAULTS, STEPS, check_settings, wider_range_text
from annotation.scale import CLSS_POINTS
from annotation.services.accounts import AccountService
from annotation.services.projects import OverviewService, ProjectLine, ProjectService
from annotation.services.ratings import RatingService
from annotation.types import ProjectSettings, Role, User
from annotation.ui.widgets import (
    NARROW,
    build_kept_form,
    decimal_field,
    decimal_of,
    decimal_or_none,
    decimal_text,
    whole_field,
    whole_of,
    whole_or_none,
)
from annotation.ui.wording import all_withdrawn_text, graded_text, own_scale_html, progress_html, roles_text
from kpdemo.ui.html import count_noun, escape, group_digits, markdown_html
from kpdemo.ui.widgets import (
    GO_ON,
    QUIETLY,
    PageLink,
    done_html,
    empty_html,
    keep_reason,
    links_html,
    note_html,
    shown_to_user,
    unseen_box,
)

NOTHING_YET = "You are not in any project yet. Ask the administrator of a project to add you."
NO_MORE = (
    "You are in no project now; what you graded or wrote is kept. Ask the administrator of a project to add "
    "you again."
)
NO_PROJECTS = "No projects yet. Make one below, then import pairs and invite raters."
PAUSED = "Paused: your administrator can tell you when you can go on"
CHANGED_TEXT = "The text that you agreed to has changed: please agree again"
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
            user = self.accounts.user(request.username or "")
            lines = self.overview.projects(user)
            cards = [project_html(line, user, self._progress(line, user)) for line in lines]
        asked = str(request.query_params.get(NEW_TYPE, ""))
        types = [asked] if asked in COMPARISON_TYPES else gr.skip()
        form = gr.Accordion(visible=user.is_administrator, open=not lines or asked in COMPARISON_TYPES)
        if not cards:
            return empty_html(self._without_projects(user)), form, types
        return f'<ul class="projects">{"".join(cards)}</ul>', form, types

    def _without_projects(self, user: User) -> str:
        if user.is_administrator:
            return NO_PROJECTS
        return NO_MORE if self.overview.has_worked(user) else NOTHING_YET

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
        empty_html("Opening your projects."),
        elem_id="home-projects",
        apply_default_css=False,
        js_on_load=None,
    )
    with gr.Accordion("New project", open=False, visible=False, elem_id="home-new") as form:
        kept = build_kept_form("new")
        fields = settings_fields("new")
        make = gr.Button("Create project", variant="primary", elem_id="home-create")
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
        text = "Restore or import pairs" if line.withdrawn else "Import pairs"
        steps.append(PageLink(text, f"/annotate/project?{there}"))
    if leads and not line.raters and not line.is_graded:
        steps.append(PageLink("Invite raters", f"/annotate/project?{there}&tab=members"))
    if page := _page_of_the_text(line):
        steps.append(PageLink("Agree to the changed text", f"/annotate/{page}?{there}"))
    if Role.WRITER in line.roles and line.unwritten:
        steps.append(PageLink("Write", f"/annotate/write?{there}"))
    if (leads or Role.EDITOR in line.roles) and line.to_review:
        steps.append(PageLink(f"Review {count_noun(line.to_review, 'text')}", f"/annotate/review?{there}"))
    is_done = line.is_paused or (progress is not None and progress.rated >= progress.total)
    if progress is not None and not is_done:
        steps.append(PageLink("Grade pairs", f"/annotate/rate?{there}"))
    if settles and line.to_adjudicate:
        text = f"Adjudicate {count_noun(line.to_adjudicate, 'pair')}"
        steps.append(PageLink(text, f"/annotate/adjudicate?{there}"))
    if leads and line.is_graded and not line.to_adjudicate:
        steps.append(PageLink("Export gold", f"/annotate/project?{there}&tab=gold"))
    if settles and line.finished:
        steps.append(PageLink("See agreement", f"/annotate/agreement?{there}"))
    if progress is not None and is_done and progress.rated:
        steps.append(PageLink("See my answers", f"/annotate/rate?{there}"))
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
        facts.append(PAUSED)
    if _page_of_the_text(line):
        facts.append(CHANGED_TEXT)
    if leads and line.pairs:
        text = f"{group_digits(line.finished)} of {count_noun(line.pairs, 'pair')} fully graded"
        facts.append(progress_html(line.finished, line.pairs, text))
        if line.to_adjudicate:
            facts.append(escape(f"{group_digits(line.to_adjudicate)} to adjudicate"))
    unwritten = line.unwritten if leads or line.roles & {Role.WRITER, Role.EDITOR} else 0
    if unwritten:
        facts.append(escape(f"Up to {count_noun(unwritten, 'larger item')} to write for"))
    if not line.pairs and not unwritten:
        facts.append(_without_pairs(line, leads=bool(leads)))
    name = escape(line.name)
    title = f'<a href="{escape(_title_address(line, user))}"><bdi>{name}</bdi></a>'
    of_server = "administrator of the server" if user.is_administrator else ""
    own = line.roles - {Role.ADMINISTRATOR} if of_server else line.roles  # one is enough
    mine = ", ".join(filter(None, (of_server, roles_text(own))))
    return (
        f'<li class="project"><div class="project-about"><h2>{title}</h2>'
        f'<p class="small">{escape(mine)}</p></div>'
        f'<ul class="project-facts">{"".join(f"<li>{fact}</li>" for fact in facts)}</ul>'
        f'<p class="project-steps">{_steps_html(steps, _waiting_text(line, user))}</p></li>'
    )


def _without_pairs(line: ProjectLine, *, leads: bool) -> str:
    if not line.withdrawn:
        return "No pairs yet"
    return escape(all_withdrawn_text(line.withdrawn)) if leads else "No pairs at the moment"


def _steps_html(steps: Sequence[PageLink], waiting: str) -> str:
    return links_html(steps) if steps else f'<span class="small">{escape(waiting)}</span>'


def _waiting_text(line: ProjectLine, user: User) -> str:
    """Where this user has nothing to do: whom the project waits for, as its leaders may know."""
    leads = user.is_administrator or Role.ADMINISTRATOR in line.roles
    if (leads or Role.ADJUDICATOR in line.roles) and line.pairs > line.finished and line.raters:
        return f"Waiting for {count_noun(line.raters, 'rater')} to grade"
    if leads and line.unwritten:
        return "Waiting for writers to write"
    return "Nothing for you to do at the moment"


def _title_address(line: ProjectLine, user: User) -> str:
    """The page of the project that shows most to this user."""
    if user.is_administrator or Role.ADMINISTRATOR in line.roles:
        page = "project"
    else:
        pages = ((Role.RATER, "rate"), (Role.ADJUDICATOR, "adjudicate"), (Role.EDITOR, "review"))
        page = next((page for role, page in pages if role in line.roles), "write")
    return f"/annotate/{page}?project={line.id}"


CONSENT_SAYS = (
    "Raters and writers must agree to it before their first pair, and again after every change. Leave empty "
    "for none"
)
SCALE_SAYS = (
    "Five lines, each with a grade, a name, a colon and what it means. Lines under [document2keyphrase], for "
    "example, apply to that type only. Leave empty for the words of SemEval-2014 Task 3"
)
CONSENT_FIRST = "They agree to this first"
EMPTY_PREVIEW = "No guidelines yet. Instructions for raters appear here while they grade."
KNOWN_TYPES = [(f"{known.label} ({name})", name) for name, known in COMPARISON_TYPES.items()]
TABLE_1 = "\n".join(f"{point.value} {point.name}: {point.summary}" for point in CLSS_POINTS)
BOTH_SAVED = "Saved. Somebody else changed settings meanwhile: the form now shows their changes too."


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

    @property
    def components(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def saved_html(said: str, *, is_alone: bool) -> str:
    """That a form is saved; `is_alone` unless it shows by now what somebody else changed too."""
    return done_html(said) if is_alone else note_html(BOTH_SAVED)


def settings_fields(prefix: str) -> SettingsFields:
    """The form with the values of a new project; `prefix` begins its element ids."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            name = gr.Textbox(label="Name", max_lines=1, max_length=400, elem_id=f"{prefix}-name")
            types = gr.CheckboxGroup(  # none is ticked at first: only the pairs tell which ones are right
                KNOWN_TYPES,
                value=[],
                label="Comparison types",
                info="Tick what your pairs compare, at least one",
                elem_id=f"{prefix}-types",
            )
            own_types = gr.Textbox(
                label="Your own types",
                info="Separated by spaces, the larger item first, such as abstract2title",
                max_lines=2,
                elem_id=f"{prefix}-own-types",
            )
        with gr.Column(scale=6, min_width=320):
            guidelines, consent, scale_words = _text_fields(prefix)
    raters, most, threshold, lease, seed = _number_fields(prefix)
    _say_range(prefix, raters, threshold)
    step, may_revise, is_random = _choice_fields(prefix)
    return SettingsFields(
        *(name, types, own_types, guidelines, raters, threshold, step, is_random, seed, may_revise, lease),
        most,
        consent,
        scale_words,
    )


def _number_fields(prefix: str) -> tuple[gr.Number, gr.Textbox, gr.Textbox, gr.Number, gr.Textbox]:
    with gr.Row():
        raters = whole_field(
            DEFAULTS.raters_per_pair,
            label="Raters per pair",
            info="How many people grade each pair",
            elem_id=f"{prefix}-raters",
        )
        most = gr.Textbox(  # a Number would show 0 where there is no limit
            "",
            label="Most pairs per rater",
            info="For equal shares; empty for no limit",
            max_lines=1,
            min_width=NARROW,
            elem_id=f"{prefix}-most",
        )
        threshold = decimal_field(
            DEFAULTS.threshold,
            label="Flag a difference of",
            info="This much or more is adjudicated; empty for never",
            elem_id=f"{prefix}-threshold",
        )
        lease = whole_field(
            DEFAULTS.lease_minutes,
            label="Time limit per pair (minutes)",
            info="After that, others may get it",
            elem_id=f"{prefix}-lease",
        )
        seed = gr.Textbox(  # a Number would round a large one
            str(DEFAULTS.seed),
            label="Seed for the order",
            info="Makes the order reproducible, also of larger items",
            max_lines=1,
            min_width=NARROW,
            elem_id=f"{prefix}-seed",
        )
    return raters, most, threshold, lease, seed


def _say_range(prefix: str, raters: gr.Number, threshold: gr.Textbox) -> None:
    """Below the numbers, while they say so: that more raters mean more flagged pairs."""
    said = gr.HTML("", elem_id=f"{prefix}-range", js_on_load=None)
    gr.on(
        [raters.change, threshold.change],
        range_html,
        [raters, threshold],
        said,
        api_name=f"show_{prefix}_range",
        trigger_mode="always_last",
        **QUIETLY,
    )


def range_html(raters: object, threshold: object) -> str:
    """What to know of the two numbers; nothing while one of them cannot be read."""
    try:
        text = wider_range_text(whole_of(raters, "number"), decimal_or_none(threshold, "number"))
    except SettingsError:
        return ""
    return text and note_html(text, role="status")


def _choice_fields(prefix: str) -> tuple[gr.Radio, gr.Checkbox, gr.Checkbox]:
    step = gr.Radio(
        [str(known) for known in STEPS],
        value=str(DEFAULTS.step),
        label="Steps between grades",
        elem_id=f"{prefix}-step",
    )
    may_revise = gr.Checkbox(
        DEFAULTS.may_revise, label="Raters may change their grades", elem_id=f"{prefix}-revise"
    )
    is_random = gr.Checkbox(DEFAULTS.is_random, label="Pairs in random order", elem_id=f"{prefix}-random")
    return step, may_revise, is_random


def _text_fields(prefix: str) -> tuple[gr.Textbox, gr.Textbox, gr.Textbox]:
    """Guidelines, the text to agree to and own words of the scale, with a look at all."""
    with gr.Tabs(overflow_behavior="wrap"):
        with gr.Tab("Guidelines"):
            guidelines = gr.Textbox(
                label="Guidelines in Markdown", lines=14, max_lines=24, elem_id=f"{prefix}-guidelines"
            )
        with gr.Tab("Consent"):
            consent = gr.Textbox(
                label="Consent text in Markdown",
                info=CONSENT_SAYS,
                lines=12,
                max_lines=24,
                elem_id=f"{prefix}-consent",
            )
        with gr.Tab("Scale"):
            scale_words = gr.Textbox(
                label="Your own words for the points of the scale",
                info=SCALE_SAYS,
                placeholder=TABLE_1,
                lines=12,
                max_lines=24,
                elem_id=f"{prefix}-scale",
            )
        with gr.Tab("As raters see them") as seen:
            preview = gr.HTML(
                empty_html(EMPTY_PREVIEW), elem_id=f"{prefix}-preview", elem_classes="guidelines"
            )
    seen.select(
        preview_texts,
        [guidelines, consent, scale_words],
        preview,
        api_name=f"preview_{prefix}_guidelines",
        show_progress="hidden",
    )
    return guidelines, consent, scale_words


def preview_texts(guidelines: str, consent: str = "", scale_words: str = "") -> str:
    """What raters will read, from Markdown, and own words of the scale; nothing is kept."""
    shown = markdown_html(guidelines) if guidelines and guidelines.strip() else empty_html(EMPTY_PREVIEW)
    shown += _preview_scale(scale_words or "")
    if not consent or not consent.strip():
        return shown
    return f'<p class="small">{CONSENT_FIRST}:</p>{markdown_html(consent)}<hr>{shown}'


def _preview_scale(scale_words: str) -> str:
    """The points in the project's own words, or why these cannot be used; nothing without any."""
    try:
        tables = own_scale_html(scale_words)
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
        str(settings.step),
        settings.is_random,
        str(settings.seed),
        settings.may_revise,
        settings.lease_minutes,
        "" if settings.most_per_rater is None else str(settings.most_per_rater),
        settings.consent,
        settings.scale_words,
    ]


def read_settings_form(values: Sequence[Any]) -> ProjectSettings:
    """The settings that the fields hold, in their order, as they are kept.

    Raises:
        SettingsError: some of them cannot be used; it tells all of these.
    """
    wrong = WrongSettings()
    name, types, own_types, guidelines, raters, threshold, step, is_random, seed, *others = values
    may_revise, lease, most, consent, scale_words = others
    chosen = (*(types or ()), *str(own_types or "").replace(",", " ").split())
    settings = ProjectSettings(
        name=str(name or ""),
        types=wrong.check(_some_type, chosen, instead=DEFAULTS.types),
        guidelines=str(guidelines or ""),
        raters_per_pair=wrong.check(
            whole_of, raters, "number of raters per pair", instead=DEFAULTS.raters_per_pair
        ),
        threshold=wrong.check(
            decimal_or_none, threshold, "difference for adjudication", instead=DEFAULTS.threshold
        ),
        step=wrong.check(decimal_of, step, "step between grades", instead=DEFAULTS.step),
        is_random=bool(is_random),
        seed=wrong.check(whole_of, seed, "seed", instead=DEFAULTS.seed),
        may_revise=bool(may_revise),
        lease_minutes=wrong.check(whole_of, lease, "number of minutes", instead=DEFAULTS.lease_minutes),
        most_per_rater=wrong.check(whole_or_none, most, "limit of pairs per rater", instead=None),
        consent=str(consent or ""),
        scale_words=str(scale_words or ""),
    )
    checked = wrong.check(check_settings, settings, instead=settings)
    wrong.raise_if_any()
    return checked


def _some_type(chosen: tuple[str, ...]) -> tuple[str, ...]:
    if chosen:
        return chosen
    raise SettingsError("The project has no comparison types: tick at least one, or name types of your own.")
