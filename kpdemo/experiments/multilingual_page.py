"""The page of results in several languages: ours and RAMKG's, written from the stored figures alone."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from kpdemo.evaluation.report import UNDEFINED, markdown_table
from kpdemo.experiments.cells import paragraphs
from kpdemo.experiments.multilingual import pooled_cell
from kpdemo.experiments.refusals import refusal_notes
from kpdemo.experiments.results import Result, Results
from kpdemo.experiments.retrieval_tables import pairs_by_round, recall_by_round, with_passages
from kpdemo.languages.names import language_name

PUBLISHED = Path(__file__).parents[1] / "assets" / "published" / "ramkg.toml"

_HEAD = """# Results in several languages

Our figures by RAMKG's measure, then [those of its paper](#the-papers), which are on other documents.
`python -m kpdemo experiments ramkg` measured ours and wrote this page.

A cell is **P / R / F1** at M in percent: present and absent keyphrases together, lower-cased, without
punctuation, not stemmed; the mean of the documents' own F1, ± its standard error over documents. Every system
gives as many keyphrases as its own rule says, the unsupervised baselines ten."""

_PAPER = """## The paper's

Gao et al. 2022, *Retrieval-Augmented Multilingual Keyphrase Generation*, Tables 2 and 3: F1@M in percent on
its own test sets, products in German, Spanish, French and Italian, papers in Chinese and Korean. Of its data
only the development set of papers is measured above. Why ours differ:

- The model that ships ranks phrases by features, with a retriever of 8 million parameters; the paper
  fine-tunes mBART.
- It was trained on no Korean documents and on few scientific words in both Chinese and English, so that the
  passages it finds for Chinese and Korean texts are rarely near.
- A Transformer from scratch reads 24,000 documents here (`configs/ramkg_transformer.toml`) and then knows
  which subwords are frequent, but does not yet look at the document; the paper trains one on 62,368
  documents of products."""


def multilingual_page(results: Results) -> str:
    """The page in Markdown; "" where nothing of it was measured."""
    measured = list(results.of_kind("ramkg"))
    if not any((measured, *(any(results.of_kind(kind)) for kind in ("retrieval", "rounds")))):
        return ""
    tables = [_dataset(name, measured) for name in _datasets(measured)]
    tables += map(with_passages, results.of_kind("retrieval"))
    return paragraphs(_HEAD, *tables, _PAPER, _paper_table(), *_rounds(results))


def _rounds(results: Results) -> list[str]:
    return [
        section
        for rounds in results.of_kind("rounds")
        for section in (recall_by_round(rounds, _published()), pairs_by_round(rounds, _published()))
    ]


def _datasets(measured: list[Result]) -> list[str]:
    return list(dict.fromkeys(name for result in measured for name in result["datasets"]))


def _dataset(name: str, measured: list[Result]) -> str:
    shown = [result for result in measured if name in result["datasets"]]
    sizes: dict[str, int] = {}
    for result in shown:
        for code, figures in result["datasets"][name]["languages"].items():
            sizes.setdefault(code, figures["documents"])
    header = ["", *(f"{language_name(code)} ({count:,})" for code, count in sizes.items())]
    rows = [
        [_model(result["model"]), *(pooled_cell(result, name, code) for code in sizes)]
        for result in sorted(shown, key=lambda result: _f1(result, name))
    ]
    return paragraphs(f"## {name}", markdown_table(header, rows), _refused(name, shown))


def _refused(name: str, measured: list[Result]) -> str:
    return refusal_notes(
        [
            (_model(result["model"]), f"{name} in {language_name(code)}", figures)
            for result in measured
            for code, figures in result["datasets"][name]["languages"].items()
        ]
    )


def _f1(result: Result, dataset: str) -> float:
    return float(result["datasets"][dataset]["pooled"]["F1@M"] or 0.0)


def _model(name: str) -> str:
    """A name, or the folder that the run left its checkpoint in."""
    path = Path(name)
    return path.parent.name if path.name == "checkpoint" else path.name


def _paper_table() -> str:
    published = _published()
    languages = published["languages"]
    rows = [
        [row["system"], *(f"{row['f1'][code]:.2f}" if code in row["f1"] else UNDEFINED for code in languages)]
        for row in published["rows"]
    ]
    return markdown_table(["", *map(language_name, languages)], rows)


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
