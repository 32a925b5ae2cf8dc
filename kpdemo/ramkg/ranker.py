"""The ranker of the multilingual model: terms of a language, features of a phrase, network and folder.

It orders the extractor's best candidates, and terms of the language that the text does not hold, by the
extractor's score, by how often the phrase is a keyphrase, by its place and its neighbours, and by the
keyphrases of retrieved passages.

Letters (features): P phrases, K retrieved keyphrases, D width of the vectors, F features.

Letters (ranker): P candidates, F features.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.mining import mined_key
from kpdemo.identity import RANKER_KIND, write_sums
from kpdemo.io.files import json_gz, read_json_gz, replace_file
from kpdemo.languages import ENGLISH, SEGMENTED, fold_word
from kpdemo.ramkg.passage_encoder import PassageReader, new_reader, stored_projection, with_projection
from kpdemo.simckp.bert import BertEncoder, pack_words
from kpdemo.simckp.calibration import ExpectedF1
from kpdemo.simckp.checkpoint import (
    KIND,
    build_extractor,
    extractor_predictor,
    open_folder,
    part_of,
    write_folder,
)
from kpdemo.simckp.extractor import SimckpPredictor
from kpdemo.text import StemmedText
from kpdemo.types import Document, Span

LEAST_DOCUMENTS = 3
"""Terms that fewer documents have as a keyphrase are not stored, nor words that fewer documents hold."""

NO_WORD = ""
"""The source of keyphrases that translate nothing, the empty word of Brown et al. 1993."""

_ROUNDS = 5
_LEAST_SHARE = 0.02
_START = 0.1  # of a pair of terms in the first round; any number, since shares are compared within a document


@dataclass(frozen=True)
class LanguageTerms:
    """Keys are those of `kpdemo.candidates.mining`.

    Attributes:
        holding: key to the number of documents whose text has it as a candidate.
        keyphrases: key to the number of documents that have it among their keyphrases.
        written: key to how documents write it; of the keys of `keyphrases`.
    """

    holding: Mapping[str, int] = field(default_factory=dict)
    keyphrases: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)


Translations = Mapping[str, Mapping[str, float]]
"""English key to keys of a language with their probabilities."""


def count_terms(documents: Iterable[tuple[Iterable[str], Sequence[tuple[str, str]]]]) -> LanguageTerms:
    """The terms of documents, each the keys of its candidates and (key, written) of its keyphrases.

    They are in the order of their keys, as `Lexicon.load` gives them: of equals the first counts.
    """
    holding: Counter[str] = Counter()
    keyphrases: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for keys, gold in documents:
        holding.update(set(keys))
        keyphrases.update({key for key, _ in gold})
        for key, text in gold:
            written[key][text] += 1
    known = {key: count for key, count in sorted(keyphrases.items()) if key and count >= LEAST_DOCUMENTS}
    return LanguageTerms(
        {key: count for key, count in holding.items() if count >= LEAST_DOCUMENTS},
        known,
        {key: max(sorted(written[key]), key=written[key].__getitem__) for key in known},
    )


def learn_translations(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> dict[str, dict[str, float]]:
    """Probabilities t(f | e) of IBM's Model 1 (Brown et al. 1993), learnt by expectation maximisation.

    Args:
        pairs: English keys, and the keys of the document that they belong to.

    Returns:
        English key to keys with their probabilities, the most probable first; of both only those that
        `LEAST_DOCUMENTS` pairs have.
    """
    table: dict[tuple[str, str], float] = {}
    for _ in range(_ROUNDS):
        expected: defaultdict[tuple[str, str], float] = defaultdict(float)
        totals: defaultdict[str, float] = defaultdict(float)
        for english, keys in pairs:
            sources = (NO_WORD, *dict.fromkeys(english))
            for key in dict.fromkeys(keys):
                shares = [table.get((source, key), 0.0) if table else _START for source in sources]
                whole = sum(shares)
                for source, share in zip(sources, shares, strict=True):
                    if share:
                        expected[source, key] += share / whole
                        totals[source] += share / whole
        table = {
            (source, key): count / totals[source]
            for (source, key), count in expected.items()
            if count >= _LEAST_SHARE * totals[source] or source == NO_WORD
        }
    return _by_source(table, pairs)


def _by_source(
    table: Mapping[tuple[str, str], float], pairs: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> dict[str, dict[str, float]]:
    sources = Counter(key for english, _ in pairs for key in set(english))
    targets = Counter(key for _, keys in pairs for key in set(keys))
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (source, key), share in sorted(table.items(), key=lambda item: (-item[1], item[0])):
        known = source != NO_WORD and min(sources[source], targets[key]) >= LEAST_DOCUMENTS
        if known and share >= _LEAST_SHARE:
            found[source][key] = round(share, 3)
    return dict(found)


@dataclass(frozen=True)
class Lexicon:
    """Attributes:
    terms, translations: by language.
    """

    terms: Mapping[str, LanguageTerms]
    translations: Mapping[str, Translations]

    def save(self, path: Path) -> None:
        """As compressed JSON; the same content gives the same bytes."""
        content = {
            "terms": {language: vars(terms) for language, terms in self.terms.items()},
            "translations": self.translations,
        }
        replace_file(path, json_gz(content, sort_keys=True))

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """What `save` wrote.

        Raises:
            OSError, ValueError, KeyError, TypeError: it is damaged.
        """
        content: dict[str, Any] = read_json_gz(path)
        terms = {language: LanguageTerms(**values) for language, values in content["terms"].items()}
        return cls(terms, content["translations"])


OWN_FEATURES = (
    "present",
    "extractor",
    "behind best",
    "log rank",
    "behind longer",
    "behind shorter",
    "log count",
    "first place",
    "log first place",
    "last place",
    "in title",
    "words",
    "log characters",
    "inside longer",
    "capital",
    "log text",
    "log holding",
    "log keyphrases",
    "log share",
    "terms known",
    "likeness",
)
RETRIEVED_FEATURES = (
    "best likeness",
    "likeness to first",
    "votes",
    "written the same",
    "translation",
    "translations",
    "best passage",
    "lead of first",
)

MOST_KEYPHRASES = 12
"""Keyphrases that are taken from one retrieved passage, in training and in prediction."""

LISTED = 60
"""Candidates of the text that are ranked: the best by the extractor."""

LIKELY_TERMS = 20
"""Absent terms that are candidates for their likeness to the document; as many more as translations."""

_VOTE_FROM = 0.5
_SPEAKS_FROM = 0.6
_SMOOTHING = 10
_UNSEEN = 0.3


@dataclass(frozen=True, slots=True)
class Phrase:
    """A candidate: present with all its spans and the extractor's score, or absent without."""

    key: str
    text: str
    spans: tuple[Span, ...] = ()
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Help:
    """A retrieved keyphrase, with the rank of its passage, from 0, and its score."""

    text: str
    place: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The candidates of a document, ready to be scored.

    Attributes:
        own: (P, F) float32, `OWN_FEATURES`.
        retrieved: (P, F) float32, `RETRIEVED_FEATURES`; all 0 without retrieval.
        nearest: (P,) the number of the retrieved keyphrase that supports each candidate most; -1 for none.
    """

    phrases: tuple[Phrase, ...]
    own: NDArray[np.float32]
    retrieved: NDArray[np.float32]
    nearest: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Terms:
    """The keyphrases of a language that may be absent, with their vectors, (N, D)."""

    keys: tuple[str, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class Knowledge:
    """What the features are computed from.

    Attributes:
        banks: by language.
    """

    reader: PassageReader
    lexicon: Lexicon
    banks: Mapping[str, Terms]

    @classmethod
    def of(cls, reader: PassageReader, lexicon: Lexicon) -> Knowledge:
        """With the vectors of all terms."""
        banks = {}
        for language, terms in lexicon.terms.items():
            keys = tuple(terms.written)
            banks[language] = Terms(keys, reader.phrases([terms.written[key] for key in keys]))
        return cls(reader, lexicon, banks)

    def without_terms(self) -> Knowledge:
        """Without terms and translations, as for an unknown language."""
        return replace(self, lexicon=Lexicon({}, {}), banks={})


def list_candidates(extractor: SimckpPredictor, documents: Sequence[Document]) -> list[tuple[Phrase, ...]]:
    """The `LISTED` best phrases of each text, as they are written most often, the best first."""
    listed = []
    for document, (candidates, scores) in zip(documents, extractor.score(documents), strict=True):
        order = np.argsort(-scores, kind="stable")[:LISTED].tolist()
        best = [(candidates[number], float(scores[number])) for number in order]
        listed.append(
            tuple(
                Phrase(one.key, _commonest_spelling(document, one), one.spans, score) for one, score in best
            )
        )
    return listed


def rank_input(
    document: Document, present: Sequence[Phrase], knowledge: Knowledge, help: Sequence[Help] = ()
) -> Ranked:
    """The candidates of a document with their features.

    Args:
        present: what `list_candidates` gives.
        help: keyphrases of retrieved passages, the best passage's first.
    """
    terms = knowledge.lexicon.terms.get(document.language, LanguageTerms())
    translated = _translate(help, knowledge.lexicon.translations.get(document.language, {}))
    [place] = knowledge.reader.beside_phrases([document])
    phrases = (*present, *_absent(document, place, terms, translated, knowledge))
    vectors = knowledge.reader.phrases([phrase.text for phrase in phrases])
    own = _own_features(document, phrases, terms)
    own[:, OWN_FEATURES.index("likeness")] = vectors @ place
    retrieved = np.zeros((len(phrases), len(RETRIEVED_FEATURES)), dtype=np.float32)
    nearest = np.full(len(phrases), -1)
    if help and phrases:
        likeness = vectors @ knowledge.reader.phrases([item.text for item in help]).T
        nearest = _retrieved_features(retrieved, phrases, help, likeness, translated)
    return Ranked(phrases, own, retrieved, nearest)


def _absent(
    document: Document,
    place: NDArray[np.float32],
    terms: LanguageTerms,
    translated: Mapping[str, tuple[float, float, int]],
    knowledge: Knowledge,
) -> list[Phrase]:
    """Terms that the text does not hold: translations of the help, and those most like the document."""
    bank = knowledge.banks.get(document.language)
    if bank is None or not bank.keys:
        return []
    text = StemmedText(document)
    wanted = sorted((key for key in translated if key in terms.written), key=lambda key: -translated[key][0])
    order = np.argsort(-(bank.vectors @ place), kind="stable")
    near = [bank.keys[number] for number in order[: LIKELY_TERMS * 3].tolist()]
    chosen: dict[str, None] = {}
    for group in (wanted, near):
        free = (key for key in group if not text.contains(terms.written[key]))
        chosen.update(dict.fromkeys(islice(free, LIKELY_TERMS)))
    return [Phrase(key, terms.written[key]) for key in chosen]


def _translate(help: Sequence[Help], table: Translations) -> dict[str, tuple[float, float, int]]:
    """Key to its best and its summed probability, weighed with the passages' scores, and whose it is."""
    found: dict[str, tuple[float, float, int]] = {}
    for number, item in enumerate(help):
        for key, share in sorted(table.get(mined_key(item.text, ENGLISH), {}).items()):
            weighed = share * max(item.score, 0.0)
            best, total, whose = found.get(key, (0.0, 0.0, number))
            found[key] = (max(best, weighed), total + weighed, number if weighed > best else whose)
    return found


