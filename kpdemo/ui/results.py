"""What a prediction looks like: marked text, absent ones, passages, table, files to keep. No Gradio here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from kpdemo.io.predictions import (
    COLUMNS,
    document_record,
    keyphrase_cells,
    keyphrase_rows,
    listed_cell,
    score_cell,
    table_text,
)
from kpdemo.io.tables import escape_formula
from kpdemo.languages import NAMES, SEGMENTED, language_name
from kpdemo.lines import with_title_line
from kpdemo.passages import Used, help_note, passage_rows, unrelated_note, used_keyphrases
from kpdemo.routing import prediction_note
from kpdemo.selection import short_score
from kpdemo.text import phrase_key
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Origin,
    Prediction,
    PredictionRequest,
    PredictionResult,
    RetrievalPrediction,
    RetrievedPassage,
)
from kpdemo.ui.html import (
    FILLER,
    count_noun,
    escape,
    filler_note,
    filler_word,
    group_digits,
    mark_id,
    marked_html,
    score_html,
    shown_length,
)

Word = TypeVar("Word", bound=StrEnum)

ABSENT_SHOWN = 10
"""More of them are folded."""

KINDS: Mapping[Kind, str] = {
    Kind.REORDERED: "all its words are in the text, but not side by side in this order",
    Kind.MIXED: "some of its words are in the text",
    Kind.UNSEEN: "none of its words is in the text",
}
SOURCES: Mapping[Origin, str] = {
    Origin.GENERATED: "the model wrote it, word by word",
    Origin.RETRIEVED: "the model found it among the keyphrases of other documents",
    Origin.BOTH: "the model wrote it, and found it among the keyphrases of other documents too",
}


def absent_html(keyphrases: Sequence[Keyphrase]) -> str:
    """A list of at least one, the first ones open, with the meaning of the words it uses."""
    first, rest = keyphrases[:ABSENT_SHOWN], keyphrases[ABSENT_SHOWN:]
    more = (
        f"<details><summary>{len(rest)} more</summary>"
        f'<ol class="absent" start="{ABSENT_SHOWN + 1}">{_items(rest)}</ol></details>'
        if rest
        else ""
    )
    return (
        '<section aria-labelledby="predict-absent-heading">'
        '<h3 id="predict-absent-heading">Absent keyphrases, best first</h3>'
        f'<ol class="absent" id="predict-absent">{_items(first)}</ol>{more}{_legend(keyphrases)}</section>'
    )


def nothing_absent_html(
    *, possible: bool, foreign: str = "", threshold: float | None = None, scored_less: bool = False
) -> str:
    """A sentence in place of the list: there is none, or never will be.

    Args:
        foreign: the name of the text's language where the model was made for others.
        threshold: that none reaches, where one above 0 was asked for.
        scored_less: the model tells of candidates that it does not give.
    """
    reason = "No absent keyphrase was found."
    if not possible:
        reason = "Absent keyphrases: this model gives present ones only."
    elif foreign:
        reason = f"Absent keyphrases: this model gives none for {escape(foreign)} texts."
    elif threshold:
        told = ": all candidates scored less" if scored_less else ""
        reason = f"No absent keyphrase reaches the threshold {threshold:g}{told}."
    elif scored_less:
        reason = "No absent keyphrase is likely enough: choose a lower threshold to see the best."
    return f'<p class="small" id="predict-absent">{reason}</p>'


def chip_html(text: str) -> str:
    return f'<span class="chip" dir="auto">{escape(text)}</span>'


def _items(keyphrases: Sequence[Keyphrase]) -> str:
    return "".join(
        f"<li{' class=filler' * keyphrase.filler}>{_item(keyphrase)}</li>" for keyphrase in keyphrases
    )


def _item(keyphrase: Keyphrase) -> str:
    told = [
        f'<span title="{escape(meaning)}">{word}</span>'
        for word, meaning in (*_used(KINDS, [keyphrase.kind]), *_used(SOURCES, [keyphrase.source]))
    ]
    words = " · ".join(filter(None, [*told, filler_word(keyphrase)]))
    facts = f"{score_html(keyphrase.score)}<span>{words}</span>{_why(keyphrase)}"
    return f'{chip_html(keyphrase.text)}<div class="chip-facts">{facts}</div>'


def _why(keyphrase: Keyphrase) -> str:
    if not keyphrase.evidence:
        return ""
    phrases = " · ".join(f"<bdi>{escape(phrase)}</bdi>" for phrase in keyphrase.evidence)
    return (
        f'<details><summary aria-label="Why “{escape(keyphrase.text)}”">Why</summary>'
        f"<p>Evidence: {phrases}</p></details>"
    )


def _legend(keyphrases: Sequence[Keyphrase]) -> str:
    used = [
        *_used(KINDS, [keyphrase.kind for keyphrase in keyphrases]),
        *_used(SOURCES, [keyphrase.source for keyphrase in keyphrases]),
        *([("filler", FILLER)] if any(keyphrase.filler for keyphrase in keyphrases) else []),
    ]
    if not used:
        return ""
    rows = "".join(f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" for word, meaning in used)
    return f'<details class="legend"><summary>What the words mean</summary><dl>{rows}</dl></details>'


def _used(meanings: Mapping[Word, str], words: Sequence[Word | None]) -> list[tuple[str, str]]:
    return [(word.value, meaning) for word, meaning in meanings.items() if word in words]


PASSAGES_SHOWN = 5
"""More passages are folded."""

_NOT_IN_OTHER = "only here"
_TOO_FAR = "Too far from this text to help: its score {score} is below {near:g}."
_LEGEND = "“used” marks a keyphrase that is in the result or led to one that is."
_OWN = """Use passages on the same subjects as your texts. Each line of <code>passages.jsonl</code> is
<code>&#123;"id": "1", "title": "…", "text": "…", "keyphrases": ["…"]&#125;</code>. Then run:"""
_BUILD = """python -m kpdemo index build --input passages.jsonl --output my.index --model multilingual
python app.py --index my.index"""


