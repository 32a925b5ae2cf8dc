"""The model cards of retriever and multilingual model, from their configuration and run."""

from __future__ import annotations

import platform

import torch

from kpdemo.ramkg.iterate import pseudo_table, recall_table
from kpdemo.training.model_card import LICENCE
from kpdemo.training.retriever import RetrieverTraining, TrainedRetriever
from kpdemo.training.rgit import MultilingualTraining, TrainedMultilingual


def retriever_card(config: RetrieverTraining, trained: TrainedRetriever, *, device: torch.device) -> str:
    """Markdown."""
    sources = "\n".join(f"- {source.path.name}, {source.language} and English" for source in config.train)
    figures = ", ".join(f"{name} {value:.3f}" for name, value in trained.validation.items())
    return f"""# {config.name}: a cross-lingual retriever

An encoder ({config.backbone}) trained by `python -m kpdemo train retriever` to find the English text that
says the same (RAMKG, Gao et al. 2022, section 4.1).

## Training

{trained.pairs:,} pairs, {_run(config.loop.documents, device)}:

{sources}

## Figures

On the validation pairs, among themselves: {figures}.

{LICENCE}"""


def multilingual_card(
    config: MultilingualTraining, trained: TrainedMultilingual, *, device: torch.device
) -> str:
    """Markdown."""
    documents = "\n".join(
        f"- {language}: {count:,} documents" for language, count in trained.documents.items()
    )
    rounds = trained.outcome.rounds
    return f"""# {config.name}: keyphrases with the help of English passages

A retriever and a ranker, trained in turns by `python -m kpdemo train multilingual` (RAMKG, Gao et al. 2022,
Algorithm 1), for {", ".join(config.languages)}.

## Training

{config.parallel:,} documents were told their English passage; of the others nothing was told.

{documents}
- passages: {trained.passages:,}, English

Device: {device.type} ({platform.machine()}).

## Rounds

Retrieval on the validation documents, in percent:

{_table(recall_table(rounds))}

Mined pairs:

{_table(pseudo_table(rounds))}

The retriever of round {trained.outcome.best} was kept.

{LICENCE}"""


def _run(visits: int, device: torch.device) -> str:
    return f"{visits:,} visits on {device.type} ({platform.machine()})"


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