def _own_features(document: Document, phrases: Sequence[Phrase], terms: LanguageTerms) -> NDArray[np.float32]:
    length = max(len(document.text), 1)
    nests = _Nests.of(phrases, document.language)
    best = max((phrase.score for phrase in phrases if phrase.spans), default=0.0)
    rows = []
    for rank, phrase in enumerate(phrases):
        key, spans, text = phrase.key, phrase.spans, phrase.text
        first, last = (spans[0][0], spans[-1][0]) if spans else (length, length)
        holding, keyphrases = terms.holding.get(key, 0), terms.keyphrases.get(key, 0)
        rows.append(
            (
                bool(spans),
                phrase.score,
                best - phrase.score if spans else 0.0,
                math.log1p(rank) if spans else 0.0,
                nests.longer_score.get(key, phrase.score) - phrase.score,
                nests.shorter_score.get(key, phrase.score) - phrase.score,
                math.log1p(len(spans)),
                first / length,
                math.log1p(first),
                last / length,
                bool(spans) and first < document.body_start,
                key.count(" ") + 1,
                math.log(len(text)),
                nests.longer_count.get(key, 0) / max(len(spans), 1),
                text[0].isupper(),
                math.log(length),
                math.log1p(holding),
                math.log1p(keyphrases),
                math.log((keyphrases + _UNSEEN) / (holding + _SMOOTHING)),
                bool(terms.holding),
                0.0,
            )
        )
    return np.array(rows, dtype=np.float32).reshape(-1, len(OWN_FEATURES))


