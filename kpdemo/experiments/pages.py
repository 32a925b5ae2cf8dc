"""The pages of results: the papers' tables next to ours, written from the stored figures alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from kpdemo.errors import ConfigError
from kpdemo.evaluation.report import UNDEFINED, decimals, markdown_table, percent
from kpdemo.experiments.measuring import all_refused, figures_cell, pooled_cell, refusal_notes
from kpdemo.experiments.results import Result, Results
from kpdemo.experiments.variants import DOMAINS
from kpdemo.languages import language_name

SIMCKP_PUBLISHED = Path(__file__).parents[1] / "assets" / "published" / "simckp.toml"

_FILES = {"SemEval": r"semeval([-_ ]?2010)?(?![-_ ]?[0-9]|[a-z])"}
"""How the names of a data set's files begin, where others begin alike: SemEval had tasks in other years."""

Pair = tuple[float, float]
"""F1@5 and F1@M."""


@dataclass(frozen=True, slots=True)
class Row:
    """Attributes:
    figures: by dataset, or by domain.
    variant: ours that corresponds to it, if any.
    """

    system: str
    figures: Mapping[str, Pair]
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """Tables 2 to 6 of Choi et al. 2023; see the file for each."""

    datasets: Mapping[str, int]
    present: tuple[Row, ...]
    absent: tuple[Row, ...]
    ablation: tuple[Row, ...]
    ablation_absent: tuple[Row, ...]
    negatives: tuple[Row, ...]
    recall: Mapping[str, float]

    def dataset(self, name: str) -> str | None:
        """The paper's name of the dataset that a file is of, going by the beginning of the file's name."""
        patterns = {known: _FILES.get(known, rf"{known}(?![a-z])") for known in self.datasets}
        return next((known for known in patterns if re.match(patterns[known], name, re.IGNORECASE)), None)


@cache
def load_published() -> Published:
    values = tomllib.loads(SIMCKP_PUBLISHED.read_text(encoding="utf-8"))
    tables = ("present", "absent", "ablation", "ablation_absent", "negatives")
    return Published(
        datasets=values["datasets"],
        recall=values["recall"],
        **{table: tuple(_row(row) for row in values[table]) for table in tables},
    )


def _row(values: Mapping[str, object]) -> Row:
    figures = {name: (at_5, at_m) for name, (at_5, at_m) in dict(values["figures"]).items()}  # type: ignore[call-overload]
    variant = values.get("variant")
    return Row(str(values["system"]), figures, None if variant is None else str(variant))


def paragraphs(*parts: str) -> str:
    """The parts with blank lines between them; empty ones are left out."""
    return "\n\n".join(filter(None, parts))


def dataset_head(name: str, mains: Iterable[Result]) -> str:
    """The head of a column: the file, its documents, and how many of it were left out."""
    measured = next(main["datasets"][name] for main in mains if name in main["datasets"])
    known = load_published().dataset(name)
    left = f", without {measured['left_out']:,}" if measured["left_out"] else ""
    return f"{known + ': ' if known else ''}{name} ({size_text(measured)}{left})"


def size_text(measured: Mapping[str, Any]) -> str:
    return f"{measured['documents']:,} documents"


def our_cell(measured: Mapping[str, Any] | None, kind: str) -> str:
    if measured is None:
        return UNDEFINED
    return _pair_of([measured], kind)


def mean_cell(measured: Sequence[Mapping[str, Any]], kind: str = "present") -> str:
    """The mean over seeds."""
    return _pair_of(measured, kind) if measured else UNDEFINED


def _pair_of(measured: Sequence[Mapping[str, Any]], kind: str) -> str:
    cells = []
    for figure in ("F1@5", "F1@M"):
        values = [one[kind]["skip_empty"][figure] for one in measured]
        errors = [one["standard_error"][kind][figure] for one in measured]
        cells.append(_with_error(values, errors))
    return " / ".join(cells)


def recall_cell(measured: Mapping[str, Any] | None) -> str:
    if measured is None:
        return UNDEFINED
    recall, error = measured["absent"]["skip_empty"]["R@50"], measured["standard_error"]["absent"]["R@50"]
    return _with_error([recall], [error])


