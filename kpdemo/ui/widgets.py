"""Pieces that several pages are made of."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, Literal

import gradio as gr
from gradio.events import Dependency

from kpdemo.languages import NAMES
from kpdemo.locale import CATALOGUES, _, mark
from kpdemo.translation import LANGUAGES as TRANSLATED
from kpdemo.translation import current_language, html_language
from kpdemo.ui.html import escape as escape
from kpdemo.ui.requests import FIRST, LARGEST_COUNT, ONLY
from kpdemo.worker import STOPPED, Stop

MOST_PAGES = 1_000
"""Pages for which a Stop before the question, and its end, is remembered; the oldest is forgotten first."""

LATE = 2.0
"""Seconds after an answer in which a Stop still means that one: it was pressed before the page had it."""


class Stops:
    """The questions that are being answered, by the page that asked: by its Stop button they are found."""

    def __init__(self) -> None:
        self._change = Lock()
        self._begun: dict[str, Stop] = {}
        self._early: dict[str, float] = {}
        self._ended: dict[str, float] = {}

    @contextmanager
    def begun(self, page: str, told: str = STOPPED) -> Iterator[Stop]:
        """What is asked to stop while the question of a page, which asks one at a time, is answered.

        It begins stopped where the page has asked for that before, while the question waited in a queue.

        Args:
            page: empty for a caller without one, which has no Stop button.
            told: the sentence of the StoppedError.
        """
        stop = Stop(told)
        if not page:
            yield stop
            return
        with self._change:
            self._begun[page] = stop
            if page in self._early:
                del self._early[page]
                stop.ask()
        try:
            yield stop
        finally:
            self._end(page, stop)

    def ask(self, page: str) -> None:
        """Stop the question of a page, or the next one if none has begun."""
        with self._change:
            stop = self._begun.get(page)
            late = time.monotonic() - self._ended.get(page, -LATE) < LATE
            if page and stop is None and not late:
                _remember(self._early, page)
        if stop is not None:
            stop.ask()

    def _end(self, page: str, stop: Stop) -> None:
        with self._change:
            if self._begun.get(page) is stop:
                del self._begun[page]
                _remember(self._ended, page)


def _remember(pages: dict[str, float], page: str) -> None:
    pages.pop(page, None)
    pages[page] = time.monotonic()
    if len(pages) > MOST_PAGES:
        del pages[next(iter(pages))]


MODEL_QUEUE: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 12}
"""For an event that asks a model; `ModelShelf` lets one short text and one long one at a time be read."""

QUIETLY: dict[str, Any] = {"show_progress": "hidden", "queue": False}
"""For an event that fills a part of the page and has no error to show.