@dataclass(frozen=True)
class _Nests:
    """Of the present phrases that contain others, by key.

    Attributes:
        longer_count: of the most frequent phrase that contains it.
        longer_score, shorter_score: the best of those that contain it, and of those that it contains.
    """

    longer_count: dict[str, int]
    longer_score: dict[str, float]
    shorter_score: dict[str, float]

    @classmethod
    def of(cls, phrases: Sequence[Phrase], language: str) -> _Nests:
        nests = cls({}, {}, {})
        known = {phrase.key: phrase for phrase in phrases if phrase.spans}
        for key, phrase in known.items():
            for part in _parts_of(key, language):
                inner = known.get(part)
                if inner is not None:
                    nests.longer_count[part] = max(nests.longer_count.get(part, 0), len(phrase.spans))
                    nests.longer_score[part] = max(nests.longer_score.get(part, -math.inf), phrase.score)
                    nests.shorter_score[key] = max(nests.shorter_score.get(key, -math.inf), inner.score)
        return nests


def _parts_of(key: str, language: str) -> Iterator[str]:
    """The keys of all phrases that may stand in a phrase."""
    joint = "" if language in SEGMENTED else " "
    words = key.split(" ") if joint else key
    for size in range(1, len(words)):
        for first in range(len(words) - size + 1):
            yield joint.join(words[first : first + size])