def _with_error(values: Sequence[float | None], errors: Sequence[float | None]) -> str:
    """Means of both; seeds are measured on the same documents, so the error does not shrink with them."""
    known = [value for value in values if value is not None]
    if not known:
        return UNDEFINED
    spread = [error for error in errors if error is not None]
    text = f"{sum(known) / len(known):.3f}"
    return f"{text} ± {sum(spread) / len(spread):.3f}" if spread else text


def their_cell(row: Row, name: str | None) -> str:
    figures: Pair | None = row.figures.get(name or "")
    return UNDEFINED if figures is None else f"{figures[0]:.3f} / {figures[1]:.3f}"


_SIMCKP_HEAD = """# Results beside SimCKP's

Our figures beside those of Choi et al. 2023, *SimCKP*, by the numbers of its tables. They are not of the same
experiment: see [why they differ](#why-they-differ). `python -m kpdemo experiments` measured ours and wrote
this page.

- A cell is **F1@5 / F1@M**, macro-averaged over the documents that have gold of the kind (`skip_empty`, see
  [evaluation.md](evaluation.md)), as SimCKP's released evaluation does; ± is the standard error over
  documents.
- Systems before SimCKP stand as it cites them. Most of their papers count a document without gold of the
  kind as 0, which makes these figures lower.
- Documents that chose weights or a threshold, by the configuration's validation file, are left out where
  that file is at hand. What else they chose, their model cards tell: of the default model all 1,000 of
  KP20k chose, with others, the share of the second extractor and the window."""

_WHY = """## Why they differ

Ours and the paper's are not the same experiment, and a row of ours says nothing about theirs:

- The encoder has 22 million parameters, BART-base has 139 million.
- The paper trains on 530,809 documents of KP20k for up to ten epochs; a model of ours learnt from fewer and
  other documents, which its card lists.
- KP20k's test set was not at hand: where KP20k is named, ours is a part of its validation set.
- Candidates, labels, threshold and order differ as [deviations.md](deviations.md) lists."""

_WHY_VARIANTS = """Of the variants only the order of the rows within a table can be compared, and that
only where they are far apart:

- They read a few thousand documents at most, so that what needs more training may look worse than it is.
- They begin with an encoder that was made for comparing sentences by their cosine, which may help what
  compares vectors more than what classifies them.
- Out of domain is Inspec alone, whose indexers chose other phrases than authors do; the paper has four data
  sets.
- One seed is one draw, and ± is over documents only: differences of less than two standard errors, and some
  larger ones, may not survive another seed."""

_KINDS = {"main": "main", "variant": "ablation` and `negatives", "ngrams": "ngrams", "recall": "recall"}
"""What is stored, and the experiments that store it."""


def simckp_page(results: Results) -> str:
    """The page in Markdown; "" where nothing of it was measured."""
    if not any(any(results.of_kind(kind)) for kind in (*_KINDS, "space")):
        return ""
    return paragraphs(
        _SIMCKP_HEAD,
        _kind_section(results, "present", "Present keyphrases", 2),
        _kind_section(results, "absent", "Absent keyphrases", 3),
        _ablation(results),
        _negatives(results),
        _lengths(results),
        _recall(results),
        "## Semantic space (Figure 4)\n\nThe page of the application draws it for any document; "
        "`python -m kpdemo experiments space` writes the places as JSON.",
        _missing(results),
        _WHY,
        _WHY_VARIANTS if _by_variant(results) else "",
    )


def _missing(results: Results) -> str:
    names = [f"`{name}`" for kind, name in _KINDS.items() if not any(results.of_kind(kind))]
    return f"Not measured for this page: {', '.join(names)}." if names else ""


