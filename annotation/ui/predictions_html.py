"""What the page of predictions shows: five steps with their counts, the next to do, and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from annotation.predictions.judgements import JudgedPool, JudgingOptions, PoolCounts
from annotation.predictions.relevance import Average, ModelFigures, Unjudged
from annotation.shares import share_text
from annotation.ui.tables import listing_html
from annotation.ui.wording import counted, figure, grouped, progress_html
from annotation.web.judgement_downloads import gold_keyphrases_address, qrels_address, run_address
from kpdemo.ui.widgets import empty_html, escape

NO_PREDICTIONS_HTML = (
    '<p class="empty">No predictions yet. Predict a document on the page <a href="/">Keyphrases</a>, press '
    "Send to a project, and choose this one.</p>"
)
NO_GRADES = "No figures yet. They appear with the first gold grade."
UNKNOWN = "–"


def steps_html(
    pool: JudgedPool, counts: PoolCounts, options: JudgingOptions, project_id: int, raters: int
) -> str:
    """Documents, predictions, grades, gold and figures, each with its counts, and what to do next."""
    if not counts.documents:
        return NO_PREDICTIONS_HTML
    models = len(pool.models)
    grades = progress_html(
        counts.graded, counts.phrases, f"{grouped(counts.graded)} of {counted(counts.phrases, 'pair')}"
    )
    waiting = f"{grouped(counts.undecided)} to adjudicate" if counts.undecided else "with a gold grade"
    known = f"{counted(counts.documents_graded, 'document')} measured"
    steps = (
        ("Documents", grouped(counts.documents), "sent to this project"),
        (
            "Predictions",
            grouped(counts.predictions),
            f"of {counted(models, 'model')}, together {counted(counts.phrases, 'keyphrase')}",
        ),
        ("Grades", grades, waiting),
        (
            "Gold keyphrases",
            grouped(counts.gold),
            f"with {options.threshold} or more, of {counted(counts.documents_with_gold, 'document')}",
        ),
        ("Figures", counted(models, "model") if counts.graded else UNKNOWN, known),
    )
    items = "".join(
        f'<li><h3>{name}</h3><p class="predictions-count">{value}</p><p class="small">{escape(note)}</p></li>'
        for name, value, note in steps
    )
    return f'<ol class="predictions-steps">{items}</ol>{_next_step_html(counts, project_id, raters)}'


def _next_step_html(counts: PoolCounts, project_id: int, raters: int) -> str:
    there = f"project={project_id}"
    open_pairs = counts.phrases - counts.graded - counts.undecided
    if open_pairs:
        text = f"{counted(open_pairs, 'pair')} {'waits' if open_pairs == 1 else 'wait'} for grades"
        text += f" of {counted(raters, 'rater')}: " if raters else ": "
        link = f'<a href="/annotate/project?{there}&amp;tab=members">invite raters</a>'
        if raters:
            link = f'<a href="/annotate/project?{there}">see how far they are</a>'
    elif counts.undecided:
        text = f"{counted(counts.undecided, 'pair')} {'waits' if counts.undecided == 1 else 'wait'}: "
        link = f'<a href="/annotate/adjudicate?{there}">adjudicate</a>'
    else:
        text, link = "All pairs have a gold grade: ", '<a href="#predictions-files">download the files</a>'
    return f'<p id="predictions-next"><strong>Next</strong> · {text}{link}</p>'


def figures_html(figures: Mapping[str, ModelFigures], options: JudgingOptions) -> str:
    """A row for each model, the best nDCG first."""
    if not any(found.documents for found in figures.values()):
        return empty_html(NO_GRADES)
    k = options.k
    heads = ("Model", "Documents", f"nDCG@{k}", f"P@{k}", "F1@5", "F1@M", "present", "absent", f"Judged@{k}")
    ranked = sorted(figures.items(), key=lambda item: (-(item[1].ndcg.skip_empty or 0.0), item[0]))
    rows = "".join(_row_html(model, found) for model, found in ranked)
    counted_how = (
        "count as not relevant" if options.unjudged is Unjudged.ZERO else "are skipped in every ranking"
    )
    table = listing_html(
        heads,
        rows,
        numbers=range(1, len(heads)),
        caption="Figures of each model, means over its documents with a relevant keyphrase; nDCG over those "
        "with a grade above 0",
        label="Figures of each model",
        elem_id="predictions-table",
    )
    return (
        f'{table}<p class="small">Gain: the grade. Relevant: graded {options.threshold} or more. Present and '
        "absent: F1@M of each. Recall is of the relevant keyphrases that any model predicted. Keyphrases "
        f"without a gold grade {counted_how}; "
        f"Judged@{k} is the share of the first {k} that have one.</p>"
    )


def _row_html(model: str, found: ModelFigures) -> str:
    averages = (found.ndcg, found.precision, found.all.f1_5, found.all.f1_m)
    cells = [_figure(average) for average in (*averages, found.present.f1_m, found.absent.f1_m)]
    share = UNKNOWN if found.judged_at_k is None else share_text(found.judged_at_k)
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in (grouped(found.documents), *cells, share))
    return f'<tr><th scope="row" dir="auto">{escape(model)}</th>{numbers}</tr>'


def _figure(average: Average) -> str:
    return UNKNOWN if average.skip_empty is None else figure(average.skip_empty)


def files_html(pool: JudgedPool, project_id: int, threshold: Decimal) -> str:
    """The links of the downloads."""
    if not pool.documents:
        return empty_html("No files yet. They appear with the first predictions.")
    gold = escape(gold_keyphrases_address(project_id, threshold))
    runs = "".join(
        f'<li><a href="{escape(run_address(project_id, model))}" download>'
        f"Run of <bdi>{escape(model)}</bdi></a></li>"
        for model in pool.models
    )
    return (
        f'<ul class="predictions-files"><li><a id="predictions-gold" href="{gold}" download>'
        f"Gold keyphrases</a>, graded {threshold} or more, as <code>python -m kpdemo evaluate</code> "
        "reads them</li>"
        f'<li><a id="predictions-qrels" href="{escape(qrels_address(project_id))}" download>Grades as TREC '
        f"qrels</a>, in quarters: 0 to 16</li>{runs}</ul>"
        '<p class="small">Do not give these files to raters: they show which model predicted what.</p>'
    )
