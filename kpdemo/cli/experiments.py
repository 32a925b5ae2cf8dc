"""`python -m kpdemo experiments`: SimCKP's tables with our figures beside the published ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kpdemo.cli.options import (
    PROGRAM,
    Device,
    DeviceOption,
    check_index,
    dataset_names,
    open_predictor,
    parse_setting,
    progress_line,
    say,
)
from kpdemo.command import CallError
from kpdemo.errors import InputError
from kpdemo.io.documents import read_gold
from kpdemo.training import show_progress_logs
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.experiments.measuring import ModelRuns
    from kpdemo.experiments.results import Results
    from kpdemo.experiments.variants import Table
    from kpdemo.simckp.predictor import SystemPredictor


EXAMPLES = f"""
Names:

\b
  main       a model's present and absent keyphrases on --gold files (Tables 2 and 3)
  recall     its absent candidates, with and without reranker, on --gold files (Tables 4 and 6)
  space      the first document of --gold files with its phrases in the plane (Figure 4)
  ablation   contrastive learning, generating all, a binary classifier, sequence labelling (Table 4)
  negatives  hard, random and in-batch negatives (Table 5)
  ngrams     candidates of 1 to 6 words (Figure 3)
  ramkg      a model in each language of --gold files, by RAMKG's measure (its Tables 2 and 3); with --index
             also with and without passages, with --rounds those of its training (Tables 4 and 5)
  page       no measuring: write the page again from the stored figures (SimCKP's, RAMKG's or both)

\b
Examples:
  {PROGRAM} experiments main --gold inspec.test.jsonl --gold semeval2010.test.jsonl
  {PROGRAM} experiments ramkg --gold french.jsonl --gold chinese.jsonl --model yake
  {PROGRAM} experiments ramkg --gold french.jsonl --model multilingual --index english.index
  {PROGRAM} experiments ablation --set data=/path/to/folder --output runs/mine

