"""Several models, ticked in a list, on the same text side by side."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gradio as gr

from kpdemo.errors import InputError, KpdemoError, StoppedError
from kpdemo.locale import _, mark
from kpdemo.predictors import model_folder
from kpdemo.routing import refusal_of
from kpdemo.text import phrase_key
from kpdemo.translation import write_number
from kpdemo.types import Keyphrase, PredictionRequest, PredictionResult
from kpdemo.ui.html import escape, filler_note, filler_word, score_html
from kpdemo.ui.models import OF_ONE_MODEL, ModelShelf
from kpdemo.ui.requests import read_request
from kpdemo.ui.results import note_of, nothing_present
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QuestionFields,
    Stops,
    empty_html,
    forget_with,
    keep_reason,
    note_html,
    page_of,
    section_heading,
    shown_to_user,
    stop_button,
)
from kpdemo.worker import Stop

NONE = mark("Models: none ticked")
SOME = mark("Models: {names}")

# In the browser, so that ticking sends nothing. Gradio gives the ticked ones in the order of the clicks.
_NAME_THEM = """(ticked) => {
  const names = ORDER.filter((name) => ticked.includes(name));
  return { __type__: "update", label: names.length ? SOME.replace("{names}", names.join(", ")) : NONE };
}"""


# Gradio tells a tick of the reader (input) from one of a script (change), and keeps neither.
_REMEMBER = """() => { document.querySelector("#PREFIX-choose").dataset.ticked = ""; }"""
_FOLLOW = """(model, ticked) =>
  ["ticked" in document.querySelector("#PREFIX-choose").dataset ? ticked : [model]]"""


def build_model_choice(shelf: ModelShelf, ticked: Sequence[str], prefix: str) -> gr.CheckboxGroup:
    """The field `prefix`-models, in the fold `prefix`-choose."""
    with gr.Accordion(fold_label(ticked), open=False, elem_id=f"{prefix}-choose") as fold:
        models = gr.CheckboxGroup(
            shelf.choices,
            value=list(ticked),
            label=_("Models"),
            container=False,
            elem_id=f"{prefix}-models",
            elem_classes="models",
        )
    script = _NAME_THEM.replace("ORDER", json.dumps(list(shelf.models)))
    script = script.replace("NONE", json.dumps(_(NONE))).replace("SOME", json.dumps(_(SOME, names="{names}")))
    models.change(None, models, fold, js=script, api_name=f"name_models_of_{prefix.replace('-', '_')}")
    return models


def follow_model(models: gr.CheckboxGroup, model: gr.Dropdown, prefix: str) -> None:
    """Tick the model of the page, and no other, until the reader ticks one."""
    remember, follow = (script.replace("PREFIX", prefix) for script in (_REMEMBER, _FOLLOW))
    models.input(None, js=remember, api_name=f"remember_ticks_of_{prefix}")
    model.change(None, [model, models], models, js=follow, api_name=f"follow_model_in_{prefix}")


def chosen_models(shelf: ModelShelf, ticked: Sequence[str]) -> list[str]:
    """The ticked ones in the order of the page.

    Raises:
        InputError: none is ticked.
    """
    chosen = [model for model in shelf.models if model in ticked]
    if not chosen:
        raise InputError(_("No model is ticked: tick at least one."))
    return chosen


def announce_each(progress: gr.Progress, models: Sequence[str]) -> Iterator[str]:
    """The models one after the other, each announced to the waiting reader before its turn."""
    for done, model in enumerate(models):
        progress((done, len(models)), desc=model, unit=_("models") if len(models) > 1 else _("model"))
        yield model


def fold_label(ticked: Sequence[str]) -> str:
    return _(SOME, names=", ".join(ticked)) if ticked else _(NONE)


EMPTY = mark(
    "Nothing compared yet. Tick models and press Compare: they read the text above, with its options."
)
LEGEND = mark(
    "“2 of 4” next to a keyphrase means that 2 of 4 models predict it. A list that two models share, because "
    "both use the same bank of phrases, counts once."
)
OWN_SCALES = mark(
    "Scores of different models cannot be compared, because each model has its own scale: they only rank the "
    "keyphrases within a column."
)
UNCOUNTED = mark("Its keyphrases, which are not counted")
STOPPED = mark("Stopped before this model had answered.")
FIRST_TICKED = frozenset({"indexer", "tfidf", "multipartite"})
"""Ticked beside the default model: another style, a statistical baseline and one by graphs."""


@dataclass(frozen=True, slots=True)
class Column:
    """What one model said: an answer, or why there is none."""

    model: str
    answer: PredictionResult | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many lists hold a keyphrase.

    Attributes:
        votes: by the key of the phrase.
        lists: that are different, so that a phrase can have at most that many votes.
        same: for a model whose list counts as that of an earlier one, the name of that one.
    """

    votes: Counter[str]
    lists: int
    same: Mapping[str, str]


