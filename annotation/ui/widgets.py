"""What the pages' forms are built of: fields that are kept, lists of choices, answers, and who asks for what.

Choices from a list: each asks the server once, and the page shows the answer to the last one.
For what is asked because somebody chose. What follows the list, whoever sets it, listens to `change`.

Numbers that a person types on a page.
A field of decimals is a text box, since Gradio's number box shows and sends 0 where there is nothing yet,
and a browser drops the comma of "3,5" from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Any, Literal, ParamSpec

import gradio as gr
from gradio.events import Dependency

from annotation.errors import AnnotationError, NotFoundError, SettingsError
from annotation.services.accounts import AccountService
from annotation.services.bundle import DamagedError, UnreachableError
from annotation.translation import _, mark
from annotation.types import Role, User
from annotation.wording import quote_value, whole_in
from kpdemo.ui.widgets import QUIETLY, done_html, keep_reason, note_html, shown_to_user, unseen_box

IS_BACK = mark("What you typed but did not save is back in the form.")


BOTH_SAVED = mark("Saved. Somebody else changed settings meanwhile: the form now shows their changes too.")


@dataclass(frozen=True)
class KeptForm:
    """Keeps the fields of a form; to be made where its note is to stand, above them.

    Gradio loads the page again when a request has not reached the server, and the fields with it.
    """

    name: str
    """Begins its element ids; no other form of the page has it."""
    row: gr.Row
    drop: gr.Button

    @property
    def sends(self) -> str:
        """The `js` of an event that saves what began and the fields, where they can be changed meanwhile."""
        return f"async (...now) => (await kpdemo).kept.send({self._name_json}, now)"

    @property
    def pauses(self) -> str:
        """The `js` of an event that fills the fields, maybe with what they began with; see `resume_after`."""
        return f"async (...now) => {{ (await kpdemo).kept.pause({self._name_json}); return now; }}"

    def resume_after(self, failed: Dependency) -> None:
        """Keep on what is typed when an event has not filled the fields."""
        script = f"async () => {{ (await kpdemo).kept.resume({self._name_json}); }}"
        failed.failure(None, js=script, api_name=f"resume_{self.name}", **QUIETLY)

    @property
    def _name_json(self) -> str:
        return json.dumps({"name": self.name})

    def keep(
        self,
        fields: Sequence[Any],
        began: gr.Textbox | gr.Dropdown | None = None,
        *,
        is_of_began: bool = False,
        around: Sequence[tuple[Any, dict[str, Any]]] = (),
        asked: Any = None,
        shown: Sequence[Dependency],
        saved: Sequence[Dependency],
    ) -> None:
        """Keep what is typed into the fields.

        Args:
            began: what the server reads with the fields, such as the version that they are of.
            is_of_began: whether what is kept belongs to that alone; else it brings that back too.
            around: what the form lies in, and how that has to change for the form to be seen.
            asked: that of the fields in which the address ticks a choice; it stays ticked.
            shown: the events that fill the fields.
            saved: those of the server taking them, which may fill them with others.
        """
        whole = [unseen_box(f"{self.name}-began") if began is None else began, *fields]
        changes = [change for _, change in around]
        place = None if asked is None else list(fields).index(asked)
        facts = {"name": self.name, "isOfBegan": is_of_began, "around": changes, "asked": place}
        form = json.dumps(facts)
        restored = [self.row, *whole, *(part for part, _ in around)]
        for deed, events in {"restore": shown, "settle": saved}.items():
            script = f"async (...now) => (await kpdemo).kept.{deed}({form}, now)"
            for number, event in enumerate(events, start=1):
                name = f"{deed}_{self.name}_{number}"
                event.success(None, whole, restored, js=script, api_name=name, **QUIETLY)
        keep = f"async (...now) => {{ (await kpdemo).kept.keep({form}, now); }}"
        changed = [field.change for field in fields]  # of a Textbox, `input` tells only of keys
        gr.on(changed, None, whole, js=keep, api_name=f"keep_{self.name}", **QUIETLY)
        drop = f"async () => (await kpdemo).kept.drop({form})"
        self.drop.click(None, outputs=[self.row, *whole], js=drop, api_name=f"drop_{self.name}", **QUIETLY)


@dataclass(frozen=True)
class Keeping:
    """What a form is to keep, for the page around it, which knows when the fields are filled."""

    form: KeptForm
    fields: Sequence[Any]
    saved: Sequence[Dependency]
    around: Sequence[tuple[Any, dict[str, Any]]] = ()
    began: gr.Textbox | None = None
    is_of_began: bool = False
    shown: Sequence[Dependency] = ()
    """Events of the form itself that fill the fields again."""

    def start(self, tabs: gr.Tabs, tab: str, *shown: Dependency) -> None:
        """Keep what is typed in that tab of the page, from the events on that fill the fields."""
        self.form.keep(
            self.fields,
            self.began,
            is_of_began=self.is_of_began,
            around=[(tabs, {"selected": tab}), *self.around],
            shown=[*shown, *self.shown],
            saved=self.saved,
        )


def build_kept_form(name: str) -> KeptForm:
    """The note that what was typed is back, unseen until it is."""
    with gr.Row(visible=False, elem_id=f"{name}-kept", elem_classes="kept-form") as row:
        gr.HTML(note_html(_(IS_BACK), role="status"), apply_default_css=False)
        drop = gr.Button(_("Drop it"), size="sm", min_width=80, elem_id=f"{name}-drop")
    return KeptForm(name, row, drop)


def saved_html(said: str, *, is_alone: bool) -> str:
    """That a form is saved; `is_alone` unless it shows by now what somebody else changed too."""
    return done_html(said) if is_alone else note_html(_(BOTH_SAVED))


@dataclass(frozen=True)
class Filling:
    """How a part of a page is filled, for the page around it."""

    handler: Callable[..., Any]
    outputs: Any
    name: str
    """Of its events in the API, where they get no other; further ones of a name get a number from Gradio."""
    inputs: Sequence[Any] = ()
    keeping: Keeping | None = None
    """Its fields that a person types into, if the browser is to keep these."""

    def after(self, *events: Any, name: str = "") -> list[Dependency]:
        """Fill it whenever one of the events has succeeded."""
        return [self.when(event.success, name=name) for event in events]

    def keep_in(self, tabs: gr.Tabs, tab: str, *filled: Dependency) -> None:
        """Have the browser keep its fields, which are in that tab, once the events have filled them."""
        if self.keeping is not None:
            self.keeping.start(tabs, tab, *filled)

    def when(self, listener: Callable[..., Any], *, name: str = "") -> Dependency:
        """Fill it whenever the listener calls, such as `tab.select`."""
        filled: Dependency = listener(
            self.handler, list(self.inputs), self.outputs, api_name=name or self.name, **QUIETLY
        )
        return filled


def on_choice(
    dropdown: gr.Dropdown,
    handler: Callable[..., Any],
    outputs: Any,
    *,
    api_name: str,
    beside: Sequence[Any] = (),
    js: str = "(...now) => now",
    **options: Any,
) -> Dependency:
    """Ask the server when somebody has chosen something else; `Dropdown.input` would ask more than once.

    Args:
        handler: gets what was chosen, then the values of `beside`.
        js: what the handler's arguments pass through in the browser.
        options: of the question, as of any event.
    """
    name = json.dumps(dropdown.elem_id)
    asked = unseen_box(f"{dropdown.elem_id}-asked")
    look = f"async (value) => {{ (await kpdemo).choice.look({name}, value); }}"
    dropdown.focus(None, dropdown, js=look, api_name=f"look_before_{api_name}", **QUIETLY)
    choose = f"async (value) => (await kpdemo).choice.choose({name}, value)"
    dropdown.input(None, dropdown, asked, js=choose, api_name=f"start_{api_name}", **QUIETLY)
    question: Dependency = asked.change(
        handler,
        [dropdown, *beside],
        outputs,
        js=f"async (...now) => ({js})(...(await kpdemo).choice.ask({name}, now))",
        api_name=api_name,
        trigger_mode="always_last",
        **options,
    )
    go_on = f"async () => (await kpdemo).choice.goOn({name})"
    question.failure(None, None, asked, js=go_on, api_name=f"go_on_to_{api_name}", **QUIETLY)
    return question


class Parts(dict[str, Any]):
    """The parts of a page by the names that handlers call them; what an answer leaves out stays as it is."""

    @property
    def outputs(self) -> list[Any]:
        return list(self.values())

    def fill(self, handler: Callable[..., dict[str, Any]]) -> Callable[..., list[Any]]:
        """The handler for an event with these `outputs`; it keeps its name and what Gradio reads of it."""

        @wraps(handler)
        def answer(*args: Any, **options: Any) -> list[Any]:
            values = handler(*args, **options)
            if unknown := values.keys() - self.keys():
                raise LookupError(f"The page has no part {', '.join(sorted(unknown))}: build it.")
            return [values.get(name, gr.skip()) for name in self]

        return answer


def file_box(label: str, elem_id: str, *, many: bool = False, visible: bool = True) -> gr.File:
    """Where a file is chosen, or `many`; handlers get their paths."""
    count: Literal["single", "multiple"] = "multiple" if many else "single"
    return gr.File(
        label=label, file_count=count, type="filepath", height=140, visible=visible, elem_id=elem_id
    )


def answer_place(elem_id: str) -> gr.HTML:
    """Where the answers of events of a form stand; see `answered`."""
    return gr.HTML("", elem_id=elem_id, elem_classes="answer", js_on_load=None)


def answer_event(
    listen: Callable[..., Dependency],
    handler: Callable[..., Any],
    inputs: Any,
    outputs: Any,
    *,
    place: gr.HTML | None = None,
    **options: Any,
) -> Dependency:
    """An event with an answer or, after a refusal, its reason; the form stays in view until it comes.

    Args:
        listen: of a component, such as `click` of a button.
        outputs: an `answer_place`, or one and what changes beside it.
        place: that `answer_place`, where it is not the first of the outputs.
        options: of the event, with its `api_name`.
    """
    if place is None:
        place = outputs[0] if isinstance(outputs, list) else outputs
    # Without a place of its own, progress is shown on each output: it would hide the fields.
    event = listen(handler, inputs, outputs, show_progress_on=place, **options)
    keep_reason(event, place)
    return event


Answer = dict[str, Any]
"""What changes on a page, by the names of its `Parts`."""
P = ParamSpec("P")


def answer_problems(
    write: Callable[[str, str], str],
) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
    """For a handler of a page whose script asks: a refusal is told as `said`, and all else stays as it is.

    Args:
        write: the sentence and the word "problem" as HTML.
    """

    def decorate(handler: Callable[P, Answer]) -> Callable[P, Answer]:
        @wraps(handler)
        def answer(*args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                return handler(*args, **kwargs)
            except PAGE_ERRORS as error:
                return {"said": write(reason_of(error), "problem")}

        return answer

    return decorate


def event_script(name: str, events: Sequence[str]) -> str:
    """The `js_on_load` of the line that answers the script of a page, which reaches Python only through it.

    The script asks by an event `name` of the document, whose detail has one of `events` as `what` beside the
    values, and is told by `name`-answer when there is an answer.
    """
    return f"""
