"""The pages of results: the papers' tables next to ours, written from the stored figures alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from textwrap import fill
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kpdemo.errors import ConfigError
from kpdemo.evaluation.report import UNDEFINED, decimals, markdown_table, percent
from kpdemo.experiments.measuring import all_refused, figures_cell, pooled_cell, refusal_notes
from kpdemo.experiments.results import Result, Results
from kpdemo.experiments.variants import DOMAINS
from kpdemo.languages import language_name

ASSETS = Path(__file__).parents[1] / "assets"
TEMPLATES = ASSETS / "templates"
SIMCKP_PUBLISHED = ASSETS / "published" / "simckp.toml"
RAMKG_PUBLISHED = ASSETS / "published" / "ramkg.toml"

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


_KINDS = {"main": "main", "variant": "ablation` and `negatives", "ngrams": "ngrams", "recall": "recall"}
"""What is stored, and the experiments that store it."""


def write_page(results: Results) -> None:
    """Write the Markdown page beside the folder of results.

    Raises:
        ConfigError: nothing was measured there.
    """
    pages = [page for page in (simckp_page(results), multilingual_page(results)) if page]
    if not pages:
        raise ConfigError(f"{results.folder} holds no figures: name the --output of an earlier experiment.")
    results.page.write_text("\n\n".join(pages) + "\n", encoding="utf-8")


def simckp_page(results: Results) -> str:
    """The page in Markdown; "" where nothing of it was measured."""
    found = {kind: list(results.of_kind(kind)) for kind in (*_KINDS, "space")}
    if not any(found.values()):
        return ""
    published = load_published()
    variants = _by_variant(found["variant"])
    recalls = found["recall"]
    sources = [
        (result["model"], source, datasets)
        for result in recalls
        for source, datasets in result["sources"].items()
    ]
    reached = list(dict.fromkeys(name for _, _, datasets in sources for name in datasets))
    return _render(
        "results.md.jinja",
        published=published,
        mains=found["main"],
        variants=variants,
        ngrams=found["ngrams"],
        recalls=recalls,
        missing=[name for kind, name in _KINDS.items() if not found[kind]],
        test_sets=", ".join(f"{name} {count:,}" for name, count in published.datasets.items()),
        command=_command,
        kind_table=_kind_table,
        refusals=lambda mains: refusal_notes(
            [(main["model"], *one) for main in mains for one in main["datasets"].items()]
        ),
        training=partial(_training, found["variant"]),
        variant_table=partial(_variant_table, variants),
        variant_refusals=partial(_variant_refusals, variants),
        length_table=_length_table,
        source_table=partial(_source_table, sources, reached),
        recall_table=partial(_recall_table, sources, reached),
        source_refusals=lambda: refusal_notes(
            [(model, *one) for model, _, datasets in sources for one in datasets.items()]
        ),
    )


def _render(template: str, **context: object) -> str:
    """A page from its template; what was not measured leaves no gap."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(context)
    return re.sub(r"\n{3,}", "\n\n", page).strip()


def _command(results: Sequence[Result], name: str) -> str:
    """How to measure the same, and on what that was done."""
    lines = [
        f"`python -m kpdemo experiments {name} --model {result['model']} {_gold_options(result)}`"
        for result in results
    ]
    machines = dict.fromkeys(one for result in results for one in result["machine"].split(" and "))
    return "\n\n".join([*lines, f"Measured on {' and '.join(machines)}."])


def _gold_options(result: Result) -> str:
    return " ".join(f"--gold {file}" for file in result["files"])


def _kind_table(mains: Sequence[Result], kind: str) -> str:
    """Tables 2 and 3: ours in bold, then the paper's."""
    published = load_published()
    names = list(dict.fromkeys(name for main in mains for name in main["datasets"]))
    ours = [
        [f"**{main['model']}**", *(our_cell(main["datasets"].get(name), kind) for name in names)]
        for main in mains
    ]
    theirs = [
        [row.system, *(their_cell(row, published.dataset(name)) for name in names)]
        for row in (published.present if kind == "present" else published.absent)
    ]
    return markdown_table(["", *(dataset_head(name, mains) for name in names)], [*ours, *theirs])


def _by_variant(found: Iterable[Result]) -> dict[str, list[Result]]:
    known: dict[str, list[Result]] = {}
    for result in found:
        known.setdefault(result["variant"], []).append(result)
    return known