def _retrieved_features(
    into: NDArray[np.float32],
    phrases: Sequence[Phrase],
    help: Sequence[Help],
    likeness: NDArray[np.float32],
    translated: Mapping[str, tuple[float, float, int]],
) -> NDArray[np.int64]:
    """Fill in (P, F) from the likeness (P, K); returns what speaks for each phrase most."""
    scores = np.array([item.score for item in help], dtype=np.float32)
    places = np.array([item.place for item in help])
    weighed = likeness * scores
    nearest = np.where(likeness.max(axis=1) >= _SPEAKS_FROM, weighed.argmax(axis=1), -1)
    by_place = [scores[places == place].max(initial=0.0) for place in (0, 1)]
    written = {folded_phrase(item.text) for item in help}
    into[:, 0] = weighed.max(axis=1)
    into[:, 1] = likeness[:, places == places.min()].max(axis=1)
    into[:, 2] = (np.clip(likeness - _VOTE_FROM, 0, None) * scores).sum(axis=1)
    into[:, 3] = [folded_phrase(phrase.text) in written for phrase in phrases]
    for number, phrase in enumerate(phrases):
        best, total, whose = translated.get(phrase.key, (0.0, 0.0, -1))
        into[number, 4:6] = best, total
        if best > 0 and (nearest[number] < 0 or best > into[number, 0]):
            nearest[number] = whose
    into[:, 6] = by_place[0]
    into[:, 7] = by_place[0] - by_place[1]
    return nearest


def folded_phrase(phrase: str) -> str:
    """The phrase with each word `folded` and single spaces."""
    return " ".join(map(fold_word, phrase.split()))


def _commonest_spelling(document: Document, candidate: Candidate) -> str:
    """On one line; of equals the first."""
    written = Counter(" ".join(document.text[start:end].split()) for start, end in candidate.spans)
    return written.most_common(1)[0][0]


HIDDEN = 128

_CONSTANT = 1e-3  # a deviation below it is rounding


class Ranker(nn.Module):
    """A small network over standardised features.

    Args:
        retrieval: whether it reads what retrieval gives; the base model does not.
    """

    def __init__(self, *, retrieval: bool) -> None:
        super().__init__()
        width = len(OWN_FEATURES) + len(RETRIEVED_FEATURES) * retrieval
        self.retrieval = retrieval
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.network = nn.Sequential(
            nn.Linear(width, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, 1),
        )

    def standardise(self, features: NDArray[np.float32]) -> None:
        """Take mean and deviation from training candidates, (P, F); constant features are not scaled."""
        values = torch.from_numpy(features)
        deviation = values.std(0)
        self.get_buffer("mean").copy_(values.mean(0))
        self.get_buffer("scale").copy_(torch.where(deviation < _CONSTANT, 1.0, deviation))

    def forward(self, features: Tensor) -> Tensor:
        """(P,) log-odds of (P, F) features."""
        logits: Tensor = self.network((features - self.get_buffer("mean")) / self.get_buffer("scale"))
        return logits.squeeze(-1)


@dataclass(frozen=True)
class Choosing:
    """A ranker with the rule for how many phrases a document gets.

    Attributes:
        counting: from the probabilities of all candidates.
        minimum: keyphrases given when the rule says fewer.
    """

    module: Ranker
    counting: ExpectedF1
    minimum: int = 3

    def probabilities(self, ranked: Ranked) -> NDArray[np.float32]:
        """(P,) of each candidate."""
        if not ranked.phrases:
            return np.zeros(0, dtype=np.float32)
        with torch.inference_mode():
            logits = self.module(torch.from_numpy(inputs(ranked, retrieval=self.module.retrieval)))
        values: NDArray[np.float32] = torch.sigmoid(logits).numpy()
        return values

    def count(self, probabilities: Sequence[float]) -> int:
        """How many of a document's candidates to give."""
        return max(self.counting.count(probabilities), self.minimum)