// Gradio finds the names of events here, in quotes: {json.dumps(events)}
element.addEventListener("{name}", ({{ detail: {{ what, ...asked }} }}) => trigger(what, asked));
watch("value", () => document.dispatchEvent(new CustomEvent("{name}-answer")));
"""


class ScriptEvent:
    """The values by name, which may be anything."""

    def __init__(self, event: gr.EventData, longest: int | None = None) -> None:
        self._event = event
        self._longest = longest

    def value(self, name: str) -> Any:
        """What was sent by this name; None where there is nothing."""
        try:
            return getattr(self._event, name)
        except (AttributeError, TypeError):  # no such name, or no names at all: anybody may send anything
            return None

    def text(self, name: str) -> str:
        """A text, cut where it is longer than texts may be; empty where there is none."""
        value = self.value(name)
        return value[: self._longest] if isinstance(value, str) else ""


NARROW = 140
"""Pixels: two fields stand beside each other on a phone."""
_MOST_DIGITS = 20
"""Before the decimal point and after it: to write out what `1e1000000` stands for takes a minute."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


def decimal_field(
    value: Decimal | float | None,
    *,
    label: str,
    elem_id: str,
    info: str | None = None,
    min_width: int = NARROW,
    scale: int | None = None,
) -> gr.Textbox:
    """A field for a number that `decimal_of` reads; empty without a value."""
    return gr.Textbox(
        decimal_text(value),
        label=label,
        info=info,
        max_lines=1,
        min_width=min_width,
        elem_id=elem_id,
        scale=scale,
        html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
    )


