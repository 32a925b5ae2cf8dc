"""The page of results: the paper's tables next to ours, written from the stored figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from kpdemo.evaluation.report import decimals, markdown_table
from kpdemo.experiments.cells import (
    dataset_head,
    mean_cell,
    our_cell,
    paragraphs,
    recall_cell,
    size_text,
    their_cell,
)
from kpdemo.experiments.config import DOMAINS
from kpdemo.experiments.published import Row, published
from kpdemo.experiments.refusals import refusal_notes
from kpdemo.experiments.results import Result, Results

_HEAD = """# Results beside SimCKP's

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
        _HEAD,
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
    theirs = published().present if kind == "present" else published().absent
    rows += [[row.system, *(their_cell(row, published().dataset(name)) for name in names)] for row in theirs]
    header = ["", *(dataset_head(name, shown) for name in names)]
    sizes = ", ".join(f"{name} {count:,}" for name, count in published().datasets.items())
    tests = f"The paper's are on the test sets ({sizes} documents)."
    refused = refusal_notes([(main["model"], *one) for main in shown for one in main["datasets"].items()])
    return paragraphs(head, markdown_table(header, rows), f"{tests}{note if lacking else ''}", refused)


def _ablation(results: Results) -> str:
    table = _variants(results, published().ablation)
    if not table:
        return ""
    text = f"""## With and without contrastive learning (Table 4)

{_described(results, "ablation")}

{table}

All variants are on our encoder. The one that generates has an untrained decoder of two layers; BART's is
pretrained."""
    return paragraphs(
        text,
        _variants(results, published().ablation_absent, "absent"),
        _refused(results, published().ablation),
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
    table = _variants(results, published().negatives)
    if not table:
        return ""
    text = f"""## What gold is told from (Table 5)

{_described(results, "negatives")}

{table}"""
    return paragraphs(text, _refused(results, published().negatives))


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


def _refused(results: Results, rows: Sequence[Row]) -> str:
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


def _described(results: Results, name: str) -> str:
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
    theirs = [published().recall.get(published().dataset(name) or "") for name in names]
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
