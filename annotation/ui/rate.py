"""The rating page. Python writes its form once; the scripts fill it in from the JSON interface.

That is how the next pair is there at once: nothing waits for an event of Gradio's. A key is for the pair that
was on the screen when it was pressed, and for no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from hashlib import sha256

import gradio as gr

from annotation.comparison import comparison_type
from annotation.errors import AccessError, AnnotationError
from annotation.scale import ALL_TYPES, STS_POINTS, Point, Scale, item_words, read_item_words
from annotation.services.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.translation import CATALOGUES, _, mark
from annotation.types import Project, ProjectSettings, Role, SkipReason, User
from annotation.ui.widgets import require_member
from annotation.ui.wording import consent_html, examples_html, scale_html, translate_points
from annotation.wording import LONGEST_COMMENT, LONGEST_NOTE
from kpdemo.translation import (
    ENGLISH,
    LANGUAGES,
    current_language,
    html_language,
    language_of,
    use_language,
    write_decimal,
)
from kpdemo.ui.html import escape, markdown_html
from kpdemo.ui.widgets import QUIETLY, empty_html

SKIP_REASONS = {
    SkipReason.NOT_UNDERSTOOD: mark("I do not understand it"),
    SkipReason.BROKEN_TEXT: mark("The text is broken"),
    SkipReason.NOT_MY_LANGUAGE: mark("I do not speak this language"),
    SkipReason.OTHER: mark("Another reason"),
}
KEYS = (
    (("[", "←"), mark("a step down")),
    (("]", "→"), mark("a step up")),
    (("Enter",), mark("submit and next")),
    (("Backspace",), mark("the previous pair, to look at it or change it")),
    (("S",), mark("skip the pair")),
    (("C",), mark("comment, or report a problem")),
    (("Esc",), mark("leave the comment, or an earlier answer")),
    (("?",), mark("this list")),
)
_STEP_NAMES = {Decimal("0.25"): "¼", Decimal("0.5"): "½"}


def step_name(step: Decimal) -> str:
    """What a step is called on its button."""
    return _STEP_NAMES.get(step, write_decimal(step))


@dataclass(frozen=True)
class RateHandlers:
    accounts: AccountService
    projects: ProjectService

    def open(self, request: gr.Request) -> str:
        """The form for the project that the address names, or a sentence with the next step."""
        with use_language(language_of(request.cookies, request.headers)):
            return self._open(request)

    def _open(self, request: gr.Request) -> str:
        try:
            project_id, user = require_member(request, self.accounts, Role.RATER)
            if Role.RATER not in self.accounts.roles(user.name, project_id):
                raise AccessError(
                    _("You are not a rater in this project: add yourself on its page, under Members.")
                )
            project = self.projects.get(project_id)
        except AnnotationError as error:
            return problem_html(str(error))
        return form_html(
            project, user, language_of(request.cookies, request.headers, project.settings.language)
        )


def build_rate_page(handlers: RateHandlers, page: gr.Blocks) -> None:
    build_form(handlers.open, page, "rate-page", "open_rating")


def build_form(write: Callable[[gr.Request], str], page: gr.Blocks, elem_id: str, api_name: str) -> None:
    """A form in a part of its own, which the server writes when the page is opened."""
    form = gr.HTML(
        empty_html(_("Opening the project.")), elem_id=elem_id, apply_default_css=False, js_on_load=None
    )
    page.load(write, outputs=form, api_name=api_name, **QUIETLY)


def problem_html(sentence: str) -> str:
    """Why there is no form, and the way back."""
    return f'{empty_html(sentence)}<p><a href="/annotate/">{_("My projects")}</a></p>'


def storage_name(project: Project, user: User) -> str:
    """What the browser keeps unsent answers and drafts under: nobody else's, also after a new start.

    Ids start again with a new database at the same address; the moments of creation do not. Names may change.
    """
    whose = f"{user.id}\n{user.created_at}\n{project.id}\n{project.created_at.isoformat()}"
    return sha256(whose.encode()).hexdigest()[:24]


def form_html(project: Project, user: User, code: str = ENGLISH) -> str:
    """The whole form in a language, empty; nothing in it depends on a pair."""
    with use_language(code):
        return _form_html(project, user, code)


def _form_html(project: Project, user: User, code: str) -> str:
    settings = project.settings
    messages = json.dumps(CATALOGUES.messages(code), ensure_ascii=False)
    own = own_items(settings)
    items = f' data-items="{escape(json.dumps(own, ensure_ascii=False))}"' if own else ""
    return (
        f'<div id="rate-form" class="rate" lang="{html_language(code)}" data-messages="{escape(messages)}"'
        f' data-project="{project.id}" data-user="{user.id}"'
        f' data-storage="{storage_name(project, user)}" data-step="{settings.scale.to_steps(settings.step)}"'
        f"{scale_data(settings.scale)}{items}"
        f' data-may-revise="{str(settings.may_revise).lower()}"'
        f' data-has-guidelines="{str(bool(settings.guidelines.strip())).lower()}">'
        f'{_bar_html()}<div id="rate-notices"></div>{consent_html("rate")}{_message_html()}'
        f'<div id="rate-work" hidden>{_training_html()}{_pair_html()}'
        f'<div class="rate-controls"><div id="rate-dock">{_scale_html(settings)}{_feedback_html()}'
        f"{_steps_html(settings.step)}</div>{_actions_html()}</div>{_comment_html()}</div>"
        f"{guidelines_html(project)}{_gate_html()}{_history_html()}{_stop_html()}"
        f"{_language_html(code)}{_skip_dialog()}{_help_dialog(settings.scale)}"
        '<p id="rate-live" class="rate-unseen" aria-live="polite"></p></div>'
    )


def _message_html() -> str:
    return f"""
