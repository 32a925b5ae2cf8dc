"""What a prediction looks like: marked text, absent ones, passages, table, files to keep. No Gradio here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from typing import Any

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
from kpdemo.locale import _, mark, ngettext
from kpdemo.markup import UnmarkedDocument, reading_warnings, without_markup
from kpdemo.passages import Used, help_note, passage_rows, unrelated_note, used_keyphrases
from kpdemo.pipeline import OWN_RULE
from kpdemo.predictors import BASELINES, is_factory_name, is_hub_name
from kpdemo.routing import prediction_note
from kpdemo.selection import can_choose, page_score, short_score
from kpdemo.text import phrase_key
from kpdemo.translation import ENGLISH, current_language, html_language, use_language, write_number
from kpdemo.types import (
    Document,
    Keyphrase,
    Prediction,
    PredictionOptions,
    PredictionRequest,
    PredictionResult,
    RetrievalPrediction,
    RetrievedPassage,
)
from kpdemo.ui.html import (
    escape,
    group_digits,
    mark_id,
    marked_html,
    score_html,
)

ABSENT_SHOWN = 5
"""More of them are folded."""


def absent_html(answer: PredictionResult) -> str:
    """The phrases that are not in the text, or why there are none."""
    keyphrases = answer.prediction.absent
    sure = [one for one in keyphrases if not one.filler]
    shown = keyphrases[: min(ABSENT_SHOWN, len(sure) or ABSENT_SHOWN)]
    rest = keyphrases[len(shown) :]
    told = share_right(keyphrases) if keyphrases and is_probability(answer) else ""
    title = _("Not in the text")
    heading = f'<h3 id="predict-absent-heading">{title}{f" · {told}" if told else ""}</h3>'
    if not keyphrases:
        reason = f'<p class="small" id="predict-absent">{nothing_absent(answer)}</p>'
        return f'<section aria-labelledby="predict-absent-heading">{heading}{reason}</section>'
    odds = is_probability(answer)
    folded = _more(_("{number} more", number=len(rest)), rest, odds=odds, start=len(shown) + 1)
    return (
        f'<section aria-labelledby="predict-absent-heading">{heading}'
        f'<ol class="absent" id="predict-absent">{_items(shown, odds=odds)}</ol>{folded}</section>'
    )


def _more(summary: str, keyphrases: Sequence[Keyphrase], *, odds: bool, start: int) -> str:
    if not keyphrases:
        return ""
    items = _items(keyphrases, odds=odds)
    return f'<details><summary>{summary}</summary><ol class="absent" start="{start}">{items}</ol></details>'


def share_right(keyphrases: Sequence[Keyphrase]) -> str:
    """How often such phrases are right, by their scores.

    >>> share_right([Keyphrase("a", 0.2), Keyphrase("b", 0.05)]), share_right([Keyphrase("a", 0.5)])
    ('about 1 in 8 is right', 'about 5 in 10 are right')
    """
    expected = sum(keyphrase.score for keyphrase in keyphrases) / len(keyphrases)
    if expected > MANY:
        return _("{share} are right", share=one_in(expected))
    return _("{share} is right", share=one_in(expected))


def one_in(share: float) -> str:
    """A share in words.

    >>> one_in(0.64), one_in(0.125), one_in(0.006), one_in(0.0)
    ('about 6 in 10', 'about 1 in 8', 'about 1 in 150', 'fewer than 1 in 1000')
    """
    if share < LEAST_SHARE:
        return _("fewer than 1 in 1000")
    return _("about {share}", share=_rounded(share))


LEAST_SHARE = 0.001
MANY = 0.4
"""Above it a share is said in tenths, of which there are several."""


def _rounded(share: float) -> str:
    if share > MANY:
        return _("{number} in 10", number=min(round(10 * share), 9))
    parts = 1 / share
    step = 1 if parts < 20 else 10 if parts < 100 else 50
    return _("1 in {number}", number=round(parts / step) * step)


def nothing_absent(answer: PredictionResult) -> str:
    """Why there is no absent keyphrase, in a sentence."""
    code, threshold = answer.prediction.language, answer.question.threshold
    if not answer.finds_absent:
        return _("This model gives only phrases that are in the text.")
    if code and answer.languages and code not in answer.languages:
        return _("This model proposes none for {language} texts.", language=escape(_(language_name(code))))
    if threshold:
        return _("None reaches the lowest score {score}.", score=write_number(f"{threshold:g}"))
    if answer.prediction.absent_candidates:
        return _("None that the model trusts. Under Options you may ask for those that are mostly wrong.")
    return _("None was found.")


def chip_html(text: str) -> str:
    return f'<span class="chip" dir="auto">{escape(text)}</span>'


def _items(keyphrases: Sequence[Keyphrase], *, odds: bool) -> str:
    return "".join(_item(keyphrase, odds=odds) for keyphrase in keyphrases)


def _item(keyphrase: Keyphrase, *, odds: bool) -> str:
    if odds:
        told = one_in(keyphrase.score) if keyphrase.score < LEAST_SHARE else _rounded(keyphrase.score)
    else:
        told = write_number(page_score(keyphrase.score))
    less = ' class="less"' if keyphrase.filler else ""
    return (
        f"<li{less}>{chip_html(keyphrase.text)}"
        f'<div class="chip-facts"><span>{told}</span>{_why(keyphrase)}</div></li>'
    )


def _why(keyphrase: Keyphrase) -> str:
    if not keyphrase.reason:
        return ""
    name = escape(keyphrase.text)
    reason = f'<p dir="auto">{escape(keyphrase.reason)}</p>'
    label = _("Why “{name}”", name=name)
    return f'<details><summary aria-label="{label}">{_("Why")}</summary>{reason}</details>'


PASSAGES_SHOWN = 5
"""More passages are folded."""

_NOT_IN_OTHER = mark("only here")
_TOO_FAR = mark("Too far from this text to help: its score {score} is below {near}.")
_LEGEND = mark("“used” marks a keyphrase that is in the result or led to one that is.")
_OWN = mark("Use passages on the same subjects as your texts. Each line of {file} is {line}. Then run:")
_OWN_LINE = '<code>&#123;"id": "1", "title": "…", "text": "…", "keyphrases": ["…"]&#125;</code>'
_BUILD = """python -m kpdemo index build --input passages.jsonl --output my.index --model multilingual
python app.py --index my.index"""


def passages_html(found: RetrievalPrediction) -> str:
    """The passages with their keyphrases, those marked that reached the output, and what they changed."""
    return (
        '<section class="retrieval" aria-labelledby="predict-passages-heading">'
        '<h3 id="predict-passages-heading">'
        f"{_('Retrieved passages')}</h3>"
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
        nearest = ngettext("The nearest passage", "The nearest {count} passages", len(items))
        html = _numbered(items[:PASSAGES_SHOWN]) + _folded(
            _("{number} more", number=len(items) - PASSAGES_SHOWN), items[PASSAGES_SHOWN:], PASSAGES_SHOWN + 1
        )
        folded = f"<details><summary>{nearest}</summary>{html}</details>"
        return f'<p class="note" id="predict-passages-note">{note}</p>{folded}'
    related = sum(map(found.related, found.passages))  # the first ones: they are in the order of their scores
    shown = min(related, PASSAGES_SHOWN)
    told = unrelated_note(found)
    return (
        (_numbered(items[:shown]) if shown else "")
        + _folded(_("{number} more", number=related - shown), items[shown:related], shown + 1)
        + (f'<p class="note" id="predict-passages-unrelated">{told}</p>' if told else "")
        + _folded(_unrelated_summary(items[related:]), items[related:], related + 1)
        + f'<p class="small">{_(_LEGEND)}</p>'
    )


def _unrelated_summary(items: Sequence[str]) -> str:
    return ngettext(
        "{count} passage that may be on another subject",
        "{count} passages that may be on other subjects",
        len(items),
        count=group_digits(len(items)),
    )


def _numbered(items: Sequence[str], first: int = 1) -> str:
    place = ' id="predict-passages"' if first == 1 else f' start="{first}"'
    return f'<ol class="passages"{place}>{"".join(items)}</ol>'


def _folded(summary: str, items: Sequence[str], first: int) -> str:
    return f"<details><summary>{summary}</summary>{_numbered(items, first)}</details>" if items else ""


def _passage(passage: RetrievedPassage, used: Used, found: RetrievalPrediction) -> str:
    lang = f' lang="{passage.language}"' if passage.language in NAMES else ""
    chips = "".join(_chip(phrase, used.get(phrase, ())) for phrase in passage.keyphrases)
    text = (
        f'<details><summary>{_("Text")}</summary><p dir="auto">{escape(passage.text)}</p></details>'
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
    score, near = map(write_number, (short_score(passage.score, 3), f"{found.near:g}"))
    reason = _(_TOO_FAR, score=score, near=near)
    return f'<p class="passage-far" lang="{html_language(current_language())}">{reason}</p>'


def _chip(phrase: str, led_to: Collection[str]) -> str:
    if not led_to:
        return f'<span class="chip retrieved" dir="auto">{escape(phrase)}</span>'
    names = escape(" · ".join(led_to))
    return (
        f'<span class="chip retrieved used" title="{names}"><bdi>{escape(phrase)}</bdi> '
        f'<span class="used-word">{_("used")}</span></span>'
    )


def passage_list_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Passages as `kpdemo.passages.passage_rows` gives them, in short and folded; empty for none."""
    if not rows:
        return ""
    items = "".join(f"<li>{_short(row)}</li>" for row in rows)
    near = sum(row["helps"] for row in rows)
    told = ngettext("{count} passage", "{count} passages", len(rows), count=group_digits(len(rows)))
    if not near:
        told = _("{passages}, none near enough to help", passages=told)
    elif near < len(rows):
        told = _("{passages}, {near} near enough to help", passages=told, near=near)
    return (
        f'<details class="passages-found"><summary>{told}</summary>'
        f'<ol class="passages">{items}</ol></details>'
    )