NO_VOTES = Tally(Counter(), 0, {})
"""Of a model that does not count, since it was made for other languages than that of the text."""


def columns_html(columns: Sequence[Column]) -> str:
    """One list per model; a phrase that several models predict says how many do."""
    apart = _made_for_others(columns)
    answered = [(one.model, one.answer) for one in columns if one.answer and one.model not in apart]
    present = _tally((name, _reader(answer), answer.prediction.present, answer) for name, answer in answered)
    absent = _tally(
        (name, _retrieved(answer) or name, answer.prediction.absent, answer)
        for name, answer in answered
        if answer.finds_absent
    )
    ordered = sorted(columns, key=lambda column: column.model in apart)
    sections = "".join(
        _column_html(column, present, absent, counts=column.model not in apart) for column in ordered
    )
    shared = any(votes > 1 for tally in (present, absent) for votes in tally.votes.values())
    legend = f'<p class="small">{_(LEGEND)}</p>' if shared or present.same or absent.same else ""
    read = [column.answer.prediction for column in columns if column.answer]
    scales = f'<p class="small">{_(OWN_SCALES)}</p>' if len(read) > 1 else ""
    given = (keyphrase for one in read for keyphrase in (*one.present, *one.absent))
    notes = f"{scales}{legend}{filler_note(given)}"
    return f'{notes}<div class="compare-columns" id="compare-columns">{sections}</div>'


def _made_for_others(columns: Sequence[Column]) -> set[str]:
    """The models of other languages than that of the text, if another one of its language has answered."""
    foreign = {one.model: bool(note_of(one.answer)) for one in columns if one.answer}
    return set() if all(foreign.values()) else {model for model, is_so in foreign.items() if is_so}


def _tally(lists: Iterable[tuple[str, Hashable, Sequence[Keyphrase], PredictionResult]]) -> Tally:
    """Count each list once, by its origin."""
    votes: Counter[str] = Counter()
    first: dict[Hashable, str] = {}
    same: dict[str, str] = {}
    for model, origin, keyphrases, answer in lists:
        if origin in first:
            same[model] = first[origin]
            continue
        first[origin] = model
        votes.update({_key(keyphrase, answer) for keyphrase in keyphrases})
    return Tally(votes, len(first), same)


def _reader(answer: PredictionResult) -> Hashable:
    """The model that read the text: one may answer to several names."""
    return model_folder(answer.model)


def _retrieved(answer: PredictionResult) -> Hashable:
    """A list of absent keyphrases: with the same scores to the last digit it came from the same place."""
    return tuple((keyphrase.text, keyphrase.score) for keyphrase in answer.prediction.absent)


def _column_html(column: Column, present: Tally, absent: Tally, *, counts: bool) -> str:
    answer = column.answer
    if answer is None:
        content = note_html(column.problem)
    else:
        if not counts:
            present = absent = NO_VOTES
        lists = _present_html(answer, present) + _absent_html(column.model, answer, absent)
        if not counts:
            lists = f"<details><summary>{_(UNCOUNTED)}</summary>{lists}</details>"
        facts = f'<p class="small">{_facts(column.model, answer)}</p>'
        content = _notes_html(column.model, answer, present) + lists + facts
    return f'<section class="compare-column"><h3>{escape(column.model)}</h3>{content}</section>'


