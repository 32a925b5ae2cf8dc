"""The model card: what a run was trained on, how, and how well it does on its validation data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kpdemo.languages.names import language_name
from kpdemo.ramkg.iterate import RgitConfig
from kpdemo.ramkg.rgit import Outcome
from kpdemo.simckp.generation.decoder import KeyphraseDecoder
from kpdemo.simckp.model import ExtractorConfig
from kpdemo.simckp.predictor import Selection
from kpdemo.training.extractor import TrainedExtractor
from kpdemo.training.extractor_config import ExtractorTraining
from kpdemo.training.generator import GeneratorTraining, TrainedGenerator
from kpdemo.training.labeller import LabellerTraining, TrainedLabeller
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.one2seq import One2SeqTraining, TrainedOne2Seq
from kpdemo.training.part import Metrics
from kpdemo.training.progress import Progress
from kpdemo.training.sources import Source

_LICENCES = {"all-MiniLM-L6-v2": "is Apache-2.0, by the Sentence-Transformers authors"}


def licence(*pretrained: str) -> str:
    """The section on whose the model is, and whose those that its training began with."""
    told = [f"{name} {_LICENCES.get(name, 'keeps its own licence')}" for name in dict.fromkeys(pretrained)]
    ours = "as kpdemo, for what was trained here" if told else "as kpdemo"
    return f"""## Licence and credits

Apache-2.0, {"; ".join([ours, *told])}.
The training texts belong to their authors and publishers and are not part of this folder.
"""


def extractor_card(config: ExtractorTraining, trained: TrainedExtractor) -> str:
    """Markdown, from the configuration and the result of the run."""
    share = trained.share
    mixture = f"; {share:g} of them and {1 - share:g} of {config.start}" if share < 1 else ""
    return f"""# {config.name}: present keyphrases of English texts

SimCKP's contrastive extractor (Choi et al. 2023), trained by `python -m kpdemo train extractor`.
It chooses among the noun, verb, adjective and adverb phrases of a document those that an annotator would have
given as keyphrases{f", in the style of: {config.style}" if config.style else ""}.

{_training(config, trained, "documents with a present keyphrase", mixture=mixture)}

{_present(config, trained.selection, trained.validation)}

{_limits(config)}
{licence(config.backbone)}"""


def labeller_card(config: LabellerTraining, trained: TrainedLabeller) -> str:
    """Markdown, from the configuration and the result of the run."""
    return f"""# {config.name}: present keyphrases of English texts by sequence labelling

A BiLSTM and a CRF on an encoder, as in the ablation of SimCKP (Choi et al. 2023, Table 4), trained by
`python -m kpdemo train labeller`.{style_told(config.style)}

{_training(config, trained, "documents with a present keyphrase")}

{measured(config.validation, trained.validation)}

{_limits(config)}
{licence(config.backbone)}"""


def generator_card(config: GeneratorTraining, trained: TrainedGenerator) -> str:
    """Markdown, from the configuration and the result of the run."""
    if config.freeze_encoder:
        trained_on = f"the decoder alone, on the extractor of {config.start}"
    else:
        trained_on = f"extractor and decoder together, λ = {config.contrastive_weight:g}"
    need = "documents with an absent keyphrase" if config.freeze_encoder else "documents with a keyphrase"
    return f"""# {config.name}: present and absent keyphrases of English texts

SimCKP's extractor-generator (Choi et al. 2023, section 4.2), trained by `python -m kpdemo train generator`:
{trained_on}. The generator proposes keyphrases that do not stand in the document; most of its
proposals are wrong, and are there to be ranked by another model.{style_told(config.style)}

{_training(config, trained, need)}

The decoder is {_decoder(trained)}.

{_present(config, trained.selection, trained.validation)}

{_absent(config, trained.validation)}

{_limits(config)}The generator reads the first window only.
{licence(config.backbone)}"""


def one2seq_card(config: One2SeqTraining, trained: TrainedOne2Seq) -> str:
    """Markdown, from the configuration and the result of the run."""
    return f"""# {config.name}: present and absent keyphrases of English texts, all of them generated

One sequence of all keyphrases (ONE2SEQ), as "BART (generating all)" in the ablation of SimCKP (Choi et al.
2023, Table 4), trained by `python -m kpdemo train one2seq`.{style_told(config.style)}

{_training(config, trained, "documents with a keyphrase")}

The decoder is {_decoder(trained)}.

{measured(config.validation, trained.validation)}

{_limits(config)}The first window only is read.
{licence(config.backbone)}"""


def style_told(style: str) -> str:
    """A sentence on how the documents were annotated, if that is known."""
    return f" Style: {style}." if style else ""


def _absent(config: GeneratorTraining, metrics: Metrics) -> str:
    likelihood = (
        f"A token of an absent keyphrase has a log-likelihood of {metrics['log-likelihood']:.3f} nats."
    )
    if not config.over_generated:
        return likelihood
    return f"""{likelihood}
The first fifty candidates from {config.search.beams} beams hold {metrics["R@50"]:.3f} of the absent gold
(R@50), on the documents that have any, {config.over_generated} at most."""


def _decoder(trained: TrainedGenerator | TrainedOne2Seq) -> str:
    decoder = trained.module.decoder
    if not isinstance(decoder, KeyphraseDecoder):
        return "the backbone's own"
    sizes, words = decoder.config, len(decoder.tokens)
    return f"of {sizes.layers} layers, {sizes.heads} heads and {words:,} tokens to write"


def _training(
    config: ExtractorTraining,
    trained: TrainedExtractor | TrainedGenerator | TrainedLabeller | TrainedOne2Seq,
    need: str,
    *,
    mixture: str = "",
) -> str:
    loop, progress = config.loop, trained.progress
    return f"""## Training