def whole_field(value: int, *, label: str, elem_id: str, info: str | None = None) -> gr.Number:
    """A field for a number that `whole_of` reads, and whose limits the settings tell.

    With a precision of its own Gradio would round the number in silence, with limits say its own sentence.
    """
    return gr.Number(value, label=label, info=info, min_width=NARROW, elem_id=elem_id)


def decimal_text(value: Decimal | float | None) -> str:
    """What such a field shows of a number.

    >>> [decimal_text(value) for value in (Decimal("2.50"), Decimal(4), 0.05, None)]
    ['2.5', '4', '0.05', '']
    """
    return "" if value is None else f"{Decimal(str(value)).normalize():f}"


def whole_of(value: object, what: str) -> int:
    """The whole number in a field.

    Raises:
        SettingsError: there is none.
    """
    number = _number(value, what, str(value).strip())
    if number != number.to_integral_value():
        raise SettingsError(_("The {what} is a whole number, not {value}.", what=_(what), value=value))
    return int(number)


def whole_or_none(value: object, what: str) -> int | None:
    """The whole number in a field that may be empty.

    Raises:
        SettingsError: it holds something else.
    """
    return None if value is None or not str(value).strip() else whole_of(value, what)


def decimal_of(value: object, what: str) -> Decimal:
    """The number in a field, with a decimal point or a decimal comma.

    Raises:
        SettingsError: there is none.
    """
    text = str(value).strip()
    return _number(value, what, text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)


