"""The model cards: what a run was trained on, how, and how well it does on its validation data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kpdemo.languages import language_name
from kpdemo.ramkg.rgit import Outcome, RgitConfig
from kpdemo.simckp.candidate_ranker import CANDIDATE_FEATURES
from kpdemo.simckp.decoder import KeyphraseDecoder
from kpdemo.simckp.extractor import ExtractorConfig, Selection
from kpdemo.simckp.phrase_bank import TERM_FEATURES
from kpdemo.training.candidate_ranker import CandidateRankerTraining, TrainedCandidateRanker
from kpdemo.training.data import Source
from kpdemo.training.extractor import TrainedExtractor
from kpdemo.training.fine_tuning import ExtractorTraining
from kpdemo.training.generator import GeneratorTraining, One2SeqTraining, TrainedGenerator, TrainedOne2Seq
from kpdemo.training.labeller import LabellerTraining, TrainedLabeller
from kpdemo.training.loop import LoopConfig, Metrics, Progress
from kpdemo.training.phrase_bank import BankTraining, ProfiledBank, ProfilesTraining, Refinement, TrainedBank
from kpdemo.training.reranker import RerankerTraining, TrainedReranker
from kpdemo.training.term_ranker import RankerTraining

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
`python -m kpdemo train labeller`.{describe_style(config.style)}

{_training(config, trained, "documents with a present keyphrase")}

{figures_section(config.choosing, trained.validation)}

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
proposals are wrong, and are there to be ranked by another model.{describe_style(config.style)}

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
2023, Table 4), trained by `python -m kpdemo train one2seq`.{describe_style(config.style)}

{_training(config, trained, "documents with a keyphrase")}

The decoder is {_decoder(trained)}.

{figures_section(config.choosing, trained.validation)}

{_limits(config)}The first window only is read.
{licence(config.backbone)}"""


def describe_style(style: str) -> str:
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


def figures_section(validation: Sequence[Source], metrics: Metrics) -> str:
    """The section on the figures of the validation documents."""
    return f"""## Validation

{"; ".join(map(describe_source, validation))}: macro precision and recall over the
documents with present gold keyphrases, F1 of the two means. These documents chose the weights and the
threshold, so the figures are a little too good.

| F1@5 | F1@M | P@M | R@M |
|---|---|---|---|
| {metrics["F1@5"]:.3f} | {metrics["F1@M"]:.3f} | {metrics["P@M"]:.3f} | {metrics["R@M"]:.3f} |"""


def _present(config: ExtractorTraining, selection: Selection, metrics: Metrics) -> str:
    return f"""{figures_section(config.choosing, metrics)}

{selection_section(config.model, selection, metrics)}"""


def selection_section(model: ExtractorConfig, selection: Selection, metrics: Metrics) -> str:
    """How a raw score becomes the one that is shown, and how many keyphrases are kept."""
    head = "cosine" if model.head == "similarity" else "logit"
    scored = f"The sum of {head} and learnt prior" if model.prior else f"A {head}"
    return describe_selection(scored, model.minimum, selection, metrics)


def describe_selection(scored: str, minimum: int, selection: Selection, metrics: Metrics) -> str:
    """How what is `scored` becomes the score that is shown, and how many keyphrases stay, at least."""
    calibration = selection.calibration
    return f"""{scored}, s, becomes the score
1 / (1 + exp(-({calibration.slope:.3f} s + {calibration.intercept:.3f}))),
the share of candidates of that s which were gold. {_describe_rule(selection)}, and the best
{minimum} when that is fewer.{_gain(metrics)}"""


def _gain(metrics: Metrics) -> str:
    papers = metrics.get("F1@M by threshold")
    if papers is None:
        return ""
    return (
        f" By SimCKP's own rule, one\nthreshold for all documents, F1@M is {papers:.3f} there, "
        f"a gain of {metrics['F1@M'] - papers:+.3f}."
    )


def _describe_rule(selection: Selection) -> str:
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
    return "\n".join(f"- {describe_source(source)}" for source in sources)