\b
OUTPUT is a folder of JSON files, one for each thing measured; the page OUTPUT.md is written from them. A
model's figures on further --gold files are added to those on earlier ones, unless its weights or passages
have changed: then they start again. Files are told apart by content, and files of the same name also by the
name of their folder. A variant in OUTPUT is not trained again, and one that was stopped continues; with other
settings or data it is another variant and trained from the start.
"""


class Experiment(StrEnum):
    MAIN = "main"
    RECALL = "recall"
    SPACE = "space"
    ABLATION = "ablation"
    NEGATIVES = "negatives"
    NGRAMS = "ngrams"
    RAMKG = "ramkg"
    PAGE = "page"


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(experiments)


_OF_MODELS = (Experiment.MAIN, Experiment.RECALL, Experiment.SPACE, Experiment.RAMKG)


@dataclass(frozen=True, slots=True)
class _Call:
    """What was asked for on the command line."""

    name: Experiment
    model: str
    device: Device
    config: Path
    overrides: dict[str, str]
    results: Results


def experiments(
    name: Annotated[Experiment, typer.Argument(metavar="NAME", help="What to measure; see below.")],
    gold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Documents with their gold keyphrases; may be given several times."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="A model listed by `models`, or a folder.")
    ] = "default",
    device: DeviceOption = "auto",
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings; configs/experiments.toml if not given.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting for every training run, as for `train`; repeatable."
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", exists=True, help="For ramkg: a passage index for a model that uses one."
        ),
    ] = None,
    rounds: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, help="For ramkg: rgit.json of the model's training."),
    ] = None,
    output: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where to store the figures.")
    ] = "runs/experiments",
) -> None:
    """Repeat the experiments of SimCKP's paper at our size, and write a page with our figures and its own.

    Documents used to choose weights and threshold (the configuration's validation) are left out if they are
    found.
    """
    from kpdemo.experiments.measuring import rounds_result
    from kpdemo.experiments.pages import write_page
    from kpdemo.experiments.results import Results
    from kpdemo.experiments.variants import DEFAULT_CONFIG

    if (name in _OF_MODELS) != bool(gold):
        wanted = "needs --gold FILE" if name in _OF_MODELS else "takes no --gold"
        raise CallError(f"`experiments {name}` {wanted}; see `{PROGRAM} experiments --help`.")
    call = _Call(
        name,
        model,
        device,
        DEFAULT_CONFIG if config is None else Path(config),
        dict(parse_setting(text) for text in overrides or ()),
        Results(Path(output)),
    )
    if (index or rounds) and name != Experiment.RAMKG:
        raise CallError(f"`experiments {name}` takes neither --index nor --rounds: they are for ramkg.")
    trained = None if rounds is None else rounds_result(rounds)
    if index is not None:
        _measure_retrieval(call, gold or (), index)
    elif name in _OF_MODELS:
        _measure_model(call, gold or ())
    elif name != Experiment.PAGE:
        _train_variants(call)
    if trained is not None:
        call.results.write("rounds", trained)
    write_page(call.results)
    print(f"Figures in {call.results.folder}, the page in {call.results.page}.", file=sys.stderr)


def _train_variants(call: _Call) -> None:
    from kpdemo.config import load_section
    from kpdemo.experiments.variants import ExperimentsConfig, VariantRuns

    show_progress_logs()
    settings = load_section(call.config, "experiments", ExperimentsConfig)
    table: Table = call.name.value  # type: ignore[assignment]
    VariantRuns(call.config, settings, call.results, call.overrides).run(table)


def _measure_model(call: _Call, gold: Sequence[str]) -> None:
    runs = _model_runs(call, gold)
    predictor = open_predictor(call.model, call.device)
    total = sum(map(len, runs.datasets.values()))
    with progress_line("Measuring", total) as progress:
        if call.name == Experiment.MAIN:
            runs.main(predictor, progress.advance)
        elif call.name == Experiment.RAMKG:
            runs.ramkg(predictor, progress.advance)
        elif call.name == Experiment.SPACE:
            runs.space(predictor)
        else:
            system = _system(call)
            progress.set_total(total * len(system.sources()) if system else total)
            runs.recall(predictor, system, progress.advance)


def _measure_retrieval(call: _Call, gold: Sequence[str], index: Path) -> None:
    from kpdemo.predictors import index_identity
    from kpdemo.ramkg.passage_index import PassageIndex

    check_index(call.model, index)
    runs = _model_runs(call, gold)
    predictor = open_predictor(call.model, call.device, index)
    with progress_line("Measuring", sum(map(len, runs.datasets.values()))) as progress:
        identity = index_identity(call.model, index)
        runs.retrieval(predictor, len(PassageIndex.open(index)), identity, progress.advance)


def _model_runs(call: _Call, gold: Sequence[str]) -> ModelRuns:
    """The datasets without what chose a threshold, and what tells the model from others."""
    from kpdemo.experiments.measuring import ModelRuns, without
    from kpdemo.experiments.results import GoldFile
    from kpdemo.predictors import model_identity

    chose = _chosen_on(call)
    datasets: dict[str, list[Document]] = {}
    left_out: dict[str, int] = {}
    files: dict[str, GoldFile] = {}
    for file, name in dataset_names(gold).items():
        path = Path(file)
        documents = read_gold(path)
        fair = without(documents, chose)
        if not any(document.keyphrases for document in fair):
            raise InputError(
                f'{file}: no document has gold "keyphrases" and is not a validation document; give another.'
            )
        datasets[name] = fair
        left_out[name] = len(documents) - len(fair)
        files[name] = GoldFile.of(path)
    return ModelRuns(call.model, model_identity(call.model), files, datasets, left_out, call.results)


def _chosen_on(call: _Call) -> set[str]:
    """The texts that chose weights and threshold of SimCKP's models; a word when they are not at hand."""
    from kpdemo.experiments.variants import validation_texts

    if call.name == Experiment.RAMKG:  # what chose SimCKP's weights is English and of other files
        return set()
    texts = validation_texts(call.config, call.overrides)
    if not texts:
        say(
            f"The validation documents of {call.config} were not found, so no gold document is left out: if "
            "the model was chosen on some of them, give their folder as --set data=FOLDER."
        )
    return texts


def _system(call: _Call) -> SystemPredictor | None:
    """The model by its parts, when it is SimCKP's and has some that propose absent keyphrases."""
    from kpdemo.identity import kind_of
    from kpdemo.predictors import fetched_folder
    from kpdemo.simckp import checkpoint
    from kpdemo.simckp import generator as generator_checkpoint
    from kpdemo.simckp.predictor import SystemPredictor, load_system

    folder = fetched_folder(call.model)
    if kind_of(folder) not in (checkpoint.KIND, generator_checkpoint.KIND):
        return None
    system = load_system(folder, device=call.device)
    return system if isinstance(system, SystemPredictor) else None