def _kind_section(results: Results, kind: str, title: str, number: int) -> str:
    mains = list(results.of_kind("main"))
    if not mains:
        return ""
    head = f"## {title} (Table {number})\n\n{_command(mains, 'main')}"
    shown = [main for main in mains if kind == "present" or main["finds_absent"]]
    lacking = [f"`{main['model']}`" for main in mains if main not in shown]
    note = f"\n\nNo absent keyphrases from {' and '.join(lacking)}."
    if not shown:
        return head + note
    names = list(dict.fromkeys(name for main in shown for name in main["datasets"]))
    rows = [
        [f"**{main['model']}**", *(our_cell(main["datasets"].get(name), kind) for name in names)]
        for main in shown
    ]
    theirs = load_published().present if kind == "present" else load_published().absent
    rows += [
        [row.system, *(their_cell(row, load_published().dataset(name)) for name in names)] for row in theirs
    ]
    header = ["", *(dataset_head(name, shown) for name in names)]
    sizes = ", ".join(f"{name} {count:,}" for name, count in load_published().datasets.items())
    tests = f"The paper's are on the test sets ({sizes} documents)."
    refused = refusal_notes([(main["model"], *one) for main in shown for one in main["datasets"].items()])
    return paragraphs(head, markdown_table(header, rows), f"{tests}{note if lacking else ''}", refused)


def _ablation(results: Results) -> str:
    table = _variants(results, load_published().ablation)
    if not table:
        return ""
    text = f"""## With and without contrastive learning (Table 4)

{_describe(results, "ablation")}

{table}

All variants are on our encoder. The one that generates has an untrained decoder of two layers; BART's is
pretrained."""
    return paragraphs(
        text,
        _variants(results, load_published().ablation_absent, "absent"),
        _simckp_refusals(results, load_published().ablation),
        _sources(results),
    )


def _sources(results: Results) -> str:
    """Absent keyphrases of whole models, with and without their rerankers, from what `recall` measured."""
    names = _recall_datasets(results)
    rows = [
        [f"**{result['model']}**, {source}", *(our_cell(datasets.get(name), "absent") for name in names)]
        for result in results.of_kind("recall")
        for source, datasets in result["sources"].items()
    ]
    return markdown_table(["Absent keyphrases of whole models, ours", *names], rows) if rows else ""


def _negatives(results: Results) -> str:
    table = _variants(results, load_published().negatives)
    if not table:
        return ""
    text = f"""## What gold is told from (Table 5)

{_describe(results, "negatives")}

{table}"""
    return paragraphs(text, _simckp_refusals(results, load_published().negatives))


def _variants(results: Results, rows: Sequence[Row], kind: str = "present") -> str:
    """Ours and the paper's side by side; empty without any variant of ours."""
    known = _by_variant(results)
    if not known:
        return ""
    first = next(iter(known.values()))[0]
    domains = [f"{name}, ours ({size_text(first['datasets'][name])})" for name in DOMAINS]
    header = [f"{kind} keyphrases", *domains, *(f"{name}, the paper's" for name in DOMAINS)]
    lines = []
    for row in rows:
        found = known.get(row.variant or "", [])
        ours = [mean_cell([one["datasets"][name] for one in found], kind) for name in DOMAINS]
        lines.append([row.system, *ours, *(their_cell(row, name) for name in DOMAINS)])
    return markdown_table(header, lines)


def _simckp_refusals(results: Results, rows: Sequence[Row]) -> str:
    """What the variants of a table refused."""
    known = _by_variant(results)
    found = [result for row in rows for result in known.get(row.variant or "", [])]
    return refusal_notes(
        [
            (f"{one['variant']}-{one['seed']}", *dataset)
            for one in found
            for dataset in one["datasets"].items()
        ]
    )


def _by_variant(results: Results) -> dict[str, list[Result]]:
    known: dict[str, list[Result]] = {}
    for result in results.of_kind("variant"):
        known.setdefault(result["variant"], []).append(result)
    return known


