"""The model card: what a run was trained on, how, and how well it does on its validation data."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import torch

from kpdemo.training.data import Source
from kpdemo.training.extractor import ExtractorTraining, TrainedExtractor


def extractor_card(config: ExtractorTraining, trained: TrainedExtractor, *, device: torch.device) -> str:
    """Markdown, all of it taken from the configuration and the run."""
    loop, progress, metrics = config.loop, trained.progress, trained.validation
    calibration, threshold = trained.selection.calibration, trained.selection.threshold
    return f"""# {config.name}: present keyphrases of English texts

SimCKP's contrastive extractor (Choi et al. 2023), trained by `python -m kpdemo train extractor`.
It chooses among the noun, verb, adjective and adverb phrases of a document those that an annotator would have
given as keyphrases, in the style of: {config.style}.

## Training

| | |
|---|---|
| encoder | {config.backbone} |
| documents with a present keyphrase | {trained.documents:,} |
| document visits | {progress.step * loop.batch_size:,} in {progress.step:,} steps of {loop.batch_size} |
| weights of step | {progress.best_step:,}, the best on the validation documents |
| time | {progress.seconds / 60:.0f} minutes on {_machine(device)}, {loop.precision} |
| learning rate | {_rates(config)} |
| temperature | {config.model.temperature:g} |
| seed | {loop.seed} |

Sources:

{_sources(config.train)}

## Validation

{config.validation.path.name}{_limit(config.validation)}: macro precision and recall over the documents with
present gold keyphrases, F1 of the two means. These documents chose the weights and the threshold, so the
figures are a little too good.

| F1@5 | F1@M | P@M | R@M |
|---|---|---|---|
| {metrics["F1@5"]:.3f} | {metrics["F1@M"]:.3f} | {metrics["P@M"]:.3f} | {metrics["R@M"]:.3f} |

A similarity s becomes the score 1 / (1 + exp(-({calibration.slope:.3f} s + {calibration.intercept:.3f}))),
the share of candidates of that similarity which were gold. Kept are those above {threshold:.3f}
(score {calibration.probability(threshold):.2f}), and the best {config.model.minimum} when fewer are.

## Limits

English only. Trained on titles and abstracts of scientific papers: other kinds of text were not measured.
Longer documents are read in windows of {config.model.window} tokens that overlap by {config.model.overlap}.
Annotators differ: what one calls a keyphrase another leaves out, and the score says no more than how often
such phrases were chosen.

## Licence and credits

Apache-2.0, as kpdemo. all-MiniLM-L6-v2, when it is the encoder above, is Apache-2.0, by the
Sentence-Transformers authors. The training texts belong to their authors and publishers and are
not part of this folder.
"""


def _sources(sources: Sequence[Source]) -> str:
    return "\n".join(
        f"- {source.path.name}"
        + "".join(f", {key} = {value}" for key, value in source.where.items())
        + (f", without ids {source.skip_ids}" if source.skip_ids else "")
        + (f", {source.repeat} times an epoch" if source.repeat > 1 else "")
        + _limit(source)
        for source in sources
    )


def _limit(source: Source) -> str:
    return f", first {source.limit:,}" if source.limit else ""


def _rates(config: ExtractorTraining) -> str:
    embeddings = "frozen" if config.freeze_embeddings else "trained"
    return f"{config.learning_rate:g} encoder, {config.head_learning_rate:g} heads; embeddings {embeddings}"


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} {platform.machine()} CPU threads"