<div id="rate-message" class="empty" role="status" tabindex="-1"><span>{_("Loading the first pair.")}</span>
<p id="rate-code" hidden>{_("Your completion code:")} <code></code>
<button type="button" class="keep" data-copy data-content="">{_("Copy")}</button></p>
<p id="rate-next" class="small"></p>
<a id="rate-return" class="rate-primary" rel="noreferrer" hidden>{_("Return with your result")}</a>
<button type="button" class="rate-primary" data-rate="training" hidden></button>
<button type="button" class="keep" data-rate="resume" hidden>{_("Go on grading")}</button>
<a href="/annotate/" hidden>{_("My projects")}</a></div>
"""


def _language_html(code: str) -> str:
    options = "".join(
        f'<option value="{known}" lang="{html_language(known)}"{" selected" if known == code else ""}>'
        f"{name}</option>"
        for known, name in LANGUAGES.items()
    )
    return f"""
<p id="rate-languages"><label for="rate-language">{_("Language")}</label>
<select id="rate-language">{options}</select></p>
"""


def _bar_html() -> str:
    return f"""
<div class="rate-bar">
<p id="rate-type"></p>
<p id="rate-undo" class="rate-off"><span></span>
<button type="button" class="keep" data-rate="change" disabled>{_("Change")}</button></p>
<p class="rate-done"><span id="rate-count"></span>
<progress id="rate-progress" value="0" max="1" aria-label="{_("Pairs graded")}"></progress></p>
<p id="rate-saved" role="status"></p>
</div>
"""


def _training_html() -> str:
    return """
<p id="rate-training" class="note" hidden></p>
"""


def _feedback_html() -> str:
    return """
<div id="rate-feedback" class="note" hidden><b></b> <span dir="auto"></span></div>
"""


def _pair_html() -> str:
    return f"""
<div id="rate-earlier" class="note" hidden><span></span>
<button type="button" class="keep" data-rate="return"><span></span>
 <kbd aria-hidden="true">Esc</kbd></button></div>
<div id="rate-pair" class="rate-items" role="group" tabindex="-1" aria-label="{_("Pair")}">
<section class="rate-item"><h2 id="rate-larger"></h2>
<div id="rate-left" class="rate-text" dir="auto" lang="" tabindex="0" role="group"
 aria-labelledby="rate-larger"></div></section>
<section class="rate-item"><h2 id="rate-smaller"></h2>
<div id="rate-right" class="rate-text" dir="auto" lang="" tabindex="0" role="group"
 aria-labelledby="rate-smaller"></div></section>