def _describe(results: Results, name: str) -> str:
    """The command, and what all variants of a table have in common."""
    found = list(results.of_kind("variant"))
    seeds = sorted({result["seed"] for result in found})
    training = found[0]["training"]
    sources = "; ".join(source.removeprefix("- ") for source in training["sources"])
    measured = "; ".join(
        f"{domain} is {one['file']}, {size_text(one)}" for domain, one in found[0]["datasets"].items()
    )
    minutes = max(result["training"]["seconds"] for result in found) / 60
    text = f"""Each variant reads {training["visits"]:,} documents out of {training["pool"]:,} ({sources}),
with {training["backbone"]} as the encoder, on {training["machine"]}, in at most {minutes:.0f} minutes;
{_seeds(seeds)}. Weights and threshold are chosen on {training["validation"]}.
Measured on others: {measured}."""
    return f"`python -m kpdemo experiments {name}`\n\n{fill(text, 110, break_on_hyphens=False)}"


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"the mean of the seeds {', '.join(map(str, seeds))}"


def _lengths(results: Results) -> str:
    found = list(results.of_kind("ngrams"))
    if not found:
        return ""
    lengths = list(found[0]["lengths"])
    rows = []
    for length in lengths:
        shown = [result["lengths"][length] for result in found]
        rows.append([length, *(mean_cell([one[name] for one in shown]) for name in DOMAINS)])
    table = markdown_table(["words at most", *DOMAINS], rows)
    return f"""## How long candidates may be (Figure 3)

`python -m kpdemo experiments ngrams`

The contrastive variant with shorter candidates, and a threshold of its own for each length. Documents as
above.

{table}

The paper draws curves without figures: on all five test sets they rise up to three words and are nearly
flat from there on, with a slight rise at six on some, such as Inspec and SemEval."""


def _recall(results: Results) -> str:
    found = list(results.of_kind("recall"))
    if not found:
        return ""
    head = f"## What over-generation reaches (Table 6)\n\n{_command(found, 'recall')}"
    names = _recall_datasets(results)
    lacking = "".join(
        f"\n\n`{result['model']}` proposes no absent keyphrases: there is nothing to reach."
        for result in found
        if not result["sources"]
    )
    rows = [
        [f"**{result['model']}**, {source}", *(recall_cell(datasets.get(name)) for name in names)]
        for result in found
        for source, datasets in result["sources"].items()
    ]
    if not rows:
        return head + lacking
    theirs = [load_published().recall.get(load_published().dataset(name) or "") for name in names]
    rows.append(["SimCKP, 50 beams", *map(decimals, theirs)])
    refused = refusal_notes(
        [
            (result["model"], *dataset)
            for result in found
            for datasets in result["sources"].values()
            for dataset in datasets.items()
        ]
    )
    table = f"R@50 of absent keyphrases.\n\n{markdown_table(['', *names], rows)}{lacking}"
    return paragraphs(head, table, refused)


def _recall_datasets(results: Results) -> list[str]:
    found = results.of_kind("recall")
    return list(dict.fromkeys(name for one in found for source in one["sources"].values() for name in source))


def _command(results: Sequence[Result], name: str) -> str:
    """How to measure the same, and on what that was done."""
    lines = []
    for result in results:
        gold = " ".join(f"--gold {file}" for file in result["files"])
        lines.append(f"`python -m kpdemo experiments {name} --model {result['model']} {gold}`")
    machines = dict.fromkeys(one for result in results for one in result["machine"].split(" and "))
    return "\n\n".join([*lines, f"Measured on {' and '.join(machines)}."])


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


RAMKG_PUBLISHED = Path(__file__).parents[1] / "assets" / "published" / "ramkg.toml"

_MULTILINGUAL_HEAD = """# Results in several languages

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
    return paragraphs(_MULTILINGUAL_HEAD, *tables, _PAPER, _paper_table(), *_rounds(results))


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
    return paragraphs(f"## {name}", markdown_table(header, rows), _multilingual_refusals(name, shown))


def _multilingual_refusals(name: str, measured: list[Result]) -> str:
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
    return tomllib.loads(RAMKG_PUBLISHED.read_text(encoding="utf-8"))


def write_page(results: Results) -> None:
    """Write the Markdown page beside the folder of results.

    Raises:
        ConfigError: nothing was measured there.
    """
    page = paragraphs(simckp_page(results), multilingual_page(results))
    if not page:
        raise ConfigError(f"{results.folder} holds no figures: name the --output of an earlier experiment.")
    results.page.write_text(f"{page}\n", encoding="utf-8")
