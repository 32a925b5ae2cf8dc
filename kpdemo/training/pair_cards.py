"""The model cards of a phrase bank, with or without word profiles, and of a reranker."""

from __future__ import annotations

from kpdemo.training.bank import BankTraining, Refinement, TrainedBank
from kpdemo.training.model_card import licence, lowered, source_list, source_told, visits
from kpdemo.training.profiles import ProfiledBank, ProfilesTraining
from kpdemo.training.reranker import RerankerTraining, TrainedReranker

_LIMITS = """## Limits

English only. Trained on the documents named above: other kinds of text were not measured.
Most proposals are wrong: a score says how often such phrases were among the keyphrases of these documents.
"""


def bank_card(config: BankTraining, trained: TrainedBank) -> str:
    """Markdown, from the configuration and the result of the run."""
    bank, loop, progress = trained.bank, config.loop, trained.progress
    score = bank.score
    return f"""# {config.name}: a bank of {len(bank):,} terms for absent keyphrases

Trained by `python -m kpdemo train bank`. The terms are what at least {config.minimum} documents use as
keyphrases, in their commonest spelling. A pair encoder puts documents near the terms they would be given
(the loss of SimCKP's section 4.3, Choi et al. 2023, over the whole bank); retrieving absent keyphrases is not
part of SimCKP.

## Training

| | |
|---|---|
| encoder | {config.backbone}, {bank.vectors.shape[1]} numbers a vector |
| documents with a keyphrase of the bank | {trained.documents:,} |
| document visits | {visits(progress, loop)} |
| weights of step | {progress.best_step:,}, the best on the validation documents |
| time | {progress.time()}, for the encoder |
| tokens of a document | {config.length} |
| weights stored as | {config.storage} |
| seed | {loop.seed} |

Terms from:

{source_list(config.terms)}

Documents from:

{source_list(config.train)}
{_refined(config.refinement)}
## Validation

{source_told(config.validation)}: macro recall, and F1 of macro precision and
recall, over the documents with absent gold keyphrases. These documents chose the weights of the score: cosine
+ {score.frequency:g} log frequency + {score.words:g} share of its words in the text
+ {score.likeness:g} likeness to terms of the text + {score.association:g} association with them.

| R@50 | F1@5 |
|---|---|
| {trained.validation["R@50"]:.3f} | {trained.validation["F1@5"]:.3f} |

{_LIMITS}
{licence(config.backbone)}"""


def _refined(refinement: Refinement | None) -> str:
    if refinement is None:
        return ""
    return f"""
Then {refinement.loop.documents:,} visits at most for the terms alone, of documents from:

{source_list(refinement.train)}
"""


def profiles_card(config: ProfilesTraining, trained: ProfiledBank) -> str:
    """Markdown: what the profiles add, and then the card of the bank as it was."""
    bank, before, after = trained.bank, trained.before, trained.validation
    profiles, score = bank.profiles, bank.score
    stems, profiled = (len(profiles.words), int((profiles.lengths > 0).sum())) if profiles else (0, 0)
    told = f"{config.words} √documents, at most {config.most}; each in {config.shared} of its documents"
    return f"""# {config.name}: a bank of {len(bank):,} terms for absent keyphrases, with word profiles

By `python -m kpdemo train profiles`: a term is also ranked by its word profile, the mean TF-IDF vector of the
documents that use it as a keyphrase, cut to its strongest words (Rocchio's prototype of a class). Encoder,
terms and their vectors are those of the bank below; retrieving absent keyphrases is not part of SimCKP.

| | |
|---|---|
| documents with a keyphrase of the bank | {trained.documents:,} |
| terms with a profile | {profiled:,} |
| words of a profile | {told} |
| words of all profiles | {stems:,} Porter stems |

Documents from:

{source_list(config.train)}

## Validation

{source_told(config.validation)}: macro recall, and F1 of macro precision and
recall, over the documents with absent gold keyphrases. These documents chose the weights of the score: cosine
+ {score.frequency:g} log frequency + {score.words:g} share of its words in the text
+ {score.likeness:g} likeness to terms of the text + {score.association:g} association with them
+ {score.profiles:g} cosine of the text's words and its profile.

| | R@50 | F1@5 |
|---|---|---|
| bank as it was | {before["R@50"]:.3f} | {before["F1@5"]:.3f} |
| with profiles | {after["R@50"]:.3f} | {after["F1@5"]:.3f} |

{lowered(trained.card)}"""


def reranker_card(config: RerankerTraining, trained: TrainedReranker) -> str:
    """Markdown, from the configuration and the result of the run."""
    loop, progress, metrics = config.loop, trained.progress, trained.validation
    sources = " and ".join(
        name for name, folder in (("a phrase bank", config.bank), ("a generator", config.generator)) if folder
    )
    parts = "the combination of features" if config.freeze_encoder else "encoder and all"
    return f"""# {config.name}: the best of the absent candidates

SimCKP's reranker (Choi et al. 2023, section 4.3), trained by `python -m kpdemo train reranker` on the
candidates of {sources}.

## Training

| | |
|---|---|
| encoder | {"the bank's" if config.share_encoder else config.backbone} |
| trained | {parts} |
| documents with a gold candidate | {trained.documents:,} |
| document visits | {visits(progress, loop)} |
| weights of step | {progress.best_step:,}, the best on the validation documents |
| time | {progress.time()} |
| learning rate | {config.learning_rate:g} encoder, {config.head_learning_rate:g} heads |
| seed | {loop.seed} |

Sources:

{source_list(config.train)}

## Validation

{source_told(config.validation)}: macro figures over the documents with absent
gold keyphrases. These documents chose the weights and the threshold, so the figures are a little too good.

| F1@5 | F1@M | P@M | R@M | R@50 |
|---|---|---|---|---|
| {" | ".join(f"{metrics[name]:.3f}" for name in ("F1@5", "F1@M", "P@M", "R@M", "R@50"))} |

{_LIMITS}
{licence("the bank's encoder" if config.share_encoder else config.backbone)}"""