def _variant_table(known: Mapping[str, list[Result]], rows: Sequence[Row], kind: str) -> str:
    """Ours and the paper's side by side."""
    first = next(iter(known.values()))[0]
    domains = [f"{name}, ours ({size_text(first['datasets'][name])})" for name in DOMAINS]
    header = [f"{kind} keyphrases", *domains, *(f"{name}, the paper's" for name in DOMAINS)]
    lines = []
    for row in rows:
        found = known.get(row.variant or "", [])
        ours = [mean_cell([one["datasets"][name] for one in found], kind) for name in DOMAINS]
        lines.append([row.system, *ours, *(their_cell(row, name) for name in DOMAINS)])
    return markdown_table(header, lines)


def _variant_refusals(known: Mapping[str, list[Result]], rows: Sequence[Row]) -> str:
    """What the variants of a table refused."""
    return refusal_notes(
        [
            (f"{one['variant']}-{one['seed']}", *dataset)
            for row in rows
            for one in known.get(row.variant or "", [])
            for dataset in one["datasets"].items()
        ]
    )


def _training(found: Sequence[Result], name: str) -> str:
    """The command, and what all variants of a table have in common."""
    seeds = sorted({result["seed"] for result in found})
    training = found[0]["training"]
    sources = "; ".join(source.removeprefix("- ") for source in training["sources"])
    measured = "; ".join(
        f"{domain} is {one['file']}, {size_text(one)}" for domain, one in found[0]["datasets"].items()
    )
    minutes = max(result["training"]["seconds"] for result in found) / 60
    mean = f"seed {seeds[0]}" if len(seeds) == 1 else f"the mean of the seeds {', '.join(map(str, seeds))}"
    text = f"""Each variant reads {training["visits"]:,} documents out of {training["pool"]:,} ({sources}),
with {training["backbone"]} as the encoder, on {training["machine"]}, in at most {minutes:.0f} minutes;
{mean}. Weights and threshold are chosen on {training["validation"]}.
Measured on others: {measured}."""
    return f"`python -m kpdemo experiments {name}`\n\n{fill(text, 110, break_on_hyphens=False)}"


def _length_table(found: Sequence[Result]) -> str:
    rows = []
    for length in found[0]["lengths"]:
        shown = [result["lengths"][length] for result in found]
        rows.append([length, *(mean_cell([one[name] for one in shown]) for name in DOMAINS)])
    return markdown_table(["words at most", *DOMAINS], rows)


Sources = Sequence[tuple[str, str, Mapping[str, Any]]]
"""Of whole models: the model, where its absent candidates come from, and the figures of each dataset."""


def _source_table(sources: Sources, names: Sequence[str]) -> str:
    """Absent keyphrases of whole models, with and without their rerankers; empty where there are none."""
    rows = [
        [f"**{model}**, {source}", *(our_cell(datasets.get(name), "absent") for name in names)]
        for model, source, datasets in sources
    ]
    return markdown_table(["Absent keyphrases of whole models, ours", *names], rows) if rows else ""


def _recall_table(sources: Sources, names: Sequence[str]) -> str:
    published = load_published()
    rows = [
        [f"**{model}**, {source}", *(recall_cell(datasets.get(name)) for name in names)]
        for model, source, datasets in sources
    ]
    theirs = [published.recall.get(published.dataset(name) or "") for name in names]
    return markdown_table(["", *names], [*rows, ["SimCKP, 50 beams", *map(decimals, theirs)]])


def multilingual_page(results: Results) -> str:
    """The page in Markdown; "" where nothing of it was measured."""
    measured, retrievals, rounds = (list(results.of_kind(kind)) for kind in ("ramkg", "retrieval", "rounds"))
    if not (measured or retrievals or rounds):
        return ""
    published = tomllib.loads(RAMKG_PUBLISHED.read_text(encoding="utf-8"))
    return _render(
        "results_multilingual.md.jinja",
        datasets=list(dict.fromkeys(name for result in measured for name in result["datasets"])),
        retrievals=retrievals,
        all_rounds=rounds,
        dataset_table=partial(_dataset_table, measured),
        dataset_refusals=partial(_dataset_refusals, measured),
        gold_options=_gold_options,
        passage_table=_passage_table,
        passage_kinds_table=_passage_kinds_table,
        passage_refusals=lambda result: refusal_notes(
            [(result["model"], label, found["with"]) for label, found in _by_label(result)]
        ),
        paper_table=partial(_paper_table, published),
        recall_by_round=partial(_recall_by_round, published["recall"]),
        fewer_missed=_fewer_missed,
        pairs_by_round=partial(_pairs_by_round, published["pseudo"]),
    )