def _notes_html(model: str, answer: PredictionResult, present: Tally) -> str:
    note = note_of(answer)
    same = ""
    if model in present.same:
        same = _("The same model as {model}, counted once.", model=escape(present.same[model]))
    return (f'<p class="small">{same}</p>' if same else "") + (note_html(note) if note else "")


def _present_html(answer: PredictionResult, tally: Tally) -> str:
    items = _items_html(answer.prediction.present, answer, tally)
    return items or note_html(nothing_present(answer))


def _absent_html(model: str, answer: PredictionResult, tally: Tally) -> str:
    items = _items_html(answer.prediction.absent, answer, tally)
    if not items:
        return ""
    if model not in tally.same:
        return f'<p class="small">{_("Absent")}</p>{items}'
    same = escape(tally.same[model])
    told = _("Absent: the same list as {model}, counted once", model=same)
    return f"<details><summary>{told}</summary>{items}</details>"


def _facts(model: str, answer: PredictionResult) -> str:
    by = _("read by {model}", model=escape(answer.model))
    read = "" if answer.model == model else f" · {by}"
    return f"{write_number(f'{answer.seconds:.2f}')} s{read}"


def _key(keyphrase: Keyphrase, answer: PredictionResult) -> str:
    return phrase_key(keyphrase.text, answer.prediction.language)


def _items_html(keyphrases: Sequence[Keyphrase], answer: PredictionResult, tally: Tally) -> str:
    items = "".join(_item_html(one, tally.votes[_key(one, answer)], tally.lists) for one in keyphrases)
    return f"<ol>{items}</ol>" if items else ""


def _item_html(keyphrase: Keyphrase, votes: int, lists: int) -> str:
    shared = (
        f'<span class="votes">{_("{votes} of {lists}", votes=votes, lists=lists)}</span>' if votes > 1 else ""
    )
    told = f"{shared} {filler_word(keyphrase)}"
    kinds = [name for name, holds in (("shared", votes > 1), ("filler", keyphrase.filler)) if holds]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    look = "phrase" if keyphrase.spans else "phrase chip"
    phrase = f'<span class="{look}" dir="auto">{escape(keyphrase.text)}</span>'
    return f"<li{kind}>{score_html(keyphrase.score)}<div>{phrase} {told}</div></li>"


@dataclass(frozen=True)
class CompareHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def compare(
        self,
        models: list[str],
        document: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
        *further: Any,
    ) -> str:
        """The keyphrases of each model in a column, in the order the page lists them."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request)) as stop:
            chosen = chosen_models(self.shelf, models)
            question = read_request(document, chosen[0], count, threshold, language, *further)
            columns = []
            for model in announce_each(progress, chosen):
                columns.append(self._column(replace(question, model=model), stop))
            return columns_html(columns)

    def _column(self, question: PredictionRequest, stop: Stop) -> Column:
        try:
            return Column(question.model, self.shelf.answer(question, stop))
        except StoppedError:
            return Column(question.model, problem=_(STOPPED))
        except OF_ONE_MODEL as error:  # it does not hide what the others say
            return Column(question.model, problem=refusal_of(question.model, str(error)))


def build_compare_section(handlers: CompareHandlers, fields: QuestionFields) -> None:
    """A heading, the models to tick, a button and their columns, under the page's own fields."""
    shelf = handlers.shelf
    ticked = [name for name in shelf.models if name == shelf.default or name in FIRST_TICKED]
    section_heading(_("Compare"), "compare-heading")
    with gr.Row(elem_id="compare-controls", elem_classes="controls"):
        with gr.Column(scale=4, min_width=240):
            models = build_model_choice(shelf, ticked, "compare")
        run = gr.Button(_("Compare"), elem_id="compare-run", scale=0, min_width=140)
    stop_button(handlers.stops, "compare")
    result = gr.HTML(empty_html(_(EMPTY)), elem_id="compare-result")
    asked = run.click(
        handlers.compare,
        [models, *(field for field in fields.all if field is not fields.model)],
        result,
        api_name="compare",
        **MODEL_QUEUE,
        show_progress="minimal",
        trigger_mode="always_last",
    )
    keep_reason(asked, result)
    forget_with([fields.document], asked, result, EMPTY)
