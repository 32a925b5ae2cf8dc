"""The contrastive extractor of SimCKP (Choi et al. 2023, section 4.2): network, batches, prediction.

Letters (model): B documents, W windows, T tokens, R rows (a phrase within a window), P phrases, D width, F
features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.candidates.chunks import Candidate, CandidateConfig, present_keyphrase
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import Tagger
from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH
from kpdemo.routing import latin_documents, segmentable_documents
from kpdemo.selection import best_first, check_options, ranked_count, ranked_prediction
from kpdemo.simckp.batches import Movable, in_halves, pad_rows
from kpdemo.simckp.calibration import Calibration, ExpectedF1, own_count
from kpdemo.simckp.examples import FEATURES, Example, build_example
from kpdemo.types import Document, PointKind, Prediction, Ranking, VectorPoint, VectorSpace
from kpdemo.variants import variant_keys
from kpdemo.worker import part, tell

PRIOR_WIDTH = 16


@dataclass(frozen=True)
class ExtractorConfig:
    """Attributes:
    temperature: τ of Equation 3.
    prior: add a learnt term for where and how often a phrase occurs to the cosine; the paper has none.
    window, overlap: tokens of one reading, and how many of them it shares with the next.
    minimum: keyphrases given when fewer are above the threshold (section 5.3).
    head: what a score is: the cosine of phrase and document, or what a classifier says of the phrase's vector
        alone, as in the ablation of Table 4.
    """

    temperature: float = 0.1
    prior: bool = True
    window: int = 256
    overlap: int = 64
    minimum: int = 5
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    head: Literal["similarity", "classifier"] = "similarity"

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ConfigError(f"The temperature must be above 0, not {self.temperature}.")
        if not 0 <= self.overlap < self.window - 2:  # two places are for special tokens
            raise ConfigError(
                f"The overlap must be 0 or more and below {self.window} - 2, not {self.overlap}."
            )


@dataclass(frozen=True)
class Batch(Movable):
    """Some documents with their candidate phrases, flattened; made by `kpdemo.simckp.extractor.collate`.

    Attributes:
        input_ids, attention_mask: (W, T) long.
        window_document: (W,) long, the document of each window.
        members: (M,) long, positions in the flattened (W·T) tokens, row after row.
        row_starts: (R,) long, where each row begins in `members`.
        row_phrase: (R,) long, the phrase of each row.
        row_window: (R,) long, ascending: the window of each row.
        phrase_document: (P,) long, ascending.
        features: (P, F) float.
        positive: (P,) bool, true for gold; all false where gold is not known.
        documents: B.
    """

    input_ids: Tensor
    attention_mask: Tensor
    window_document: Tensor
    members: Tensor
    row_starts: Tensor
    row_phrase: Tensor
    row_window: Tensor
    phrase_document: Tensor
    features: Tensor
    positive: Tensor
    documents: int


class ContrastiveExtractor(nn.Module):
    """Scores every candidate phrase against its document."""

    def __init__(self, encoder: nn.Module, config: ExtractorConfig) -> None:
        super().__init__()
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.config = config
        self.encoder = encoder
        self.document_projection = nn.Linear(width, width)
        self.phrase_projection = nn.Linear(width, width)
        self.prior = feature_network(len(FEATURES), PRIOR_WIDTH) if config.prior else None
        self.classifier = nn.Linear(width, 1) if config.head == "classifier" else None

    def forward(self, batch: Batch, *, windows_at_once: int | None = None) -> Tensor:
        """(P,) the score of each phrase: what the head gives, plus the prior if there is one.

        Args:
            windows_at_once: encode no more windows together, which bounds the memory a long document takes.
        """
        return self.score(pool(self.encode, batch, windows_at_once or max(len(batch.input_ids), 1)), batch)

    def score(self, pooled: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        """(P,) as `forward`, from what `pool` gives for the batch."""
        documents, phrases = self.represent(pooled)
        scores: Tensor
        if self.classifier is not None:
            scores = self.classifier(phrases).squeeze(-1).float()
        else:
            scores = functional.cosine_similarity(documents[batch.phrase_document], phrases, dim=-1)
        if self.prior is not None:
            scores = scores + self.prior(batch.features).squeeze(-1).float()
        return scores

    def represent(self, pooled: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The vectors that are compared (Equation 2): documents (B, D) and phrases (P, D), from `pool`'s."""
        documents, phrases = pooled
        document_vectors = torch.tanh(self.document_projection(documents))
        phrase_vectors = torch.tanh(self.phrase_projection(phrases))
        return document_vectors.float(), phrase_vectors.float()

    def encode(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(W, T, D) the last hidden states (Equation 1) of token ids and mask, (W, T) each."""
        hidden: Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return hidden.float()


def pool(
    encode: Callable[[Tensor, Tensor], Tensor], batch: Batch, windows_at_once: int
) -> tuple[Tensor, Tensor]:
    """Document vectors (B, D) and phrase vectors (P, D) from the last hidden states.

    A document is its start token (h_0 of Equation 1), a phrase the sum over the union of its
    occurrences. Both are averaged over the windows that hold them: one window gives SimCKP's own
    pooling, and the mean keeps long documents in the range the projections were trained on.

    Args:
        encode: token ids and attention mask, (W, T) each, to hidden states, (W, T, D).
    """
    firsts: list[Tensor] = []
    sums: Tensor | None = None
    for start in range(0, len(batch.input_ids), windows_at_once):
        end = start + windows_at_once
        hidden = encode(batch.input_ids[start:end], batch.attention_mask[start:end])
        firsts.append(hidden[:, 0])
        if sums is None:
            sums = hidden.new_zeros(len(batch.phrase_document), hidden.shape[-1])
        low, high = _rows_between(batch, start, end)
        if low < high:
            sums = sums.index_add_(0, batch.row_phrase[low:high], _sum_rows(hidden, batch, start, low, high))
        tell(min(end / len(batch.input_ids), 1.0))
    assert sums is not None  # a batch has at least one window
    windows = torch.bincount(batch.row_phrase, minlength=len(sums)).clamp(min=1)
    return _mean_by(torch.cat(firsts), batch.window_document, batch.documents), sums / windows.unsqueeze(1)


def _rows_between(batch: Batch, start: int, end: int) -> tuple[int, int]:
    """The range of rows that belong to the windows from `start` up to `end`."""
    if start == 0 and end >= len(batch.input_ids):
        return 0, len(batch.row_window)
    low, high = torch.searchsorted(batch.row_window, batch.row_window.new_tensor([start, end])).tolist()
    return low, high


def _sum_rows(hidden: Tensor, batch: Batch, first_window: int, low: int, high: int) -> Tensor:
    """(high - low, D) the sum of the hidden states (W, T, D) of the tokens of each row."""
    first = int(batch.row_starts[low])
    end = int(batch.row_starts[high]) if high < len(batch.row_starts) else len(batch.members)
    return functional.embedding_bag(
        batch.members[first:end] - first_window * hidden.shape[1],
        hidden.flatten(0, 1),
        batch.row_starts[low:high] - first,
        mode="sum",
    )


def _mean_by(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """(groups, D) the means of the rows of `values` (N, D) by their `group` (N,)."""
    sums = values.new_zeros(groups, values.shape[1]).index_add(0, group, values)
    return sums / torch.bincount(group, minlength=groups).clamp(min=1).unsqueeze(1)


def feature_network(features: int, width: int) -> nn.Sequential:
    """From (N, features) to (N, 1): what is added to a cosine, over one hidden layer of `width`."""
    last = nn.Linear(width, 1)
    nn.init.zeros_(last.weight)  # training starts from the plain cosine
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(features, width), nn.GELU(), last)


def encoder_of(model: Any) -> nn.Module:
    """The part of a Hugging Face model that reads: the encoder of BART and its kin, else the model itself."""
    encoder: Any = model.get_encoder() if model.config.is_encoder_decoder else model
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # Equation 1 takes the last hidden states themselves
    if not hasattr(encoder.config, "hidden_size"):
        encoder.config.hidden_size = encoder.config.d_model
    return encoder  # type: ignore[no-any-return]


def collate(examples: Sequence[Example], *, padding: int) -> Batch:
    """Pad all windows to one length, and number windows, rows and phrases across the batch.

    No candidate is marked as gold: training takes its batches from a cache, which has the labels.

    Args:
        padding: the pad token id.
    """
    input_ids, mask = pad_rows([window for example in examples for window in example.windows], padding)
    length = input_ids.shape[1]
    rows = [example.rows for example in examples]
    window_counts = np.array([len(example.windows) for example in examples])
    phrase_counts = np.array([len(example.features) for example in examples])
    row_counts = np.array(list(map(len, rows)))
    row_sizes = np.concatenate([own.sizes for own in rows])
    row_window = np.concatenate([own.windows for own in rows]) + _offsets(window_counts, row_counts)
    row_phrase = np.concatenate([own.candidates for own in rows]) + _offsets(phrase_counts, row_counts)
    members = np.concatenate([own.tokens for own in rows]) + np.repeat(row_window * length, row_sizes)
    documents = np.arange(len(examples))
    return Batch(
        input_ids=input_ids,
        attention_mask=mask,
        window_document=torch.from_numpy(np.repeat(documents, window_counts)),
        members=torch.from_numpy(members),
        row_starts=torch.from_numpy(np.cumsum(row_sizes) - row_sizes),
        row_phrase=torch.from_numpy(row_phrase),
        row_window=torch.from_numpy(row_window),
        phrase_document=torch.from_numpy(np.repeat(documents, phrase_counts)),
        features=torch.from_numpy(np.concatenate([example.features for example in examples])),
        positive=torch.zeros(phrase_counts.sum(), dtype=torch.bool),
        documents=len(examples),
    )


def _offsets(counts: NDArray[np.int64], row_counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row of the batch, how many windows or phrases the earlier examples have.

    Args:
        counts: of windows or phrases, for each example.
        row_counts: of rows, for each example.
    """
    return np.repeat(np.cumsum(counts) - counts, row_counts)


BATCH_WINDOWS = 4
"""Windows of a batch on a CPU, whose caches hold the activations of that many."""
GPU_WINDOWS = 128
"""Windows of a batch on a GPU, which fewer would leave idle."""
TOO_LARGE = "The device's memory is too small for a single document: use --device cpu."


@dataclass(frozen=True)
class Selection:
    """How scores become an answer; learnt on validation data and stored with the weights.

    Attributes:
        threshold: on the raw score.
        counting: decides how many in place of the threshold; None for the paper's own rule.
    """

    threshold: float
    calibration: Calibration
    counting: ExpectedF1 | None = None

    def count(self, scores: Sequence[float], minimum: int) -> int:
        """How many keyphrases a document with these candidates gets, at least `minimum`."""
        if self.counting is None:
            return own_count(scores, self.threshold, minimum)
        probabilities = self.calibration.probabilities(np.asarray(scores))
        return max(self.counting.count(probabilities.tolist()), minimum)


@dataclass(frozen=True)
class Second:
    """A second extractor that reads the same tokens, and its share of the score of the two."""

    module: ContrastiveExtractor
    share: float


@dataclass(frozen=True)
class SimckpPredictor:
    """A `Predictor` with weights in memory.

    Attributes:
        padding: the pad token id.
        second: its scores are averaged with those of `module`; the two make different errors.
        languages: of the documents that it was trained on.
    """

    name: str
    module: ContrastiveExtractor
    tokenizer: Tokenizer
    padding: int
    tagger: Tagger
    selection: Selection
    second: Second | None = None
    languages: frozenset[str] = frozenset({ENGLISH})

    @property
    def device(self) -> str:
        return next(self.module.parameters()).device.type

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; a score is the estimated share of such candidates that are gold."""
        check_options(top_k, threshold)
        read = self._readable(documents)
        return [
            self.choose(document, candidates, scores, top_k=top_k, threshold=threshold)
            for document, (candidates, scores) in zip(read, self.score(read), strict=True)
        ]

    def score(self, documents: Sequence[Document]) -> list[tuple[list[Candidate], NDArray[np.float32]]]:
        """The candidates of each document and their raw scores, (P,)."""
        return self.score_mined([self.mine(document) for document in documents])

    def score_mined(
        self, mined: Sequence[tuple[list[Candidate], Example]]
    ) -> list[tuple[list[Candidate], NDArray[np.float32]]]:
        """As `score`, of documents whose candidates and examples are known already."""
        examples = [example for _, example in mined]
        scores = score_examples(self.module, examples, padding=self.padding, second=self.second)
        return [(candidates, row) for (candidates, _), row in zip(mined, scores, strict=True)]

    def choose(
        self,
        document: Document,
        candidates: Sequence[Candidate],
        scores: NDArray[np.float32],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> Prediction:
        """The answer for a document from the raw scores (P,) of its candidates."""
        ranking = self.ranking(document, candidates, scores, top_k=top_k, threshold=threshold)
        return ranked_prediction(document, ranking, top_k=top_k, threshold=threshold)

    def ranking(
        self,
        document: Document,
        candidates: Sequence[Candidate],
        scores: NDArray[np.float32],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> Ranking:
        """The best candidates, as many as the options of `choose` may need, from their raw scores (P,)."""
        values = scores.tolist()
        shown = self.selection.calibration.probabilities(scores).tolist()
        kept = best_first(shown)[: ranked_count(shown, top_k, threshold)]
        return Ranking(
            tuple(present_keyphrase(document, candidates[index], shown[index]) for index in kept),
            own=self.selection.count(values, self.module.config.minimum),
            sure=self.selection.count(values, 0),
        )

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; the space of Equation 2, where an absent phrase has no place.

        Points are named as keyphrases are, and variants are one, at the vector of the best-ranked.
        The vectors of two extractors are concatenated, so that a cosine is the weighted mean of theirs.
        """
        check_options(top_k, threshold)
        [read] = self._readable([document])
        candidates, example = self.mine(read)
        [(_, scores)] = self.score_mined([(candidates, example)])
        return self.spaces(read, candidates, example, scores, top_k=top_k, threshold=threshold)

    def spaces(
        self,
        read: Document,
        candidates: Sequence[Candidate],
        example: Example,
        scores: NDArray[np.float32],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[VectorSpace]:
        """As `vectors`, of a document whose candidates have these scores, (P,)."""
        if self.module.classifier is not None:
            return []  # a classifier compares a phrase with nothing
        ranking = self.ranking(read, candidates, scores, threshold=0.0)
        prediction = ranked_prediction(read, ranking, top_k=top_k, threshold=threshold)
        assert prediction.ranked_present is not None
        best: dict[str, int] = {}  # of the variants of a keyphrase, the candidate whose score it has
        order = best_first(self.selection.calibration.probabilities(scores).tolist())
        for key, number in zip(variant_keys(read, ranking.keyphrases), order, strict=True):
            best.setdefault(key, number)
        found = sorted(
            zip(best.values(), prediction.ranked_present.keyphrases, strict=True), key=itemgetter(0)
        )
        chosen = {one.text for one in prediction.present}
        points = [VectorPoint(read.title or read.body, PointKind.DOCUMENT)]
        for _, one in found:
            kind = PointKind.PRESENT if one.text in chosen else PointKind.CANDIDATE
            points.append(VectorPoint(one.text, kind, one.score))
        rows = [0, *(1 + number for number, _ in found)]
        return [VectorSpace("extractor", tuple(points), self._rows(example)[rows])]

    def _rows(self, example: Example) -> NDArray[np.float32]:
        """(1 + P, D) the vectors of a document and its candidates; (1 + P, 2 D) of two extractors."""
        rows = represent_example(self.module, example, padding=self.padding)
        if self.second is None:
            return rows.numpy()
        others = represent_example(self.second.module, example, padding=self.padding)
        weighted = [
            math.sqrt(share) * functional.normalize(half, dim=-1)
            for half, share in ((rows, 1 - self.second.share), (others, self.second.share))
        ]
        return torch.cat(weighted, dim=-1).numpy()

    def _readable(self, documents: Sequence[Document | str]) -> list[Document]:
        only_english = self.languages == {ENGLISH}
        return latin_documents(documents) if only_english else segmentable_documents(documents)

    def mine(self, document: Document) -> tuple[list[Candidate], Example]:
        """The candidates of a document, and the document as the module reads it."""
        config = self.module.config
        candidates = mine_candidates(document, self.tagger, config.candidates)
        example = build_example(
            document, candidates, self.tokenizer, window=config.window, overlap=config.overlap
        )
        return candidates, example


def windows_at_once(device: torch.device) -> int:
    """How many windows of documents an encoder reads together."""
    return BATCH_WINDOWS if device.type == "cpu" else GPU_WINDOWS


def score_examples(
    module: ContrastiveExtractor, examples: Sequence[Example], *, padding: int, second: Second | None = None
) -> list[NDArray[np.float32]]:
    """The raw score of every candidate of every example, in order: (P,) each.

    With a second extractor it is the weighted mean of the two.

    Examples are read in batches of like length; one with many windows is read in several batches. A batch
    that the device's memory does not hold is halved.
    """
    scores: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32) for _ in examples]
    device = next(module.parameters()).device
    windows = windows_at_once(device)
    for one in (module, second.module) if second else (module,):
        one.eval()

    def read(group: Sequence[int]) -> list[NDArray[np.float32]]:
        batch = collate([examples[index] for index in group], padding=padding).to(device)
        counts = [len(examples[index].features) for index in group]
        with part(0, 1 if second is None else 2):
            flat = module(batch, windows_at_once=windows).float()
        if second is not None:
            with part(1, 2):
                other = second.module(batch, windows_at_once=windows).float()
            flat = flat.lerp(other, second.share)
        return np.split(flat.cpu().numpy(), np.cumsum(counts)[:-1])

    with torch.inference_mode():
        for group in _groups(examples, windows):
            for index, row in zip(group, in_halves(read, group, too_large=TOO_LARGE), strict=True):
                scores[index] = row
    return scores


def represent_example(module: ContrastiveExtractor, example: Example, *, padding: int) -> Tensor:
    """(1 + P, D) the vectors that are compared (Equation 2): of the document, and of each candidate."""
    module.eval()
    with torch.inference_mode():
        batch = collate([example], padding=padding).to(next(module.parameters()).device)
        return torch.cat(module.represent(pool(module.encode, batch, BATCH_WINDOWS))).cpu()


def _groups(examples: Sequence[Example], most: int) -> Iterator[list[int]]:
    """Indices of examples that have candidates, by length, at most `most` windows together."""
    group: list[int] = []
    windows = 0
    for index in sorted(range(len(examples)), key=lambda index: len(examples[index].windows[0])):
        example = examples[index]
        if not example.rows:
            continue
        if group and windows + len(example.windows) > most:
            yield group
            group, windows = [], 0
        group.append(index)
        windows += len(example.windows)
    if group:
        yield group