def describe_source(source: Source) -> str:
    """A file of documents, and all that says which of them are taken."""
    return source.path.name + "".join(
        (
            *(f", {key} = {value}" for key, value in source.where.items()),
            f", without ids {source.skip_ids}" if source.skip_ids else "",
            f", one document in {source.every}" if source.every > 1 else "",
            f", {source.repeat} times an epoch" if source.repeat > 1 else "",
            f", after the first {source.skip:,}" if source.skip else "",
            f", first {source.limit:,}" if source.limit and not source.skip else "",
            f", {source.limit:,} at most" if source.limit and source.skip else "",
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


def lower_headings(card: str) -> str:
    """A card with each heading a level lower."""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in card.splitlines()) + "\n"


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
{_describe_refinement(config.refinement)}
## Validation

{describe_source(config.validation)}: macro recall, and F1 of macro precision and
recall, over the documents with absent gold keyphrases. These documents chose the weights of the score: cosine
+ {score.frequency:g} log frequency + {score.words:g} share of its words in the text
+ {score.likeness:g} likeness to terms of the text + {score.association:g} association with them.

| R@50 | F1@5 |
|---|---|
| {trained.validation["R@50"]:.3f} | {trained.validation["F1@5"]:.3f} |

{_LIMITS}
{licence(config.backbone)}"""


def _describe_refinement(refinement: Refinement | None) -> str:
    if refinement is None:
        return ""
    return f"""
Then {refinement.loop.documents:,} visits at most for the terms alone, of documents from:

{source_list(refinement.train)}
"""


def profiles_card(config: ProfilesTraining, trained: ProfiledBank) -> str:
    """Markdown: what the profiles add, and then the card of the bank as it was."""
    bank, before, after = trained.bank, trained.before, trained.profiled
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
{_describe_ranker(config.ranker, trained)}
## Validation

{describe_source(config.validation)}: macro recall, and F1 of macro precision and
recall, over the documents with absent gold keyphrases. These documents chose the weights of the score: cosine
+ {score.frequency:g} log frequency + {score.words:g} share of its words in the text
+ {score.likeness:g} likeness to terms of the text + {score.association:g} association with them
+ {score.profiles:g} cosine of the text's words and its profile.

| | R@50 | F1@5 |
|---|---|---|
| bank as it was | {before["R@50"]:.3f} | {before["F1@5"]:.3f} |
| with profiles | {after["R@50"]:.3f} | {after["F1@5"]:.3f} |
{_ranked_figures(config.ranker, trained)}
{lower_headings(trained.card)}"""


def _describe_ranker(ranker: RankerTraining | None, trained: ProfiledBank) -> str:
    if ranker is None:
        return ""
    return f"""
The {ranker.ranked} terms of a document with the best score are put in order by a network with one layer of
{ranker.width} numbers, which sees {len(TERM_FEATURES)} features of term and text.

| | |
|---|---|
| epochs, seed | {ranker.epochs}, {ranker.seed} |
| floor | {trained.floor:.3f} |

No term is given whose probability is below the floor. Of those above it
{ranker.precision:.0%} were right on the validation documents.

The other documents are from:

{source_list(ranker.train)}
"""


def _ranked_figures(ranker: RankerTraining | None, trained: ProfiledBank) -> str:
    if ranker is None:
        return ""
    figures = trained.validation
    return f"| with the network | {figures['R@50']:.3f} | {figures['F1@5']:.3f} |\n"


def candidate_ranker_card(config: CandidateRankerTraining, trained: TrainedCandidateRanker) -> str:
    """Markdown: what the network adds, and then the card of the extractor as it was."""
    before, after = trained.before, trained.validation
    return f"""# {config.name}: present keyphrases, the best candidates compared with one another

By `python -m kpdemo train candidate-ranker`: the {config.ranked} candidates of a document with the best
scores of the extractor below are put in order by a network with one layer of {config.width} numbers, which
sees {len(CANDIDATE_FEATURES)} features of each: its score and how far that is from others', where and how
often the phrase stands, what the phrase bank makes of it, and whether it is inside or around others. SimCKP
has no such step.

| | |
|---|---|
| documents with a keyphrase among these candidates | {trained.documents:,} |
| epochs, seed | {config.epochs}, {config.seed} |

Documents, which the extractor has not read, from:

{source_list(config.train)}

### Validation

{describe_source(config.validation)}: macro precision and recall over the
documents with present gold keyphrases, F1 of the two means.

| | F1@5 | F1@M |
|---|---|---|
| by the extractor's order | {before["F1@5"]:.3f} | {before["F1@M"]:.3f} |
| by the network's | {after["F1@5"]:.3f} | {after["F1@M"]:.3f} |

{lower_headings(trained.card)}"""


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

{describe_source(config.validation)}: macro figures over the documents with absent
gold keyphrases. These documents chose the weights and the threshold, so the figures are a little too good.

| F1@5 | F1@M | P@M | R@M | R@50 |
|---|---|---|---|---|
| {" | ".join(f"{metrics[name]:.3f}" for name in ("F1@5", "F1@M", "P@M", "R@M", "R@50"))} |

{_LIMITS}
{licence("the bank's encoder" if config.share_encoder else config.backbone)}"""
