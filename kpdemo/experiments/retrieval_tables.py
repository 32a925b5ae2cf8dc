"""Sections of the page of results in several languages: with and without passages, and by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kpdemo.evaluation.report import UNDEFINED, markdown_table, percent
from kpdemo.experiments.cells import paragraphs
from kpdemo.experiments.multilingual import figures_cell
from kpdemo.experiments.refusals import all_refused, refusal_notes
from kpdemo.experiments.results import Result
from kpdemo.languages.names import language_name


def with_passages(result: Result) -> str:
    """A model with the passages of an index and without, and what they add to F1@M."""
    measured = [
        (f"{name}, {language_name(code)}", found)
        for name, dataset in result["datasets"].items()
        for code, found in dataset["languages"].items()
    ]
    rows = [
        [
            f"{label} ({found['with']['documents']:,})",
            *(figures_cell(found[way]) for way in ("without", "with")),
            UNDEFINED if all_refused(found["with"]) else _difference(found["difference"]),
        ]
        for label, found in measured
    ]
    kinds = [
        [f"{label}, {way} passages", *_kinds(found[way])]
        for label, found in measured
        for way in ("without", "with")
    ]
    refused = refusal_notes([(result["model"], label, found["with"]) for label, found in measured])
    files = " ".join(f"--gold {file}" for file in result["files"])
    head = ["", "without passages", "with passages", "what they add to F1@M"]
    kinds_head = ["", "present F1@5", "present F1@M", "absent F1@5", "absent R@50"]
    text = f"""## {result["model"]} with {result["passages"]:,} English passages

`python -m kpdemo experiments ramkg --model {result["model"]} {files} --index FOLDER`, on {result["machine"]}.
In brackets the 95 % interval over documents.

{markdown_table(head, rows)}

Present and absent keyphrases by themselves, in percent, by the rule of their language (`skip_empty`, see
[evaluation.md](evaluation.md)):

{markdown_table(kinds_head, kinds)}"""
    return paragraphs(text, refused)


def recall_by_round(rounds: Result, published: Mapping[str, Any]) -> str:
    """RAMKG's Table 4 with a row for each round of ours."""
    theirs = published["recall"]
    rows = [
        [f"ours, round {one['round']}", *(percent(one["recall"][str(k)]) for k in theirs["cut_offs"])]
        for one in rounds["rounds"]
    ]
    rows += [
        ["RAMKG (paper)", *map(percent, theirs["first"])],
        ["RAMKG + RGIT (paper)", *map(percent, theirs["last"])],
    ]
    first, best = rounds["rounds"][0], rounds["rounds"][rounds["best"] - 1]
    missed = 1 - first["recall"]["5"]
    fewer = (best["recall"]["5"] - first["recall"]["5"]) / missed if missed else 0.0
    return f"""## Retrieval by round (Table 4)

Validation documents of the training, each with its passage among the whole corpus;
the paper's are products in four languages.

{markdown_table(["Recall at", *map(str, theirs["cut_offs"])], rows)}

The retriever of round {rounds["best"]} misses {100 * fewer:.0f} % fewer passages at 5 than that of the first;
the paper's last misses 45 % fewer."""


def pairs_by_round(rounds: Result, published: Mapping[str, Any]) -> str:
    """RAMKG's Table 5 with ours above."""
    theirs = published["pseudo"]
    mined = [one for one in rounds["rounds"] if "pseudo_pairs" in one]
    count = max(len(mined), len(theirs["pairs"]))
    filler = [UNDEFINED] * (count - len(mined))
    rows = [
        ["pseudo pairs, ours", *(f"{one['pseudo_pairs']:,}" for one in mined), *filler],
        ["label accuracy, ours", *(percent(one["label_accuracy"]) for one in mined), *filler],
        ["F1@M without passages, ours", *(percent(one["base_f1"]) for one in mined), *filler],
        ["F1@M with them, ours", *(percent(one["f1"]) for one in mined), *filler],
        ["pseudo pairs, the paper's", *(f"{pairs:,}" for pairs in theirs["pairs"])],
        ["label accuracy, the paper's", *map(percent, theirs["label_accuracy"])],
    ]
    return f"""## Mined pairs by round (Table 5)

{markdown_table(["Round", *map(str, range(1, count + 1))], rows)}

F1@M is that of each round's model, trained on the documents with a known passage, on the documents that are
mined. Label accuracy is not to be compared: ours is over mined pairs whose true passage is known, the paper's
over 1,000 pairs of products kept for development."""


def _kinds(figures: Mapping[str, Any]) -> list[str]:
    """The figures of present and of absent keyphrases of a language, as cells."""
    present, absent = (figures[kind]["skip_empty"] for kind in ("present", "absent"))
    cells = (present["F1@5"], present["F1@M"], absent["F1@5"], absent["R@50"])
    return [UNDEFINED if all_refused(figures) else percent(cell) for cell in cells]


def _difference(found: Mapping[str, float | None] | None) -> str:
    if found is None:
        return UNDEFINED
    values = (found[name] for name in ("mean", "low", "high"))
    mean, *bounds = (f"{100 * value:+.1f}" for value in values if value is not None)
    return f"{mean} ({' to '.join(bounds)})" if bounds else mean