| | |
|---|---|
| encoder | {config.backbone} |
| {need} | {trained.documents:,} |
| document visits | {visits(progress, loop)} |
| weights of step | {progress.best_step:,}, the best on the validation documents{mixture} |
| time | {progress.time()} |
| learning rate | {_rates(config)} |
| temperature | {config.model.temperature:g} |
| weights stored as | {config.storage} |
| seed | {loop.seed} |

Sources:

{source_list(config.train)}"""


def visits(progress: Progress, loop: LoopConfig) -> str:
    """How many in how many steps; also what the learning rate was planned for before, where that changed."""
    told = f"{progress.documents:,} in {progress.step:,} steps of {loop.batch_size}"
    if not progress.planned:
        return told
    plans = ", then ".join(f"{count:,}" for count in progress.planned)
    return f"{told}; planned for {plans} before, so that the learning rate was not that of one run"


def measured(validation: Source, metrics: Metrics) -> str:
    """The section on the figures of the validation documents."""
    return f"""## Validation

{source_told(validation)}: macro precision and recall over the
documents with present gold keyphrases, F1 of the two means. These documents chose the weights and the
threshold, so the figures are a little too good.

| F1@5 | F1@M | P@M | R@M |
|---|---|---|---|
| {metrics["F1@5"]:.3f} | {metrics["F1@M"]:.3f} | {metrics["P@M"]:.3f} | {metrics["R@M"]:.3f} |"""


def _present(config: ExtractorTraining, selection: Selection, metrics: Metrics) -> str:
    return f"""{measured(config.validation, metrics)}

{selected(config.model, selection, metrics)}"""


def selected(model: ExtractorConfig, selection: Selection, metrics: Metrics) -> str:
    """How a raw score becomes the one that is shown, and how many keyphrases are kept."""
    calibration = selection.calibration
    return f"""{_scored(model)}, s, becomes the score
1 / (1 + exp(-({calibration.slope:.3f} s + {calibration.intercept:.3f}))),
the share of candidates of that s which were gold. {_kept(selection)}, and the best
{model.minimum} when that is fewer.{_gain(metrics)}"""


def _scored(model: ExtractorConfig) -> str:
    """What the calibration turns into a score."""
    head = "cosine" if model.head == "similarity" else "logit"
    return f"The sum of {head} and learnt prior" if model.prior else f"A {head}"


def _gain(metrics: Metrics) -> str:
    papers = metrics.get("F1@M by threshold")
    if papers is None:
        return ""
    return (
        f" By SimCKP's own rule, one\nthreshold for all documents, F1@M is {papers:.3f} there, "
        f"a gain of {metrics['F1@M'] - papers:+.3f}."
    )


def _kept(selection: Selection) -> str:
    if selection.counting is None:
        score = selection.calibration.probability(selection.threshold)
        return f"Kept are those above {selection.threshold:.3f} (score {score:.2f})"
    return (
        "Kept are so many of the best that, going by\nthese scores, F1 against "
        f"{selection.counting.gold:g} gold keyphrases is to be expected highest"
    )


def _limits(config: ExtractorTraining) -> str:
    return f"""## Limits

English only. Trained on the documents named above: other kinds of text were not measured.
Longer documents are read in windows of {config.model.window} tokens that overlap by {config.model.overlap}.
Annotators differ: what one calls a keyphrase another leaves out, and the score says no more than how often
such phrases were chosen.
"""


def source_list(sources: Sequence[Source]) -> str:
    return "\n".join(f"- {source_told(source)}" for source in sources)


def source_told(source: Source) -> str:
    """A file of documents, and all that says which of them are taken."""
    return source.path.name + "".join(
        (
            *(f", {key} = {value}" for key, value in source.where.items()),
            f", without ids {source.skip_ids}" if source.skip_ids else "",
            f", one document in {source.every}" if source.every > 1 else "",
            f", {source.repeat} times an epoch" if source.repeat > 1 else "",
            f", first {source.limit:,}" if source.limit else "",
        )
    )


def _rates(config: ExtractorTraining) -> str:
    embeddings = "frozen" if config.freeze_embeddings else "trained"
    return f"{config.learning_rate:g} encoder, {config.head_learning_rate:g} heads; embeddings {embeddings}"


def language_rows(documents: Mapping[str, int]) -> str:
    """Rows of a table: how many there are in each language."""
    return "\n".join(
        f"| documents, {language_name(language)} | {count:,} |"
        for language, count in sorted(documents.items())
    )


def round_rows(config: RgitConfig, outcome: Outcome) -> str:
    """How many rounds of RGIT were to be run, and which of their retrievers was kept."""
    trained = len(outcome.rounds)
    last = "the last after all rounds" if trained > config.rounds else "the last when recall rose no more"
    return (
        f"| rounds at most | {config.rounds} |\n"
        f"| retrievers | {trained}, {last}; that of round {outcome.best} was kept |"
    )


def lowered(card: str) -> str:
    """A card with each heading a level lower."""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in card.splitlines()) + "\n"