def _dataset_table(measured: Sequence[Result], name: str) -> str:
    """A row for each model, the worst first, and a column for each language."""
    shown = [result for result in measured if name in result["datasets"]]
    sizes: dict[str, int] = {}
    for result in shown:
        for code, figures in result["datasets"][name]["languages"].items():
            sizes.setdefault(code, figures["documents"])
    header = ["", *(f"{language_name(code)} ({count:,})" for code, count in sizes.items())]
    rows = [
        [_model(result["model"]), *(pooled_cell(result, name, code) for code in sizes)]
        for result in sorted(shown, key=lambda result: result["datasets"][name]["pooled"]["F1@M"] or 0.0)
    ]
    return markdown_table(header, rows)


def _dataset_refusals(measured: Sequence[Result], name: str) -> str:
    return refusal_notes(
        [
            (_model(result["model"]), f"{name} in {language_name(code)}", figures)
            for result in measured
            if name in result["datasets"]
            for code, figures in result["datasets"][name]["languages"].items()
        ]
    )


def _model(name: str) -> str:
    """A name, or the folder that the run left its checkpoint in."""
    path = Path(name)
    return path.parent.name if path.name == "checkpoint" else path.name


def _by_label(result: Result) -> list[tuple[str, dict[str, Any]]]:
    """The figures with passages and without, by dataset and language."""
    return [
        (f"{name}, {language_name(code)}", found)
        for name, dataset in result["datasets"].items()
        for code, found in dataset["languages"].items()
    ]


def _passage_table(result: Result) -> str:
    """A model with the passages of an index and without, and what they add to F1@M."""
    rows = [
        [
            f"{label} ({found['with']['documents']:,})",
            *(figures_cell(found[way]) for way in ("without", "with")),
            UNDEFINED if all_refused(found["with"]) else _difference(found["difference"]),
        ]
        for label, found in _by_label(result)
    ]
    return markdown_table(["", "without passages", "with passages", "what they add to F1@M"], rows)


def _passage_kinds_table(result: Result) -> str:
    """Present and absent keyphrases by themselves."""
    head = ["", "present F1@5", "present F1@M", "absent F1@5", "absent R@50"]
    rows = []
    for label, found in _by_label(result):
        for way in ("without", "with"):
            present, absent = (found[way][kind]["skip_empty"] for kind in ("present", "absent"))
            cells = (present["F1@5"], present["F1@M"], absent["F1@5"], absent["R@50"])
            shown = [UNDEFINED if all_refused(found[way]) else percent(cell) for cell in cells]
            rows.append([f"{label}, {way} passages", *shown])
    return markdown_table(head, rows)


def _difference(found: Mapping[str, float | None] | None) -> str:
    if found is None:
        return UNDEFINED
    values = (found[name] for name in ("mean", "low", "high"))
    mean, *bounds = (f"{100 * value:+.1f}" for value in values if value is not None)
    return f"{mean} ({' to '.join(bounds)})" if bounds else mean


def _paper_table(published: Mapping[str, Any]) -> str:
    languages = published["languages"]
    rows = [
        [row["system"], *(f"{row['f1'][code]:.2f}" if code in row["f1"] else UNDEFINED for code in languages)]
        for row in published["rows"]
    ]
    return markdown_table(["", *map(language_name, languages)], rows)


def _recall_by_round(theirs: Mapping[str, Any], rounds: Result) -> str:
    """RAMKG's Table 4 with a row for each round of ours."""
    rows = [
        [f"ours, round {one['round']}", *(percent(one["recall"][str(k)]) for k in theirs["cut_offs"])]
        for one in rounds["rounds"]
    ]
    rows += [
        ["RAMKG (paper)", *map(percent, theirs["first"])],
        ["RAMKG + RGIT (paper)", *map(percent, theirs["last"])],
    ]
    return markdown_table(["Recall at", *map(str, theirs["cut_offs"])], rows)


def _fewer_missed(rounds: Result) -> str:
    """How many fewer passages at 5 the best round misses than the first, in percent."""
    first, best = (rounds["rounds"][place]["recall"]["5"] for place in (0, rounds["best"] - 1))
    return f"{100 * (best - first) / (1 - first) if first != 1 else 0:.0f}"


def _pairs_by_round(theirs: Mapping[str, Any], rounds: Result) -> str:
    """RAMKG's Table 5 with ours above."""
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
    return markdown_table(["Round", *map(str, range(1, count + 1))], rows)