def _short(row: Mapping[str, Any]) -> str:
    used = set(row["used"])
    chips = "".join(_chip(phrase, [phrase] if phrase in used else ()) for phrase in row["keyphrases"])
    far = ""
    if not row["helps"]:
        far = f'<p class="passage-far">{_("Too far from this text to help.")}</p>'
    elif not row["related"]:
        far = f'<p class="passage-far">{_("May be on another subject.")}</p>'
    return (
        f'<div class="passage-head"><strong dir="auto">{escape(row["title"] or row["id"])}</strong>'
        f'{score_html(row["score"])}</div>{far}<div class="chips">{chips}</div>'
    )


def _comparison(found: RetrievalPrediction) -> str:
    """Both lists side by side; a keyphrase that the other lacks says so."""
    if help_note(found):
        return ""
    both = (found.prediction, found.without)
    columns = zip((_("With the passages"), _("Without them")), both, reversed(both), strict=True)
    return (
        f'<h3 id="predict-comparison-heading">{_("What the passages changed")}</h3>'
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
        alone = "" if shared else f'<span class="votes">{_(_NOT_IN_OTHER)}</span>'
        phrase = f'<span class="{look}" dir="auto"{lang}>{escape(item.text)}</span>'
        items += f"<li>{score_html(item.score)} {phrase}{alone}</li>"
    content = f"<ol>{items}</ol>" if items else f'<p class="small">{_("No keyphrase.")}</p>'
    return f'<section class="compare-column"><h4>{title}</h4>{content}</section>'


def _own_passages() -> str:
    own = _(_OWN, file="<code>passages.jsonl</code>", line=_OWN_LINE)
    return (
        f'<details id="predict-own-passages"><summary>{_("Use passages of your own")}</summary>'
        f'<p class="small">{own}</p><div class="code"><pre tabindex="0" role="region" '
        f'aria-label="{_("Commands that build an index")}"><code>{escape(_BUILD)}</code></pre></div>'
        "</details>"
    )


def as_record(answer: PredictionResult) -> dict[str, Any]:
    """The prediction as `python -m kpdemo predict --json` prints it."""
    with use_language(ENGLISH):  # JSON is the same for everybody
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

TEXT_FILE, PHRASES_FILE = "document.txt", "phrases.txt"
SPLIT = "from kpdemo.lines import with_title_line\n"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


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
    words += _further_words(question)
    command = shlex.join([*words, "--json"])
    if not inline:
        return command
    return f"printf %s {shlex.quote(question.document.body)} | {command}"


def _further_words(question: PredictionRequest) -> list[str]:
    further = question.further
    words = [] if question.nested else ["--no-nested"]
    for name in ("shortest", "longest", "style", "diversity"):
        if value := getattr(further, name):
            words.append(f"--{name}={value}")
    words += [f"--exclude={phrase}" for phrase in further.exclude]
    if further.candidates:
        words.append(f"--candidates={PHRASES_FILE}")
        words += [] if further.only_candidates else ["--candidates-first"]
    words += [f"--seed-keyword={word}" for word in further.seed_keywords]
    return [*words, "--unsure"] if further.unsure else words


def python_lines(question: PredictionRequest) -> str:
    """A program that prints the same keyphrases."""
    inline = _fits_inline(question.document)
    body = repr(question.document.body) if inline else "body"
    fields = f", title={question.document.title!r}" if question.document.title else ""
    if question.document.language:
        fields += f", language={question.document.language!r}"
    chosen = ((one.name, getattr(question.options, one.name)) for one in dataclass_fields(PredictionOptions))
    options = "".join(
        f", {name}={_literal(value)}"
        for name, value in chosen
        if value != getattr(OWN_RULE, name) and name != "language"
    )
    given = repr(question.model) + (f", index={question.index!r}" if question.index else "")
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


def _literal(value: object) -> str:
    return repr(list(value) if isinstance(value, tuple) else str(value) if isinstance(value, str) else value)


def answer_html(answer: PredictionResult) -> str:
    """The keyphrases, best first, with what their numbers mean, and ways to keep them."""
    heads = families(answer.prediction)
    ranked = " data-ranked" if can_choose(answer.prediction) else ""
    return (
        f'{_language_note(answer)}<div class="answer-head"><p class="small">{score_meaning(answer)}</p>'
        f"{_keepers(answer, heads)}</div>{_present(answer, heads)}{absent_html(answer)}{_legend(answer)}"
        f'<p class="small" id="predict-facts">{_facts(answer)}</p>'
        f'<data hidden id="predict-record"{ranked} data-content="{escape(as_json(answer))}"></data>'
    )


def text_html(answer: PredictionResult) -> str:
    """The text with its keyphrases marked; passages, and the code that does the same."""
    document = with_title_line(answer.question.document)
    read = without_markup(document)
    left_out = read.left_out if isinstance(read, UnmarkedDocument) else ()
    marked = marked_html(document.text, with_families(answer.prediction.present), left_out)
    return (
        f'<h2 id="predict-text-heading">{_("In the text")}</h2>{_left_out_note(read)}'
        f'<div class="marked-text" id="predict-text" dir="auto"{_lang(answer)} tabindex="0" role="region" '
        f'aria-label="{_("Text with its keyphrases marked")}">{marked}</div>'
        f"{passages_html(answer.retrieval) if answer.retrieval else ''}{_code(answer.question)}"
    )


Family = tuple[Keyphrase, Sequence[Keyphrase]]
"""A keyphrase, and those that are nested in it or that it is nested in, best first."""


def families(prediction: Prediction) -> list[Family]:
    """The present keyphrases, each with its worse ones under it; the best of each family best first."""
    found: list[tuple[Keyphrase, list[Keyphrase]]] = []
    for keyphrase in prediction.present:
        under = next((under for head, under in found if _nest(head.text, keyphrase.text)), None)
        if under is None:
            found.append((keyphrase, list(keyphrase.family)))
        else:
            under.append(keyphrase)
    return [(head, under) for head, under in found]


def with_families(keyphrases: Sequence[Keyphrase]) -> list[Keyphrase]:
    """The keyphrases, and those that they stand for."""
    return [one for keyphrase in keyphrases for one in (keyphrase, *keyphrase.family)]


def _nest(one: str, other: str) -> bool:
    """Whether one holds the other as whole words; by their letters, since stems need a heavy library."""
    one, other = (f" {phrase.casefold()} " for phrase in (one, other))
    return one in other or other in one


def _fits_inline(document: Document) -> bool:
    return len(document.body) <= INLINE_LIMIT and not _CONTROL.search(document.body)


def _language_note(answer: PredictionResult) -> str:
    note = note_of(answer)
    return f'<p class="note" id="predict-language-note">{escape(note)}</p>' if note else ""


def _lang(answer: PredictionResult) -> str:
    """The attribute by which a browser chooses the shapes of Chinese characters, and a reader its voice."""
    language = answer.prediction.language
    return f' lang="{language}"' if language in NAMES else ""


SEEN = mark("What was left out is folded or grey here.")


def _left_out_note(document: Document) -> str:
    """What of the text was not read, and where it is."""
    told = reading_warnings(document)
    if not told:
        return ""
    return f'<p class="small" id="predict-left-out">{escape(" ".join(told))} {_(SEEN)}</p>'


def is_probability(answer: PredictionResult) -> bool:
    """Whether a score is the estimated share of such phrases that are right; else it only ranks them."""
    is_foreign = is_hub_name(answer.model) or is_factory_name(answer.question.model)
    return answer.model not in BASELINES and not is_foreign


def score_meaning(answer: PredictionResult) -> str:
    further = answer.question.further
    if further.candidates or further.seed_keywords:
        return _("The number only ranks the phrases: it is no chance, since yours were given.")
    if is_probability(answer):
        return _("The number is the chance that the authors of such a text would choose the phrase.")
    return _("The number only ranks the phrases of this text: the best has 1.")


def nothing_present(answer: PredictionResult) -> str:
    """Why there is no present keyphrase, and what to do."""
    if answer.question.threshold:
        score = write_number(f"{answer.question.threshold:g}")
        return _("No phrase of the text reaches the lowest score {score}: lower it.", score=score)
    ranked = answer.prediction.ranked_present
    if ranked and ranked.keyphrases:
        return _("No phrase of the text fits the options: change them.")
    if answer.prediction.absent:
        return _("No phrase of the text was found. Add some sentences and try again.")
    return _("No keyphrase was found. Add some sentences and try again.")


def _present(answer: PredictionResult, heads: Sequence[Family]) -> str:
    if not heads:
        return f'<p class="note">{nothing_present(answer)}</p>'
    sure = [family for family in heads if not family[0].filler]
    less = heads[len(sure) :]
    told = _("Less likely") if sure else _("None is likely; the nearest are")
    parts = [_rows(sure, "predict-phrases")] if sure else []
    if less:
        parts.append(f'<p class="small less-likely">{told}</p>{_rows(less, "predict-less")}')
    return "".join(parts)


def _rows(heads: Sequence[Family], elem_id: str) -> str:
    rows = "".join(f"<li>{_row(head)}{_members(under, head)}</li>" for head, under in heads)
    return f'<ol class="phrases" id="{elem_id}">{rows}</ol>'


def _members(under: Sequence[Keyphrase], head: Keyphrase) -> str:
    if not under:
        return ""
    longer = sum(len(one.text) > len(head.text) for one in under)
    counts = ((longer, mark("{count} longer")), (len(under) - longer, mark("{count} shorter")))
    told = ", ".join(_(words, count=count) for count, words in counts if count)
    rows = "".join(f"<li>{_row(one)}</li>" for one in under)
    label = _("{longer_or_shorter} than {phrase}", longer_or_shorter=told, phrase=escape(head.text))
    summary = f'<summary aria-label="{label}">{told}</summary>'
    return f'<details>{summary}<ol class="phrases">{rows}</ol></details>'


def _row(keyphrase: Keyphrase) -> str:
    places = [mark_id(span) for span in keyphrase.spans]
    times = (
        f'<a class="times" href="#{places[0]}" data-places="{" ".join(places)}" '
        f'title="{_("Go to its places in the text")}">{group_digits(len(places))} ×</a>'
    )
    return (
        f'<div class="phrase-row">{score_html(keyphrase.score)}'
        f'<span class="phrase" dir="auto">{escape(keyphrase.text)}</span>{times}</div>'
    )


def _legend(answer: PredictionResult) -> str:
    """One for the whole answer; the words of the papers stand only here."""
    present, absent = answer.prediction.present, answer.prediction.absent
    letters = answer.prediction.language in SEGMENTED or answer.prediction.language == "th"
    present_word, absent_word = "<i>present</i>", "<i>absent</i>"
    of_letters = mark(
        "A phrase counts as in the text if its letters stand there in this order, whatever their endings; "
        "the papers call it {word}. “3 ×” leads from one place to the next."
    )
    of_words = mark(
        "A phrase counts as in the text if its words stand there side by side, whatever their endings; "
        "the papers call it {word}. “3 ×” leads from one place to the next."
    )
    rows = [(_("In the text"), _(of_letters if letters else of_words, word=present_word))]
    if any(under for _head, under in families(answer.prediction)):
        rows.append(
            (
                _("{count} longer", count=2),
                _("Phrases that hold the one above them, or are a part of it, are folded under it."),
            )
        )
    if any(one.filler for one in (*present, *absent)):
        meaning = _("Too unlikely by the model's own rule; they make up the number.")
        rows.append((_("Less likely"), meaning))
    if absent:
        rows.append(
            (
                _("Not in the text"),
                _(
                    "The papers call it {word}. How often such phrases are right was estimated on papers "
                    "near computer science; elsewhere fewer are.",
                    word=absent_word,
                ),
            )
        )
    lines = "".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in rows)
    return (
        '<details class="legend"><summary><span class="info" aria-hidden="true">i</span> '
        f"{_('What this shows')}"
        f"</summary><dl>{lines}</dl></details>"
    )