</div>
"""


def _scale_html(settings: ProjectSettings) -> str:
    """The buttons, and beside them what they say of each type, for the script."""
    scale, types = settings.scale, (ALL_TYPES, *settings.types)
    words = {type: translate_points(settings, type) for type in types}
    points = "".join(
        point_html(point, f'data-rate="choose" data-value="{point.value}"') for point in words[ALL_TYPES]
    )
    said = {type: [(point.name, point.summary) for point in each] for type, each in words.items()}
    return (
        '<p id="rate-question" dir="auto"></p>'
        f'<div id="rate-scale"{shape_of(scale)} role="radiogroup" aria-labelledby="rate-question"'
        f' aria-describedby="rate-value" data-words="{escape(json.dumps(said))}">'
        f'{points}</div><p id="rate-names" class="rate-names small" dir="auto"></p>'
    )


def scale_data(scale: Scale) -> str:
    """The attributes by which the scripts know the scale."""
    return f' data-scale-step="{scale.step}" data-points="{json.dumps(scale.points)}"'


def shape_of(scale: Scale) -> str:
    """The attributes by which the buttons find room: more than six have their names below, on a phone."""
    count = len(scale.points)
    if count == 5:
        return ""
    if count <= len(STS_POINTS):
        return f' style="--points:{count}"'
    return f' class="rate-many" style="--points:{count};--columns:{count if count < 8 else (count + 1) // 2}"'


def own_items(settings: ProjectSettings) -> dict[str, dict[str, str]]:
    """Question and names of the items of each type, where the project has words of its own."""
    words = settings.scale_words
    if not read_item_words(words, settings.scale):
        return {}
    return {type: asdict(item_words(words, type, settings.scale)) for type in settings.types}


def point_html(point: Point, data: str) -> str:
    """A button of the scale; `data` are the attributes that its page's script goes by."""
    return (
        f'<button type="button" role="radio" aria-checked="false" tabindex="-1" {data}{_keys_of(point)}>'
        f'<span class="rate-point">{point.value}</span> <b dir="auto">{escape(point.name)}</b>'
        f' <span dir="auto">{escape(point.summary)}</span></button>'
    )


def _keys_of(point: Point) -> str:
    return f' aria-keyshortcuts="{point.value}"' if 0 <= point.value <= 9 else ""


def digits_of(scale: Scale) -> list[str]:
    """The keys that choose a point; none where the points are farther apart than one."""
    points = scale.points
    return [str(point) for point in points if 0 <= point <= 9] if points[1] - points[0] == 1 else []


def _steps_html(step: Decimal) -> str:
    name = step_name(step)
    return f"""
<div class="rate-foot">
<div class="rate-steps">
<button type="button" data-rate="down" aria-label="{_("{step} down", step=name)}"
 aria-keyshortcuts="[ ArrowLeft">−{name}
 <kbd aria-hidden="true">[</kbd></button>
<button type="button" data-rate="up" aria-label="{_("{step} up", step=name)}"
 aria-keyshortcuts="] ArrowRight">+{name}
 <kbd aria-hidden="true">]</kbd></button>
<output id="rate-value" aria-live="polite"><b></b> <span></span></output>
</div>
<button type="button" id="rate-submit" data-rate="submit" aria-keyshortcuts="Enter" disabled>
<span>{_("Submit and next")}</span> <kbd aria-hidden="true">Enter</kbd></button>
</div>
"""


def _actions_html() -> str:
    return f"""
<div class="rate-actions">
<button type="button" class="keep" data-rate="back" aria-keyshortcuts="Backspace">{_("‹ Back")}
 <kbd aria-hidden="true">⌫</kbd></button>
<button type="button" class="keep" data-rate="skip" aria-keyshortcuts="S">{_("Skip")}
 <kbd aria-hidden="true">S</kbd></button>
<button type="button" class="keep" data-rate="comment" aria-keyshortcuts="C" aria-expanded="false"
 aria-controls="rate-comment">{_("Comment")}<span id="rate-comment-folded"></span>
 <kbd aria-hidden="true">C</kbd></button>
<button type="button" class="keep" data-rate="help" aria-keyshortcuts="?">{_("Keys")}
 <kbd aria-hidden="true">?</kbd></button>
</div>
"""


