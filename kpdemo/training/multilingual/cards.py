"""The model cards of retriever and multilingual model, from their configuration and run."""

from __future__ import annotations

import platform

from kpdemo.errors import ConfigError
from kpdemo.languages.names import language_name
from kpdemo.ramkg.iterate import pseudo_table, recall_table
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.training.model_card import language_rows, licence, round_rows
from kpdemo.training.multilingual.retriever import TrainedRetriever
from kpdemo.training.multilingual.retriever_config import SUBWORDS, RetrieverTraining
from kpdemo.training.multilingual.rgit import MultilingualTraining, TrainedMultilingual


def retriever_card(config: RetrieverTraining, trained: TrainedRetriever) -> str:
    """Markdown."""
    sources = "\n".join(f"- {source.path.name}, {source.language} and English" for source in config.train)
    pretrained = [] if config.backbone == SUBWORDS else [config.backbone]
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

{licence(*pretrained)}"""


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