def passages_html(found: RetrievalPrediction) -> str:
    """The passages with their keyphrases, those marked that reached the output, and what they changed."""
    return (
        '<section class="retrieval" aria-labelledby="predict-passages-heading">'
        '<h3 id="predict-passages-heading">Retrieved passages</h3>'
        f"{_list(found)}{_comparison(found)}{_own_passages()}</section>"
    )


def _list(found: RetrievalPrediction) -> str:
    note = help_note(found)
    if not found.passages:
        return f'<p class="note" id="predict-passages">{note}</p>'
    items = [
        f"<li>{_passage(passage, used, found)}</li>"
        for passage, used in zip(found.passages, used_keyphrases(found), strict=True)
    ]
    if note:  # nothing that helped: a line to open, not a screenful
        nearest = "The nearest passage" if len(items) == 1 else f"The nearest {len(items)} passages"
        html = _numbered(items[:PASSAGES_SHOWN]) + _folded(
            f"{len(items) - PASSAGES_SHOWN} more", items[PASSAGES_SHOWN:], PASSAGES_SHOWN + 1
        )
        folded = f"<details><summary>{nearest}</summary>{html}</details>"
        return f'<p class="note" id="predict-passages-note">{note}</p>{folded}'
    related = sum(map(found.related, found.passages))  # the first ones: they are in the order of their scores
    shown = min(related, PASSAGES_SHOWN)
    told = unrelated_note(found)
    return (
        (_numbered(items[:shown]) if shown else "")
        + _folded(f"{related - shown} more", items[shown:related], shown + 1)
        + (f'<p class="note" id="predict-passages-unrelated">{told}</p>' if told else "")
        + _folded(_unrelated_summary(items[related:]), items[related:], related + 1)
        + f'<p class="small">{_LEGEND}</p>'
    )


def _unrelated_summary(items: Sequence[str]) -> str:
    subjects = "another subject" if len(items) == 1 else "other subjects"
    return f"{count_noun(len(items), 'passage')} that may be on {subjects}"


def _numbered(items: Sequence[str], first: int = 1) -> str:
    place = ' id="predict-passages"' if first == 1 else f' start="{first}"'
    return f'<ol class="passages"{place}>{"".join(items)}</ol>'


def _folded(summary: str, items: Sequence[str], first: int) -> str:
    return f"<details><summary>{summary}</summary>{_numbered(items, first)}</details>" if items else ""