def _comment_html() -> str:
    return f"""
<div id="rate-comment" hidden>
<label for="rate-comment-text">{_("Comment on this pair")}</label>
<textarea id="rate-comment-text" rows="3" dir="auto" maxlength="{LONGEST_COMMENT}"></textarea>
<p class="rate-row"><label><input type="checkbox" id="rate-flag">
 {_("Problem: something is wrong with this pair")}</label>
<span><output id="rate-comment-saved" class="small"></output>
<button type="button" class="keep" data-rate="keep-comment">{_("Save comment")}</button></span></p>
<p class="small">
{_("Saved with your grade, or at once by the button. Raters do not see each other's comments.")}</p>
</div>
"""


def _gate_html() -> str:
    return f"""
<p id="rate-gate" hidden><button type="button" class="rate-primary" data-rate="begin">
{_("I have read the guidelines: begin")}</button></p>
"""


def _history_html() -> str:
    return f"""
<details id="rate-history"><summary>{_("My last 20 answers")}</summary>
<p class="small" id="rate-history-rule"></p><ol></ol></details>
"""


def _stop_html() -> str:
    return f"""
<p id="rate-stop"><button type="button" class="keep" data-rate="stop">{_("Stop for today")}</button></p>
"""


def guidelines_html(project: Project, name: str = "rate-guidelines", *, may_open: bool = True) -> str:
    """The project's guidelines, the points of its scale and examples, unfolded where it has guidelines."""
    settings = project.settings
    written = markdown_html(settings.guidelines) if settings.guidelines.strip() else ""
    scale = scale_html(settings)
    # The examples are English texts: a page in another language goes without them.
    has_examples = current_language() == ENGLISH
    title = _("Guidelines and examples") if has_examples else _("Guidelines")
    examples = "".join(examples_html(comparison_type(name)) for name in settings.types if has_examples)
    is_open = " open" if written and may_open else ""
    return (
        f'<details id="{name}"{is_open}><summary><h2>{title}</h2></summary>'
        f'<div class="rate-guidelines">{written}{scale}{examples}</div></details>'
    )


def _skip_dialog() -> str:
    reasons = "".join(
        f'<label><input type="radio" name="rate-reason" value="{reason.value}"> {escape(_(text))}</label>'
        for reason, text in SKIP_REASONS.items()
    )
    return f"""
<dialog id="rate-skip" class="rate-dialog" aria-labelledby="rate-skip-title">
<form method="dialog">
<h2 id="rate-skip-title">{_("Skip this pair")}</h2>
<p>{_("It goes to somebody else and does not come back to you. Why?")}</p>
<fieldset><legend class="rate-unseen">{_("Reason")}</legend>{reasons}</fieldset>
<label for="rate-skip-note">{_("Note (optional)")}</label>
<input type="text" id="rate-skip-note" dir="auto" maxlength="{LONGEST_NOTE}">
<p class="rate-row">
<button type="submit" id="rate-skip-confirm" class="rate-primary" disabled>{_("Skip this pair")}</button>
<button type="button" class="keep" data-rate="close">{_("Keep grading it")}</button></p>
</form></dialog>
"""


def _help_dialog(scale: Scale) -> str:
    digits = digits_of(scale)
    choose = [(tuple(digits), mark("choose a grade"))] if digits else []
    rows = "".join(
        f'<tr><th scope="row">{" ".join(f"<kbd>{escape(key)}</kbd>" for key in keys)}</th>'
        f"<td>{escape(_(meaning))}</td></tr>"
        for keys, meaning in (*choose, *KEYS)
    )
    return f"""
<dialog id="rate-help" class="rate-dialog" aria-labelledby="rate-help-title">
<h2 id="rate-help-title">{_("Keys")}</h2>
<table><thead class="rate-unseen">
<tr><th scope="col">{_("Key")}</th><th scope="col">{_("Does")}</th></tr></thead>
<tbody>{rows}</tbody></table>
<p>
{_("They are off while you type in a field. ↑ and ↓ go by whole points while the scale has the focus.")}</p>
<p class="rate-row"><label><input type="checkbox" id="rate-keys-on" checked> {_("Use these keys")}</label>
<button type="button" class="keep" data-rate="close">{_("Close")}</button></p>
</dialog>
"""