def decimal_or_none(value: object, what: str) -> Decimal | None:
    """The same of a field that may be empty.

    Raises:
        SettingsError: it holds something else.
    """
    return None if value is None or not str(value).strip() else decimal_of(value, what)


def _number(value: object, what: str, text: str) -> Decimal:
    if value is None or not text:
        raise SettingsError(_("The {what} is missing: give a number.", what=_(what)))
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise SettingsError(
            _("The {what} is a number, not {value}.", what=_(what), value=quote_value(text))
        ) from None
    if not number.is_finite():
        raise SettingsError(_("The {what} is a number, not {value}.", what=_(what), value=quote_value(text)))
    if abs(number.adjusted()) >= _MOST_DIGITS:
        raise SettingsError(
            _(
                "The {what} is a number of at most {most} digits, not {value}.",
                what=_(what),
                most=_MOST_DIGITS,
                value=quote_value(text),
            )
        )
    return number


PageError = AnnotationError | UnreachableError | DamagedError
PAGE_ERRORS = (AnnotationError, UnreachableError, DamagedError)
"""What a handler tells on the page in the place of an answer; the database's errors too, which come when
somebody else writes for long, as during an import."""


def reason_of(error: PageError) -> str:
    """The sentence for signed-in users: a database's own names files and addresses."""
    return str(error) if isinstance(error, AnnotationError) else error.for_users


def project_of_page(request: gr.Request) -> int:
    """The project that the address of the page names.

    Raises:
        NotFoundError: it names none.
    """
    project_id = project_in(request)
    if project_id is None:
        raise NotFoundError(_("No project is chosen: choose one of your projects."))
    return project_id


def require_member(request: gr.Request, accounts: AccountService, *roles: Role) -> tuple[int, User]:
    """The project of a page, and who asks: one who has any of the roles in it, or an administrator.

    Raises:
        AnnotationError: no project is named, or the user has none of the roles.
    """
    project_id = project_of_page(request)
    return project_id, accounts.require(request.username, project_id, *roles)


@contextmanager
def admit_member(request: gr.Request, accounts: AccountService, *roles: Role) -> Iterator[tuple[int, User]]:
    """As `asked_by`, for a handler whose refusals, also those of what it then does, are toasts."""
    with shown_to_user(AnnotationError):
        yield require_member(request, accounts, *roles)


def require_leader(request: gr.Request, accounts: AccountService) -> tuple[int, User, bool]:
    """The project of a page for adjudicators, who asks, and whether that is an administrator.

    Raises:
        AnnotationError: no project is named, or the user is neither.
    """
    project_id, user = require_member(request, accounts, Role.ADMINISTRATOR, Role.ADJUDICATOR)
    leads = user.is_administrator or Role.ADMINISTRATOR in accounts.roles(user.name, project_id)
    return project_id, user, leads


def ids_in(text: str | None) -> list[str]:
    """The ids that a field has, one per line."""
    return [id for line in (text or "").splitlines() if (id := line.strip())]


def project_in(request: gr.Request) -> int | None:
    """The project that the address of the page names, if it does."""
    return whole_in(str(request.query_params.get("project", "")))