def _passage(passage: RetrievedPassage, used: Used, found: RetrievalPrediction) -> str:
    lang = f' lang="{passage.language}"' if passage.language in NAMES else ""
    chips = "".join(_chip(phrase, used.get(phrase, ())) for phrase in passage.keyphrases)
    text = (
        f'<details><summary>Text</summary><p dir="auto">{escape(passage.text)}</p></details>'
        if passage.text
        else ""
    )
    name = passage.title or passage.id
    return (
        f'<div class="passage"{lang}><div class="passage-head"><strong dir="auto">{escape(name)}</strong>'
        f'{score_html(passage.score)}</div>{_far(passage, found)}<div class="chips">{chips}</div>{text}</div>'
    )


def _far(passage: RetrievedPassage, found: RetrievalPrediction) -> str:
    """That the passage did not help; in three decimals, because two may look like the least score."""
    if found.near is None or found.helps(passage):
        return ""
    reason = _TOO_FAR.format(score=short_score(passage.score, 3), near=found.near)
    return f'<p class="passage-far" lang="en">{reason}</p>'


def _chip(phrase: str, led_to: Collection[str]) -> str:
    if not led_to:
        return f'<span class="chip retrieved" dir="auto">{escape(phrase)}</span>'
    names = escape(" · ".join(led_to))
    return (
        f'<span class="chip retrieved used" title="{names}"><bdi>{escape(phrase)}</bdi> '
        '<span class="used-word">used</span></span>'
    )


