"""The model cards of retriever, multilingual model and RAMKG's generator, from configuration and run."""

from __future__ import annotations

import platform

from kpdemo.errors import ConfigError
from kpdemo.languages import language_name
from kpdemo.ramkg.rgit import pseudo_table, recall_table
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.training.cards import (
    describe_source,
    describe_style,
    language_rows,
    licence,
    round_rows,
    source_list,
    visits,
)
from kpdemo.training.loop import processor
from kpdemo.training.multilingual.generator import RamkgTraining, TrainedWriter
from kpdemo.training.multilingual.generator_rounds import RETRIEVER, RamkgRounds, TrainedRounds
from kpdemo.training.multilingual.retriever import RetrieverTraining, TrainedRetriever
from kpdemo.training.multilingual.rgit import MultilingualTraining, TrainedMultilingual


def retriever_card(config: RetrieverTraining, trained: TrainedRetriever) -> str:
    """Markdown."""
    sources = "\n".join(f"- {source.path.name}, {source.language} and English" for source in config.train)
    device = choose_device(config.device)
    figures = ", ".join(f"{name} {value:.3f}" for name, value in trained.validation.items())
    return f"""# {config.name}: a cross-lingual retriever

An encoder ({config.backbone}) trained by `python -m kpdemo train retriever` to find the English text that
says the same (RAMKG, Gao et al. 2022, section 4.1).

## Training

{trained.pairs:,} pairs, {trained.progress.documents:,} visits on {device.type} ({platform.machine()}):

{sources}

## Figures

On the validation pairs, among themselves: {figures}.

{licence(config.backbone)}"""


def multilingual_card(config: MultilingualTraining, trained: TrainedMultilingual) -> str:
    """Markdown: what the configuration's own card says, and what the run was."""
    rounds, device = trained.outcome.rounds, choose_device(config.device)
    return f"""{_head(config)}

## Training

`python -m kpdemo train multilingual`: retriever and ranker in turns (RAMKG, Gao et al. 2022, Algorithm 1).

| | |
|---|---|
{language_rows(trained.documents)}
| of these told their English passage | {config.parallel:,} |
| English passages | {trained.passages:,} |
{round_rows(config.rounds, trained.outcome)}
| visits of each pair in a round, of each document by a ranker | {config.epochs}, {config.ranker.epochs} |
| learning rates of retriever and ranker | {config.learning_rate}, {config.ranker.learning_rate} |
| seed | {config.seed} |
| device | {device.type} ({platform.machine()}) |

Retrieval on the validation documents, in percent:

{recall_table(rounds)}

Mined pairs:

{pseudo_table(rounds)}

{licence()}"""


def _head(config: MultilingualTraining) -> str:
    if config.card is None:
        languages = ", ".join(map(language_name, config.languages))
        return f"# {config.name}: keyphrases with the help of English passages\n\nFor {languages}."
    try:
        return config.card.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"The card at {config.card} cannot be read ({error}): check `card`.") from error


def ramkg_card(config: RamkgTraining, trained: TrainedWriter) -> str:
    """Markdown."""
    loop, progress, settings = config.loop, trained.progress, trained.writer.settings
    languages = " and ".join(map(language_name, settings.made_for))
    return f"""# {config.name}: keyphrases written in {languages}

The generator of RAMKG (Gao et al. 2022, section 4.2), trained by `python -m kpdemo train ramkg-generator`. It
reads a document{_reads(config)} and writes its keyphrases, present and absent ones, as one
sequence.{describe_style(config.style)}

## Training

| | |
|---|---|
| model | {config.backbone} |
| documents | {trained.documents:,} |
| document visits | {visits(progress, loop)} |
| weights of step | {progress.best_step:,}, the best on the validation documents by {config.selected} |
| time | {progress.time()} |
| learning rate | {config.learning_rate:g} |
| seed | {loop.seed} |

Sources:

{source_list(config.train)}

## Validation

{describe_source(config.validation)}: these documents chose the weights, so
the figures are a little too good. A token of a gold keyphrase has a log-likelihood of
{trained.validation["log-likelihood"]:.3f} nats.
{_figures(config, trained)}
## Limits

Texts of {languages}, like those above. It reads the first {settings.window:,} tokens, retrieved keyphrases
included, and writes {settings.longest} at most, with {settings.beams} beams. What it writes may not stand in
the document and may be wrong. The score of a keyphrase is the geometric mean of the probabilities of its
tokens.

{licence(config.backbone)}"""


def rounds_card(config: RamkgRounds, trained: TrainedRounds) -> str:
    """Markdown: what the rounds were, with the paper's Tables 4 and 5 of them."""
    writer, retriever, rounds = config.generator, config.retriever, trained.outcome.rounds
    languages = [language_name(language) for language in sorted(trained.documents)]
    return f"""# {writer.name}: keyphrases written in {" and ".join(languages)}, with English passages

The generator of RAMKG (Gao et al. 2022), trained in turns with its retriever (section 4.3, Algorithm 1) by
`python -m kpdemo train ramkg-rounds`. It reads a document and the keyphrases of the nearest passages of an
index, and writes its keyphrases, present and absent ones, as one sequence.{describe_style(writer.style)}
The index has to be built with the retriever of the same run, the folder `{RETRIEVER}` beside this one.

## Training

| | |
|---|---|
{language_rows(trained.documents)}
| told which passage is theirs | {trained.parallel:,} |
| English passages | {trained.passages:,} |
| passages read with a document | {config.rounds.passages} |
| model, visits of a document, learning rate | {writer.backbone}, {writer.epochs}, {writer.learning_rate:g} |
| retriever, the same | {retriever.backbone}, {retriever.epochs}, {retriever.learning_rate:g} |
{round_rows(config.rounds, trained.outcome)}
| seed | {config.seed} |
| device | {processor(choose_device(config.device))} |

Retrieval on the validation documents, in percent:

{recall_table(rounds)}

Mined pairs:

{pseudo_table(rounds)}

{licence(writer.backbone)}"""


def _reads(config: RamkgTraining) -> str:
    if config.retrieval == "none":
        return " alone"
    passages = "passage" if config.passages == 1 else f"{config.passages} passages"
    return f" and the keyphrases of the nearest {passages} of an index"


def _figures(config: RamkgTraining, trained: TrainedWriter) -> str:
    if not config.generated:
        return ""
    metrics = trained.validation
    return f"""
On {config.generated} of them at most, present and absent together, exactly spelt (RAMKG's measure):

| P@M | R@M | F1@M |
|---|---|---|
| {metrics["P@M"]:.3f} | {metrics["R@M"]:.3f} | {metrics["F1@M"]:.3f} |
"""