Copy = tuple[str, str, str]
"""The name after `predict-copy-`, what the button says, and what it copies."""


def copies(answer: PredictionResult, heads: Sequence[Family]) -> list[Copy]:
    """The best phrase of each family in several forms; those not in the text only where it says so."""
    phrases = [head.text for head, _under in heads]
    absent = [one.text for one in answer.prediction.absent]
    forms = [
        ("lines", _("One a line"), "\n".join(phrases)),
        ("bibtex", "BibTeX", f"keywords = {{{', '.join(map(_bibtex, phrases))}}}"),
    ]
    if absent:
        forms.append(("all", _("With those not in the text"), "; ".join([*phrases, *absent])))
    return [("", _("Copy"), "; ".join(phrases)), *forms]


_BIBTEX = str.maketrans({mark: f"\\{mark}" for mark in "&%#_$"} | dict.fromkeys("{},", " "))


def _bibtex(phrase: str) -> str:
    return " ".join(phrase.translate(_BIBTEX).split())


def _keepers(answer: PredictionResult, heads: Sequence[Family]) -> str:
    first, *others = copies(answer, heads)
    more = "".join(keeper(f"predict-copy-{name}", label, content) for name, label, content in others)
    more += _button("predict-copy-json", "JSON", f"data-copy {_RECORD}")
    saves = (
        _button("predict-json", "JSON", f"{_saving('keyphrases.json', 'application/json')} {_RECORD}")
        + keeper("predict-csv", "CSV", keyphrases_csv(answer), "keyphrases.csv", "text/csv")
        + _passages_keeper(answer)
        + _button("predict-html", _("Marked text (HTML)"), 'data-export="save"')
        + _button("predict-print", _("Print or save as PDF"), 'data-export="print"')
    )
    return (
        f'<div class="actions" role="group" aria-label="{_("Keep the keyphrases")}">'
        f"{keeper('predict-copy', first[1], first[2])}{_menu(_('Copy as'), more)}"
        f"{_menu(_('Download'), saves)}</div>"
    )