def passage_list_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Passages as `kpdemo.passages.passage_rows` gives them, in short and folded; empty for none."""
    if not rows:
        return ""
    items = "".join(f"<li>{_short(row)}</li>" for row in rows)
    near = sum(row["helps"] for row in rows)
    told = "" if near == len(rows) else f", {near or 'none'} near enough to help"
    return (
        f'<details class="passages-found"><summary>{count_noun(len(rows), "passage")}{told}</summary>'
        f'<ol class="passages">{items}</ol></details>'
    )


def _short(row: Mapping[str, Any]) -> str:
    used = set(row["used"])
    chips = "".join(_chip(phrase, [phrase] if phrase in used else ()) for phrase in row["keyphrases"])
    far = ""
    if not row["helps"]:
        far = '<p class="passage-far">Too far from this text to help.</p>'
    elif not row["related"]:
        far = '<p class="passage-far">May be on another subject.</p>'
    return (
        f'<div class="passage-head"><strong dir="auto">{escape(row["title"] or row["id"])}</strong>'
        f'{score_html(row["score"])}</div>{far}<div class="chips">{chips}</div>'
    )


def _comparison(found: RetrievalPrediction) -> str:
    """Both lists side by side; a keyphrase that the other lacks says so."""
    if help_note(found):
        return ""
    both = (found.prediction, found.without)
    columns = zip(("With the passages", "Without them"), both, reversed(both), strict=True)
    return (
        '<h3 id="predict-comparison-heading">What the passages changed</h3>'
        '<div class="compare-columns" id="predict-comparison">'
        + "".join(_column(title, shown, other) for title, shown, other in columns)
        + "</div>"
    )


def _column(title: str, shown: Prediction, other: Prediction) -> str:
    known = {phrase_key(item.text, other.language) for item in other.present + other.absent}
    lang = f' lang="{shown.language}"' if shown.language in NAMES else ""
    items = ""
    for item in shown.present + shown.absent:
        shared = phrase_key(item.text, shown.language) in known
        look = "phrase" if item.present else "phrase chip"
        alone = "" if shared else f'<span class="votes">{_NOT_IN_OTHER}</span>'
        phrase = f'<span class="{look}" dir="auto"{lang}>{escape(item.text)}</span>'
        items += f"<li>{score_html(item.score)} {phrase}{alone}</li>"
    content = f"<ol>{items}</ol>" if items else '<p class="small">No keyphrase.</p>'
    return f'<section class="compare-column"><h4>{title}</h4>{content}</section>'


def _own_passages() -> str:
    return (
        '<details id="predict-own-passages"><summary>Use passages of your own</summary>'
        f'<p class="small">{_OWN}</p><div class="code"><pre tabindex="0" role="region" '
        f'aria-label="Commands that build an index"><code>{escape(_BUILD)}</code></pre></div></details>'
    )


def as_record(answer: PredictionResult) -> dict[str, Any]:
    """The prediction as `python -m kpdemo predict --json` prints it."""
    return document_record(
        with_title_line(answer.question.document),
        answer.prediction,
        model=answer.model,
        device=answer.device,
        seconds=answer.seconds,
        retrieval=answer.retrieval,
    )


def as_json(answer: PredictionResult) -> str:
    return json.dumps(as_record(answer), ensure_ascii=False, indent=2)


def keyphrases_csv(answer: PredictionResult) -> str:
    """One keyphrase a row, see `keyphrase_cells`."""
    return table_text(COLUMNS, keyphrase_cells(keyphrase_rows(answer.prediction)))


def passages_csv(found: RetrievalPrediction) -> str:
    """One retrieved passage a row, the nearest first.

    `related` is "no" for one that may be on another subject, `helps` for one that is too far from the
    text for the model, `used` are those of its keyphrases that led to one
    of the result.
    """
    return table_text(
        ["passage", "title", "score", "related", "helps", "keyphrases", "used"],
        [
            [
                escape_formula(row["id"]),
                escape_formula(row["title"]),
                score_cell(row["score"]),
                "yes" if row["related"] else "no",
                "yes" if row["helps"] else "no",
                listed_cell(row["keyphrases"]),
                listed_cell(row["used"]),
            ]
            for row in passage_rows(found)
        ],
    )


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


def present_rule(language: str) -> str:
    """What makes a keyphrase present in a language, in words; see `kpdemo.languages`."""
    return UNSPACED_RULE if language in SEGMENTED or language == "th" else PRESENT_RULE


def note_of(answer: PredictionResult) -> str:
    """That the model was made for other languages than that of the text; empty when it was not."""
    return prediction_note(
        answer.prediction,
        answer.model,
        answer.languages,
        finds_absent=answer.finds_absent,
    )


def device_name(device: str) -> str:
    return "GPU" if device.startswith("cuda") else device.upper()


def shell_lines(question: PredictionRequest) -> str:
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


def python_lines(question: PredictionRequest) -> str:
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
    split = with_title_line(question.document).title and not question.document.title
    return (
        f"{path}import kpdemo\n{SPLIT if split else ''}\n"
        f"{read}document = {f'with_title_line({document})' if split else document}\n"
        f"[prediction] = kpdemo.load_predictor({given}).predict([document]{options})\n"
        "for keyphrase in prediction.present + prediction.absent:\n"
        """    print(f"{keyphrase.score:.6f}  {keyphrase.text}  {keyphrase.spans or 'absent'}")\n"""
    )


def answer_html(answer: PredictionResult) -> str:
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


def _language_note(answer: PredictionResult) -> str:
    note = note_of(answer)
    return f'<p class="note" id="predict-language-note">{escape(note)}</p>' if note else ""


def _lang(answer: PredictionResult) -> str:
    """The attribute by which a browser chooses the shapes of Chinese characters, and a reader its voice."""
    language = answer.prediction.language
    return f' lang="{language}"' if language in NAMES else ""


def _cut_note(text: str) -> str:
    shown = shown_length(text)
    if shown == len(text):
        return ""
    return (
        f'<p class="note" id="predict-cut">The first {group_digits(shown)} of {group_digits(len(text))} '
        "characters are shown; the keyphrases come from the whole text.</p>"
    )


def _lists(answer: PredictionResult) -> str:
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


def nothing_present(answer: PredictionResult) -> str:
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
        first = group_digits(start)
        if end <= shown:
            first = f'<a href="#{mark_id((start, end))}" title="Go to this place in the text">{first}</a>'
    look = ' class="filler"' if keyphrase.filler else ""
    score = f"{score_html(keyphrase.score)} {filler_word(keyphrase)}"
    return (
        f'<tr{look}><th scope="row" dir="auto">{escape(keyphrase.text)}</th><td>{score}</td>'
        f'<td class="number">{group_digits(len(keyphrase.spans))}</td><td class="number">{first}</td></tr>'
    )


def _buttons(answer: PredictionResult) -> str:
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


def _passages_keeper(answer: PredictionResult) -> str:
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


def _code(question: PredictionRequest) -> str:
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


def _facts(answer: PredictionResult) -> str:
    present, absent = len(answer.prediction.present), len(answer.prediction.absent)
    before = f"{present} present and " if absent else ""
    count = before + count_noun(absent or present, "absent keyphrase" if absent else "keyphrase")
    device = escape(device_name(answer.device))
    language = answer.prediction.language
    read = f" · {escape(language_name(language))}" if language else ""
    return f"{count} · {answer.seconds:.2f} s on {device} · model {escape(answer.model)}{read}"