def inputs(ranked: Ranked, *, retrieval: bool) -> NDArray[np.float32]:
    """(P, F) what a ranker reads of candidates."""
    return np.concatenate([ranked.own, ranked.retrieved], axis=1) if retrieval else ranked.own


LEXICON = "lexicon.json.gz"

_EXTRACTOR, _WITH, _WITHOUT, _BANK = "extractor.", "with_retrieval.", "without_retrieval.", "terms."


@dataclass(frozen=True)
class RankerModel:
    """Attributes:
    extractor: lists the candidates; the knowledge's reader has its lower layers.
    augmented: ranks with retrieved keyphrases; None where only the base model was trained.
    base: ranks without.
    passages: m, how many passages are retrieved.
    languages: it was trained for, by ISO 639-1 code.
    near: the least score of a passage that helps.
    """

    extractor: SimckpPredictor
    knowledge: Knowledge
    augmented: Choosing | None
    base: Choosing | None
    passages: int
    languages: frozenset[str]
    near: float


def save_ranker(folder: Path, model: RankerModel, extractor: Path, *, name: str, card: str) -> None:
    """Write a checkpoint folder; the reader's lower layers are those of the extractor.

    Args:
        extractor: the folder that the model's own was opened from.

    Raises:
        ModelLoadError: that folder is damaged.
    """
    from kpdemo.simckp.encoder import load_tokenizer

    reader = model.knowledge.reader
    state = {f"projection.{key}": value for key, value in reader.projection.state_dict().items()}
    state |= {f"{_BANK}{key}": torch.from_numpy(bank.vectors) for key, bank in model.knowledge.banks.items()}
    counting = {}
    for prefix, part in ((_WITH, model.augmented), (_WITHOUT, model.base)):
        if part is not None:
            state |= {f"{prefix}{key}": value for key, value in part.module.state_dict().items()}
            counting[prefix] = {"gold": part.counting.gold, "minimum": part.minimum}
    config = {
        "kind": RANKER_KIND,
        "name": name,
        "passages": asdict(reader.config),
        "counting": counting,
        "retrieved": model.passages,
        "languages": sorted(model.languages),
        "near": model.near,
    }
    with open_folder(extractor, KIND) as stored:
        state |= {f"{_EXTRACTOR}{key}": value for key, value in stored.weights.items()}
        config |= {key: stored.config[key] for key in ("backbone", "extractor", "selection")}
        tokenizer = load_tokenizer(str(extractor))
        write_folder(folder, state, tokenizer, config, card=card, storage="int8")
    model.knowledge.lexicon.save(folder / LEXICON)
    write_sums(folder)


def load_ranker(folder: Path, *, device: torch.device) -> RankerModel:
    """Open a folder that `save_ranker` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    with open_folder(folder, RANKER_KIND) as stored:
        config, weights = stored.config, stored.weights
        module = build_extractor(config, part_of(weights, _EXTRACTOR)).to(device).eval()
        assert isinstance(module.encoder, BertEncoder)  # `save_ranker` writes no other
        pack_words(module)
        reader = new_reader(module.encoder, stored.tokenizer, stored.padding, stored_projection(config))
        lexicon = Lexicon.load(folder / LEXICON)
        banks = {
            language: Terms(tuple(terms.written), weights[f"{_BANK}{language}"].numpy())
            for language, terms in lexicon.terms.items()
        }
        return RankerModel(
            extractor=extractor_predictor(stored, module),
            knowledge=Knowledge(with_projection(reader, weights, device), lexicon, banks),
            augmented=_choosing(config["counting"], weights, _WITH),
            base=_choosing(config["counting"], weights, _WITHOUT),
            passages=int(config["retrieved"]),
            languages=frozenset(config["languages"]),
            near=float(config["near"]),
        )


def _choosing(
    counting: Mapping[str, Mapping[str, float]], weights: Mapping[str, Tensor], prefix: str
) -> Choosing | None:
    if prefix not in counting:
        return None
    module = Ranker(retrieval=prefix == _WITH)
    module.load_state_dict(part_of(weights, prefix))
    told = counting[prefix]
    return Choosing(module.eval().requires_grad_(False), ExpectedF1(told["gold"]), int(told["minimum"]))