def _menu(label: str, buttons: str) -> str:
    return f'<details class="menu"><summary class="keep">{label}</summary><div>{buttons}</div></details>'


def _passages_keeper(answer: PredictionResult) -> str:
    if answer.retrieval is None or not answer.retrieval.passages:
        return ""
    content = passages_csv(answer.retrieval)
    return keeper("predict-passages-csv", _("Passages (CSV)"), content, "passages.csv", "text/csv")


_RECORD = 'data-from="predict-record"'
"""For a button that keeps the JSON, which is in the page once."""


def keeper(
    elem_id: str, label: str, content: str, file_name: str = "", media_type: str = "text/plain"
) -> str:
    """A button that copies `content`, or saves it as `file_name`; page.js does the work, nothing is sent."""
    action = _saving(file_name, media_type) if file_name else "data-copy"
    return _button(elem_id, label, f'{action} data-content="{escape(content)}"')


def _saving(file_name: str, media_type: str) -> str:
    return f'data-save="{file_name}" data-type="{media_type};charset=utf-8"'


def _button(elem_id: str, label: str, action: str) -> str:
    return f'<button type="button" class="keep" id="{elem_id}" {action}>{escape(label)}</button>'


def _code(question: PredictionRequest) -> str:
    blocks = []
    if not _fits_inline(question.document):
        told = _("Save the text as {file} first.", file=f"<code>{TEXT_FILE}</code>")
        blocks.append(f'<p class="small">{told}</p>')
    if question.further.candidates:
        file = f"<code>{PHRASES_FILE}</code>"
        told = _("For the command, save your phrases as {file}, one a line.", file=file)
        blocks.append(f'<p class="small">{told}</p>')
    for elem_id, label, copy, lines in (
        ("predict-shell", _("Command line"), _("Copy command"), shell_lines(question)),
        ("predict-python", "Python", _("Copy program"), python_lines(question)),
    ):
        blocks.append(
            f'<div class="code"><div class="code-head"><h3>{label}</h3>'
            f"{keeper(f'{elem_id}-copy', copy, lines)}</div>"
            f'<pre id="{elem_id}" tabindex="0" role="region" aria-label="{label}">'
            f"<code>{escape(lines)}</code></pre></div>"
        )
    return f'<details id="predict-code"><summary>{_("Same in code")}</summary>{"".join(blocks)}</details>'


def _facts(answer: PredictionResult) -> str:
    language = answer.prediction.language
    read = f"{escape(_(language_name(language)))} · " if language else ""
    told = _(
        "model {model} · {seconds} s on {device}",
        model=escape(answer.model),
        seconds=write_number(f"{answer.seconds:.2f}"),
        device=escape(device_name(answer.device)),
    )
    return f"{read}{told}"
