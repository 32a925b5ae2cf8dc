"""What a prediction looks like: marked text, table, files to keep, and the same in code. No Gradio here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from kpdemo.languages.names import NAMES, language_name
from kpdemo.languages.notes import NO_MODEL_HERE, prediction_note
from kpdemo.languages.segmenting import SEGMENTED
from kpdemo.lines import with_title_line
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction
from kpdemo.ui.absent import absent_html, nothing_absent_html
from kpdemo.ui.downloads import as_json, keyphrases_csv, passages_csv
from kpdemo.ui.figures import counted, filler_note, filler_word, grouped, score_html
from kpdemo.ui.marks import escape, mark_id, marked_html, shown_length
from kpdemo.ui.passages import passages_html

INLINE_LIMIT = 3_000
"""Texts up to this many characters stand inside the command and the program; longer ones are a file."""

TEXT_FILE = "document.txt"
SPLIT = "from kpdemo.lines import with_title_line\n"

PRESENT_RULE = (
    "A keyphrase is present if its stemmed words stand next to each other in the title or in the text. A "
    "keyphrase inside another has its own line, closer to the letters."
)
UNSPACED_RULE = PRESENT_RULE.replace(
    "its stemmed words stand next to each other",
    "its letters stand in this order, with any spaces between,",
)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked: a document, and how to read it.

    `index` is the folder of the passages that a model which retrieves looks through; empty for its own.
    `nested` tells whether a present keyphrase may stand inside another.
    """

    document: Document
    model: str
    top_k: int | None = None
    threshold: float | None = None
    index: str = ""
    nested: bool = True

    @property
    def read(self) -> Document:
        """The document with its title apart, as the command line reads it."""
        return with_title_line(self.document)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, from which model, where it was computed, and in how many seconds.

    `finds_absent` tells whether the model could have given absent keyphrases, `languages` for which ones it
    was made, empty where it does not say. `retrieval` is there where the model read passages beside the text.
    """

    question: Question
    prediction: Prediction
    model: str
    device: str
    seconds: float
    finds_absent: bool = False
    languages: frozenset[str] = frozenset()
    retrieval: RetrievalPrediction | None = None


def present_rule(language: str) -> str:
    """What makes a keyphrase present in a language, in words; see `kpdemo.languages.wording`."""
    return UNSPACED_RULE if language in SEGMENTED or language == "th" else PRESENT_RULE


def note_of(answer: Answer) -> str:
    """That the model was made for other languages than that of the text; empty when it was not."""
    return prediction_note(
        answer.prediction,
        answer.model,
        answer.languages,
        finds_absent=answer.finds_absent,
        advice=NO_MODEL_HERE,
    )


def device_name(device: str) -> str:
    return "GPU" if device.startswith("cuda") else device.upper()


def shell_lines(question: Question) -> str:
    """A command that prints the same keyphrases."""
    inline = _fits_inline(question.document)
    words = ["python", "-m", "kpdemo", "predict", "-" if inline else TEXT_FILE]
    if question.document.title:
        words.append(f"--title={question.document.title}")
    words.append(f"--model={question.model}")
    if question.document.language:
        words.append(f"--language={question.document.language}")
    if question.top_k is not None:
        words.append(f"--top-k={question.top_k}")
    if question.threshold is not None:
        words.append(f"--threshold={question.threshold!r}")
    if question.index:
        words.append(f"--index={question.index}")
    if not question.nested:
        words.append("--no-nested")
    command = shlex.join([*words, "--json"])
    if not inline:
        return command
    return f"printf %s {shlex.quote(question.document.body)} | {command}"


def python_lines(question: Question) -> str:
    """A program that prints the same keyphrases."""
    inline = _fits_inline(question.document)
    body = repr(question.document.body) if inline else "body"
    fields = f", title={question.document.title!r}" if question.document.title else ""
    if question.document.language:
        fields += f", language={question.document.language!r}"
    options = "".join(
        f", {name}={value!r}"
        for name, value in (("top_k", question.top_k), ("threshold", question.threshold))
        if value is not None
    )
    given = repr(question.model) + (f", index={question.index!r}" if question.index else "")
    given += "" if question.nested else ", nested=False"
    read = "" if inline else f'body = Path("{TEXT_FILE}").read_bytes().decode()\n'
    path = "" if inline else "from pathlib import Path\n\n"
    document = f"kpdemo.Document({body}{fields})"
    split = question.read.title and not question.document.title
    return (
        f"{path}import kpdemo\n{SPLIT if split else ''}\n"
        f"{read}document = {f'with_title_line({document})' if split else document}\n"
        f"[prediction] = kpdemo.load_predictor({given}).predict([document]{options})\n"
        "for keyphrase in prediction.present + prediction.absent:\n"
        """    print(f"{keyphrase.score:.6f}  {keyphrase.text}  {keyphrase.spans or 'absent'}")\n"""
    )


def answer_html(answer: Answer) -> str:
    """The whole result: marked text, present and absent keyphrases, buttons, code and small print."""
    document = answer.question.document
    present = answer.prediction.present
    marked = marked_html(document.text, present)
    parts = [
        _language_note(answer),
        _cut_note(document.text),
        f'<div class="marked-text" id="predict-text" dir="auto"{_lang(answer)} tabindex="0" role="region" '
        f'aria-label="Text with its present keyphrases marked">{marked}</div>',
        f'<p class="small">{present_rule(answer.prediction.language)}</p>',
        _lists(answer),
        passages_html(answer.retrieval) if answer.retrieval else "",
        _buttons(answer),
        _code(answer.question),
        f'<p class="small" id="predict-facts">{_facts(answer)}</p>',
    ]
    return "".join(parts)


def _fits_inline(document: Document) -> bool:
    return len(document.body) <= INLINE_LIMIT and not _CONTROL.search(document.body)


def _language_note(answer: Answer) -> str:
    note = note_of(answer)
    return f'<p class="note" id="predict-language-note">{escape(note)}</p>' if note else ""


def _lang(answer: Answer) -> str:
    """The attribute by which a browser chooses the shapes of Chinese characters, and a reader its voice."""
    language = answer.prediction.language
    return f' lang="{language}"' if language in NAMES else ""


def _cut_note(text: str) -> str:
    shown = shown_length(text)
    if shown == len(text):
        return ""
    return (
        f'<p class="note" id="predict-cut">The first {grouped(shown)} of {grouped(len(text))} '
        "characters are shown; the keyphrases come from the whole text.</p>"
    )


def _lists(answer: Answer) -> str:
    """The present keyphrases, and the absent ones beside them where there is room."""
    present, absent = answer.prediction.present, answer.prediction.absent
    shown = shown_length(answer.question.document.text)
    found = _table(present, shown) if present else f'<p class="note">{nothing_present(answer)}</p>'
    if not absent:
        code = answer.prediction.language
        foreign = language_name(code) if code and answer.languages and code not in answer.languages else ""
        return found + nothing_absent_html(
            possible=answer.finds_absent,
            foreign=foreign,
            threshold=answer.question.threshold,
            scored_less=bool(answer.prediction.absent_candidates),
        )
    return f'<div class="keyphrase-lists"><div>{found}</div>{absent_html(absent)}</div>'


def nothing_present(answer: Answer) -> str:
    """Why there is no present keyphrase, and what to do."""
    if answer.question.threshold:
        return f"No present keyphrase reaches the threshold {answer.question.threshold:g}: lower it."
    what = "present keyphrase" if answer.prediction.absent else "keyphrase"
    return f"No {what} was found. Add some sentences and predict again."


def _table(present: Sequence[Keyphrase], shown: int) -> str:
    rows = "".join(_row(keyphrase, shown) for keyphrase in present)
    return (
        '<table class="keyphrases" id="predict-table"><caption>Present keyphrases, best first</caption>'
        '<thead><tr><th scope="col">Keyphrase</th><th scope="col">Score</th>'
        '<th scope="col" class="number">Count</th><th scope="col" class="number">First at</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{filler_note(present)}"
    )


def _row(keyphrase: Keyphrase, shown: int) -> str:
    first = "–"
    if keyphrase.spans:
        start, end = keyphrase.spans[0]
        first = grouped(start)
        if end <= shown:
            first = f'<a href="#{mark_id((start, end))}" title="Go to this place in the text">{first}</a>'
    look = ' class="filler"' if keyphrase.filler else ""
    score = f"{score_html(keyphrase.score)} {filler_word(keyphrase)}"
    return (
        f'<tr{look}><th scope="row" dir="auto">{escape(keyphrase.text)}</th><td>{score}</td>'
        f'<td class="number">{grouped(len(keyphrase.spans))}</td><td class="number">{first}</td></tr>'
    )


def _buttons(answer: Answer) -> str:
    prediction = answer.prediction
    phrases = "\n".join(keyphrase.text for keyphrase in prediction.present + prediction.absent)
    return (
        '<div class="actions" role="group" aria-label="Keep the keyphrases">'
        + _keeper("predict-copy", "Copy", phrases)
        + _keeper("predict-json", "Download JSON", as_json(answer), "keyphrases.json", "application/json")
        + _keeper("predict-csv", "Download CSV", keyphrases_csv(answer), "keyphrases.csv", "text/csv")
        + _passages_keeper(answer)
        + "</div>"
    )


def _passages_keeper(answer: Answer) -> str:
    if answer.retrieval is None or not answer.retrieval.passages:
        return ""
    content = passages_csv(answer.retrieval)
    return _keeper("predict-passages-csv", "Download passages CSV", content, "passages.csv", "text/csv")


def _keeper(
    elem_id: str, label: str, content: str, file_name: str = "", media_type: str = "text/plain"
) -> str:
    """A button that copies `content`, or saves it as `file_name`; page.js does the work, nothing is sent."""
    action = f'data-save="{file_name}" data-type="{media_type};charset=utf-8"' if file_name else "data-copy"
    return (
        f'<button type="button" class="keep" id="{elem_id}" {action} data-content="{escape(content)}">'
        f"{escape(label)}</button>"
    )


def _code(question: Question) -> str:
    blocks = []
    if not _fits_inline(question.document):
        blocks.append(f'<p class="small">Save the text as <code>{TEXT_FILE}</code> first.</p>')
    for elem_id, label, copy, lines in (
        ("predict-shell", "Command line", "Copy command", shell_lines(question)),
        ("predict-python", "Python", "Copy program", python_lines(question)),
    ):
        blocks.append(
            f'<div class="code"><div class="code-head"><h3>{label}</h3>'
            f"{_keeper(f'{elem_id}-copy', copy, lines)}</div>"
            f'<pre id="{elem_id}" tabindex="0" role="region" aria-label="{label}">'
            f"<code>{escape(lines)}</code></pre></div>"
        )
    return f'<details id="predict-code"><summary>Same in code</summary>{"".join(blocks)}</details>'


def _facts(answer: Answer) -> str:
    present, absent = len(answer.prediction.present), len(answer.prediction.absent)
    before = f"{present} present and " if absent else ""
    count = before + counted(absent or present, "absent keyphrase" if absent else "keyphrase")
    device = escape(device_name(answer.device))
    language = answer.prediction.language
    read = f" · {escape(language_name(language))}" if language else ""
    return f"{count} · {answer.seconds:.2f} s on {device} · model {escape(answer.model)}{read}"