It answers the request that asks. All queued events of a page listen to one stream: one that begins just as
the server closes the stream after another would wait for ever. Not for what may fail: of these answers Gradio
shows no error.
"""

FILES_QUEUE: dict[str, Any] = {"concurrency_id": "files", "concurrency_limit": 12}
"""For an event that reads files; they wait for `ModelShelf.turn_of_files`, where they can be stopped."""

GO_ON = "address => { if (address) location.assign(address); }"
"""Opens the address that a handler gave, if it gave one."""


Field = gr.Textbox | gr.Dropdown | gr.Radio | gr.Checkbox | gr.Slider


@dataclass(frozen=True, slots=True)
class OptionFields:
    """How documents are read, in the order of the arguments of `kpdemo.ui.requests.read_options`."""

    count: gr.Textbox
    threshold: gr.Textbox
    language: gr.Dropdown
    style: gr.Dropdown
    candidates: gr.Textbox
    seed_keywords: gr.Textbox
    only_candidates: gr.Radio
    shortest: gr.Textbox
    longest: gr.Textbox
    exclude: gr.Textbox
    apart: gr.Checkbox
    diversity: gr.Slider
    unsure: gr.Checkbox

    @property
    def all(self) -> list[Field]:
        return [getattr(self, field.name) for field in fields(self)]

    @property
    def of_reading(self) -> list[Field]:
        """Those with which a model reads a document anew; the others only choose from what it ranked."""
        return [self.language, self.style, self.candidates, self.seed_keywords]


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """The fields of a page that make up a question."""

    document: gr.Textbox
    model: gr.Dropdown
    options: OptionFields

    @property
    def all(self) -> list[Field]:
        """In the order of the arguments of `kpdemo.ui.requests.read_request`."""
        return [self.document, self.model, *self.options.all]


STYLES = [
    (mark("As the model was made"), ""),
    (mark("An author: few, the core"), "author"),
    (mark("An indexer: more, and longer ones"), "indexer"),
]


def option_fields(prefix: str) -> OptionFields:
    """Which keyphrases are given, then how the document is read."""
    gr.HTML(f'<p class="row-label">{_("Which keyphrases")}</p>')
    with gr.Row():
        count = _short_field(
            _("How many, 1 to {most}", most=LARGEST_COUNT), _("the model decides"), f"{prefix}-count"
        )
        threshold = _short_field(_("Lowest score, 0 to 1"), _("the model decides"), f"{prefix}-threshold")
        shortest = _short_field(_("Shortest, in words"), _("no limit"), f"{prefix}-shortest")
        longest = _short_field(_("Longest, in words"), _("no limit"), f"{prefix}-longest")
    exclude = _phrases_field(_("Leave out"), _("words or phrases, one a line"), f"{prefix}-exclude")
    apart = gr.Checkbox(label=_("A phrase and those inside it take one place"), elem_id=f"{prefix}-apart")
    unsure = gr.Checkbox(
        label=_("Also those not in the text that are mostly wrong"), elem_id=f"{prefix}-unsure"
    )
    diversity = gr.Slider(
        0, 1, value=0, step=0.1, label=_("Variety: how much they differ"), elem_id=f"{prefix}-diversity"
    )
    gr.HTML(f'<p class="row-label">{_("How the text is read")}</p>')
    candidates = _phrases_field(
        _("Phrases of your own"), _("such as a thesaurus, one phrase a line"), f"{prefix}-candidates"
    )
    only = gr.Radio(
        [(_("Only these"), ONLY), (_("These first"), FIRST)],
        value=ONLY,
        label=_("Of these phrases"),
        visible=False,
        elem_id=f"{prefix}-only",
    )
    shown = "(typed) => ({ __type__: 'update', visible: Boolean(typed?.trim()) })"
    candidates.change(None, candidates, only, js=shown, api_name=f"show_choice_of_{prefix}", **QUIETLY)
    guide = _phrases_field(_("Move up what is like"), _("words that guide, one a line"), f"{prefix}-guide")
    with gr.Row():
        language = gr.Dropdown(
            [(_("Detect"), ""), *((_(name), code) for code, name in NAMES.items())],
            value="",
            label=_("Language"),
            min_width=140,
            elem_id=f"{prefix}-language",
        )
        style = gr.Dropdown(
            [(_(name), style) for name, style in STYLES],
            value="",
            label=_("English, in the style of"),
            min_width=140,
            elem_id=f"{prefix}-style",
        )
    return OptionFields(
        count,
        threshold,
        language,
        style,
        candidates,
        guide,
        only,
        shortest,
        longest,
        exclude,
        apart,
        diversity,
        unsure,
    )


def _short_field(label: str, placeholder: str, elem_id: str) -> gr.Textbox:
    return gr.Textbox(label=label, placeholder=placeholder, max_lines=1, min_width=140, elem_id=elem_id)


def _phrases_field(label: str, placeholder: str, elem_id: str) -> gr.Textbox:
    return gr.Textbox(label=label, placeholder=placeholder, lines=2, max_lines=6, elem_id=elem_id)


@contextmanager
def shown_to_user(kind: type[Exception]) -> Iterator[None]:
    """Make our errors toasts; any other exception is a bug and stays loud.

    One with a sentence `for_users`, such as that of an unreachable database, is both.
    """
    try:
        yield
    except kind as error:
        raise gr.Error(html.escape(str(error)), print_exception=False) from error
    except Exception as error:
        if told := getattr(error, "for_users", ""):
            raise gr.Error(html.escape(told)) from error
        raise


def section_heading(text: str, elem_id: str) -> gr.HTML:
    return gr.HTML(f'<h2 id="{elem_id}-heading">{escape(text)}</h2>', elem_id=elem_id)


def unseen_box(elem_id: str) -> gr.Textbox:
    """A text that only scripts and handlers read; the style sheet keeps it from sight.

    Gradio's own `visible="hidden"` ends when an event shows something else on the page.
    """
    return gr.Textbox(visible="hidden", elem_id=elem_id, elem_classes="unseen")


def note_html(text: str, *, role: Literal["", "alert", "status"] = "") -> str:
    """A sentence in a box; a status is read out when it appears, an alert interrupts what is being read."""
    told = f' role="{role}"' if role else ""
    return f'<p class="note"{told}>{escape(text)}</p>'


def refusal_html(text: str) -> str:
    """Why there is no result, in its place; the next refusal or answer replaces it."""
    return f'<p class="note refusal" role="alert">{escape(text)}</p>'


def done_html(text: str) -> str:
    """A sentence that something has worked; it is read out when it appears."""
    return f'<p class="note done" role="status">{escape(text)}</p>'


def empty_html(text: str) -> str:
    """What stands where a result will be: the next step."""
    return f'<p class="empty">{escape(text)}</p>'


_FORGET = """() => {
  const place = document.querySelector("#RESULT");
  if (place.querySelector(".pending")) place.dataset.outdated = "";  // what comes is of what was there before
  return EMPTY;
}"""
_FORGET_LATE = """(shown) => {
  const place = document.querySelector("#RESULT");
  if (!("outdated" in place.dataset)) return shown;
  delete place.dataset.outdated;
  return EMPTY;
}"""
_REFUSED = """() => { delete document.querySelector("#RESULT").dataset.outdated; }"""


def forget_script(text: str, *, downloads: int = 1) -> str:
    """JavaScript: what stands in the place of a result, and its downloads, while what is chosen has none."""
    nothing = ", {__type__: 'update', value: null, interactive: false}" * downloads
    return f"() => [{json.dumps(empty_html(_(text)))}{nothing}]"


def forget_with(read: Sequence[gr.Textbox | gr.File], asked: Dependency, result: gr.HTML, text: str) -> None:
    """Empty the place of a result when what was read for it changes, also while it is on its way.

    It would be taken for one of what is on the page now.

    Args:
        text: what stands there instead, the next step.
    """
    name = str(result.elem_id).replace("-", "_")
    forget, empty_late, after_refusal = (
        script.replace("RESULT", str(result.elem_id)).replace("EMPTY", json.dumps(empty_html(_(text))))
        for script in (_FORGET, _FORGET_LATE, _REFUSED)
    )
    gr.on([one.change for one in read], None, None, result, js=forget, api_name=f"forget_{name}")
    asked.success(None, result, result, js=empty_late, api_name=f"forget_late_{name}", show_progress="hidden")
    asked.failure(None, js=after_refusal, api_name=f"remember_{name}", show_progress="hidden")


def counting_script(one: str, more: str) -> str:
    """JavaScript: a function of a number, and of how it is written, that says it with its noun.

    Args:
        one: a marked message with {count}.
        more: its other form in English.
    """
    code = current_language()
    forms = json.dumps(CATALOGUES.messages(code).get(one, [one, more]), ensure_ascii=False)
    return (
        "((forms, rules) => (number, shown) => "
        "forms[Math.min({ one: 0, few: 1 }[rules.select(number)] ?? Infinity, forms.length - 1)]"
        f'.replace("{{count}}", shown))({forms}, new Intl.PluralRules("{code}"))'
    )


def page_of(request: gr.Request | None) -> str:
    """What tells an open page from all others; empty for a caller that has none."""
    return (request and request.session_hash) or ""


def show_share(progress: gr.Progress, share: float, what: str) -> None:
    """What is reported to `kpdemo.worker` appears in the bar of the event, but never as done.

    A short text is one piece of work to the part of a model that reports, and others follow it.
    """
    if share < 1:
        progress(share, desc=_(what) if what else "")


def stop_button(stops: Stops, prefix: str) -> None:
    """A button that is there while the result, which comes right under it, is waited for."""

    def stop(request: gr.Request) -> None:
        stops.ask(page_of(request))

    with gr.Row(elem_id=f"{prefix}-wait", elem_classes="wait"):
        button = gr.Button(_("Stop"), scale=0, min_width=80, elem_id=f"{prefix}-stop")
    button.click(stop, api_name=f"stop_{prefix.replace('-', '_')}", **QUIETLY)


EARLIER = mark("Earlier answer")
UNANSWERED = mark("Your last request was not answered.")
CHOOSE_AGAIN = mark("Choose the files again, then press the button again.")
"""What to do where files may have gone before they were read."""

_NOTE = """async (shown) => {
  const reason = await (REASON)(shown ?? "");
  if (!reason) return shown;
  const note = document.createElement("p");
  note.className = "note refusal";
  note.setAttribute("role", "alert");
  note.textContent = reason;
  const answer = (shown ?? "").replace(/^<p class="(note refusal|empty)".*?<\\/p>/s, "");
  if (!answer || answer.startsWith('<details class="earlier"')) return note.outerHTML + answer;
  return `${note.outerHTML}<details class="earlier"><summary>EARLIER</summary>${answer}</details>`;
}"""

# Gradio tells the reason in a toast, which would cover the page, and goes.
_REASON = """async (shown) => {
  await new Promise((done) => setTimeout(done));
  const toasts = [...document.querySelectorAll(".toast-body.error")];
  const reasons = toasts.flatMap((toast) => [...toast.querySelectorAll("[data-testid='toast-text']")]);
  for (const toast of toasts) toast.querySelector("[data-testid='toast-close']").click();
  const told = shown.startsWith('<p class="note refusal"');  // of what was stopped
  return reasons.at(-1)?.textContent.trim() || (told ? "" : UNANSWERED);
}"""

_COME_TO_REASON = """async () => {
  await new Promise((done) => setTimeout(done));
  document.querySelector("#RESULT .refusal")?.scrollIntoView({ block: "nearest" });
}"""


def note_script(text: str) -> str:
    """JavaScript that puts a note in the place of a result, and folds the answer that was there under it."""
    return _note_script(f"() => {json.dumps(_(text))}")


def _note_script(reason: str) -> str:
    return _NOTE.replace("REASON", reason).replace("EARLIER", escape(_(EARLIER)))


def keep_reason(asked: Dependency, result: gr.HTML, advice: str = "") -> None:
    """Show the reason of a refusal in the place of an answer, with an earlier one folded under it.

    `advice` tells what to do where no reason came.
    """
    name = f"reason_of_{asked['api_name']}"
    unanswered = json.dumps(" ".join(_(text) for text in (UNANSWERED, advice) if text))
    script = _note_script(_REASON.replace("UNANSWERED", unanswered))
    kept = asked.failure(None, result, result, js=script, api_name=f"keep_{name}", show_progress="hidden")
    seen = _COME_TO_REASON.replace("RESULT", str(result.elem_id))
    kept.then(None, js=seen, api_name=f"come_to_{name}", show_progress="hidden")


@dataclass(frozen=True, slots=True)
class PageLink:
    """Where the header leads."""

    text: str
    address: str
    new_tab: bool = False
    current: bool = False


def page_header(name: str, purpose: str, links: Sequence[PageLink] = (), user_from: str = "") -> gr.HTML:
    """The head of a page that all readers share.

    Args:
        links: with texts that are marked.
        user_from: the address from which each browser asks for the name of its user, as JSON with "name" and
            "address"; empty where nobody signs in.
    """
    menu = language_menu()
    shown = [replace(link, text=_(link.text)) for link in links]
    user = f'<span class="page-user" data-user-from="{escape(user_from)}"></span>' if user_from else ""
    navigation = f'<nav aria-label="{_("Pages")}">{links_html(shown)}</nav>' if links else ""
    return gr.HTML(
        f'<div class="page-header"><div><h1>{escape(name)}</h1><p>{escape(purpose)}</p></div>'
        f'<div class="page-tools">{navigation}{user}{menu}{theme_button()}</div></div>',
        elem_id="page-header",
    )


def theme_button() -> str:
    return f'<button type="button" id="page-theme" data-theme>{_("Light / dark")}</button>'


def language_menu() -> str:
    """The interface languages to choose from; page.js keeps the choice and opens the page anew."""
    options = "".join(
        f'<option value="{code}" lang="{html_language(code)}"{" selected" * (code == current_language())}>'
        f"{name}</option>"
        for code, name in TRANSLATED.items()
    )
    return (
        f'<select class="language-menu" data-language-menu aria-label="{_("Language")}" autocomplete="off">'
        f"{options}</select>"
    )


def links_html(links: Sequence[PageLink]) -> str:
    """Links beside each other; the one to the page that is open says so."""
    return "".join(_link_html(link) for link in links)


def _link_html(link: PageLink) -> str:
    attributes = [f'href="{escape(link.address)}"']
    if link.new_tab:
        attributes.append('target="_blank" rel="noopener"')
    if link.current:
        attributes.append('aria-current="page"')
    return f"<a {' '.join(attributes)}>{escape(link.text)}</a>"
