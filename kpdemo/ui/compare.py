"""Several models on the same text, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import gradio as gr

from kpdemo.errors import KpdemoError, StoppedError
from kpdemo.latin import refusal_of
from kpdemo.predictors import model_folder
from kpdemo.text import phrase_key
from kpdemo.types import Keyphrase
from kpdemo.ui.figures import filler_note, filler_word, score_html
from kpdemo.ui.marks import escape
from kpdemo.ui.models import OF_ONE_MODEL, ModelShelf
from kpdemo.ui.questions import read_question
from kpdemo.ui.results import Answer, Question, note_of, nothing_present
from kpdemo.ui.stop import Stop, Stops
from kpdemo.ui.ticked import chosen_models, ticked_models, told_in
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QuestionFields,
    empty_html,
    forget_with,
    keep_reason,
    note_html,
    page_of,
    section_heading,
    shown_to_user,
    stop_button,
)

EMPTY = "Nothing compared yet. Tick models and press Compare: they read the text above, with its options."
LEGEND = (
    "“2 of 4” next to a keyphrase means that 2 of 4 models predict it. A list that two models share, because "
    "both use the same bank of phrases, counts once."
)
OWN_SCALES = (
    "Scores of different models cannot be compared, because each model has its own scale: they only rank the "
    "keyphrases within a column."
)
UNCOUNTED = "Its keyphrases, which are not counted"
STOPPED = "Stopped before this model had answered."
FIRST_TICKED = frozenset({"indexer", "tfidf", "multipartite"})
"""Ticked beside the default model: another style, a statistical baseline and one by graphs."""


@dataclass(frozen=True, slots=True)
class Column:
    """What one model said: an answer, or why there is none."""

    model: str
    answer: Answer | None = None
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
    legend = f'<p class="small">{LEGEND}</p>' if shared or present.same or absent.same else ""
    read = [column.answer.prediction for column in columns if column.answer]
    scales = f'<p class="small">{OWN_SCALES}</p>' if len(read) > 1 else ""
    given = (keyphrase for one in read for keyphrase in (*one.present, *one.absent))
    notes = f"{scales}{legend}{filler_note(given)}"
    return f'{notes}<div class="compare-columns" id="compare-columns">{sections}</div>'


def _made_for_others(columns: Sequence[Column]) -> set[str]:
    """The models of other languages than that of the text, if another one of its language has answered."""
    foreign = {one.model: bool(note_of(one.answer)) for one in columns if one.answer}
    return set() if all(foreign.values()) else {model for model, is_so in foreign.items() if is_so}


def _tally(lists: Iterable[tuple[str, Hashable, Sequence[Keyphrase], Answer]]) -> Tally:
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


def _reader(answer: Answer) -> Hashable:
    """The model that read the text: one may answer to several names."""
    return model_folder(answer.model)


def _retrieved(answer: Answer) -> Hashable:
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
            lists = f"<details><summary>{UNCOUNTED}</summary>{lists}</details>"
        facts = f'<p class="small">{_facts(column.model, answer)}</p>'
        content = _notes_html(column.model, answer, present) + lists + facts
    return f'<section class="compare-column"><h3>{escape(column.model)}</h3>{content}</section>'


def _notes_html(model: str, answer: Answer, present: Tally) -> str:
    note = note_of(answer)
    same = f"The same model as {escape(present.same[model])}, counted once." if model in present.same else ""
    return (f'<p class="small">{same}</p>' if same else "") + (note_html(note) if note else "")


def _present_html(answer: Answer, tally: Tally) -> str:
    items = _items_html(answer.prediction.present, answer, tally)
    return items or note_html(nothing_present(answer))


def _absent_html(model: str, answer: Answer, tally: Tally) -> str:
    items = _items_html(answer.prediction.absent, answer, tally)
    if not items:
        return ""
    if model not in tally.same:
        return f'<p class="small">Absent</p>{items}'
    same = escape(tally.same[model])
    return f"<details><summary>Absent: the same list as {same}, counted once</summary>{items}</details>"


def _facts(model: str, answer: Answer) -> str:
    read = "" if answer.model == model else f" · read by {escape(answer.model)}"
    return f"{answer.seconds:.2f} s{read}"


def _key(keyphrase: Keyphrase, answer: Answer) -> str:
    return phrase_key(keyphrase.text, answer.prediction.language)


def _items_html(keyphrases: Sequence[Keyphrase], answer: Answer, tally: Tally) -> str:
    items = "".join(_item_html(one, tally.votes[_key(one, answer)], tally.lists) for one in keyphrases)
    return f"<ol>{items}</ol>" if items else ""


def _item_html(keyphrase: Keyphrase, votes: int, lists: int) -> str:
    shared = f'<span class="votes">{votes} of {lists}</span>' if votes > 1 else ""
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
        title: str,
        document: str,
        rule: str,
        count: float,
        threshold: str,
        language: str = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> str:
        """The keyphrases of each model in a column, in the order the page lists them."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request)) as stop:
            chosen = chosen_models(self.shelf, models)
            question = read_question(title, document, chosen[0], rule, count, threshold, language)
            columns = []
            for model in told_in(progress, chosen):
                columns.append(self._column(replace(question, model=model), stop))
            return columns_html(columns)

    def _column(self, question: Question, stop: Stop) -> Column:
        try:
            return Column(question.model, self.shelf.answer(question, stop))
        except StoppedError:
            return Column(question.model, problem=STOPPED)
        except OF_ONE_MODEL as error:  # it does not hide what the others say
            return Column(question.model, problem=refusal_of(question.model, str(error)))


def build_compare_section(handlers: CompareHandlers, fields: QuestionFields) -> None:
    """A heading, the models to tick, a button and their columns, under the page's own fields."""
    shelf = handlers.shelf
    ticked = [name for name in shelf.models if name == shelf.default or name in FIRST_TICKED]
    section_heading("Compare", "compare-heading")
    with gr.Row(elem_id="compare-controls", elem_classes="controls"):
        with gr.Column(scale=4, min_width=240):
            models = ticked_models(shelf, ticked, "compare")
        run = gr.Button("Compare", elem_id="compare-run", scale=0, min_width=140)
    stop_button(handlers.stops, "compare")
    result = gr.HTML(empty_html(EMPTY), elem_id="compare-result")
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
    forget_with(fields.texts, asked, result, EMPTY)
