"""Keyphrase extraction as token classification: a word begins a keyphrase, continues one, or is outside.

Letters: W windows, T tokens, L labels.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kpdemo.errors import ModelLoadError
from kpdemo.lines import document_blocks
from kpdemo.routing import latin_documents
from kpdemo.selection import Proposal, build_answer, check_options
from kpdemo.simckp.batches import in_halves, pad_rows
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.extractor import TOO_LARGE, windows_at_once
from kpdemo.simckp.hub.profiles import Profile
from kpdemo.text import PhraseFinder
from kpdemo.types import Document, Prediction, Span


@dataclass(frozen=True)
class Labels:
    """The numbers of the labels of words in a keyphrase, and of those outside of any.

    Attributes:
        begin: those that begin one; the others in `within` continue one.
    """

    begin: tuple[int, ...]
    within: tuple[int, ...]
    outside: tuple[int, ...]

    @classmethod
    def of(cls, name: str, labels: dict[int, str]) -> Labels:
        """By their first letter, as in "B-KEY", "I-KEY" and "O".

        Raises:
            ModelLoadError: a label begins with another letter, or all mean the same.
        """
        begin, inside, outside = (
            tuple(number for number, label in labels.items() if label.startswith(letter)) for letter in "BIO"
        )
        if len(begin) + len(inside) + len(outside) < len(labels) or not outside or not begin + inside:
            raise ModelLoadError(
                f"The model {name!r} has the labels {', '.join(labels.values())}, which do not begin with "
                "B, I and O: name them so in its config.json."
            )
        return cls(begin, begin + inside, outside)


@dataclass(frozen=True)
class Word:
    """The span of a word, and the probability of each label (L,)."""

    span: Span
    labels: NDArray[np.float32]


@dataclass(frozen=True)
class HubTagger:
    """A `Predictor` that marks words; without a number or a threshold it gives all that it marked.

    The score of a keyphrase is the mean probability of its words to be within one, at the best of the places
    that were marked.

    Attributes:
        window: tokens of one reading, special tokens included.
        languages: see `kpdemo.types.languages_of`.
    """

    name: str
    model: nn.Module
    tokenizer: Any
    labels: Labels
    window: int
    overlap: int
    languages: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, model: Any, tokenizer: Any, profile: Profile, window: int) -> HubTagger:
        """Errors as in `Labels.of`."""
        labels = Labels.of(name, model.config.id2label)
        overlap = min(profile.overlap, window // 4)
        return cls(name, model, tokenizer, labels, window, overlap, frozenset(profile.reads))

    @property
    def device(self) -> str:
        return next(self.model.parameters()).device.type

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        check_options(top_k, threshold)
        read = latin_documents(documents)
        return [
            build_answer(document, self._mark_phrases(document, words), top_k=top_k, threshold=threshold)
            for document, words in zip(read, self._words(read), strict=True)
        ]

    def _mark_phrases(self, document: Document, words: Sequence[Word]) -> Iterator[Proposal]:
        """The marked places in order, each widened to whole words."""
        places = PhraseFinder(document)
        starts = [start for _, start in document_blocks(document)]
        for group in self._groups(words, starts):
            start, end = places.widened((group[0].span[0], group[-1].span[1]))
            outside = float(np.mean([word.labels[list(self.labels.outside)].sum() for word in group]))
            yield Proposal(document.text[start:end], min(max(1 - outside, 0.0), 1.0))

    def _groups(self, words: Sequence[Word], starts: Sequence[int]) -> Iterator[list[Word]]:
        """The words of one keyphrase after the other.

        Args:
            starts: where title, paragraphs and list items begin, ascending; no keyphrase runs over one.
        """
        group: list[Word] = []
        for word in words:
            label = int(word.labels.argmax())
            across = bool(group) and bisect(starts, group[-1].span[0]) < bisect(starts, word.span[0])
            if group and (label in self.labels.begin or label in self.labels.outside or across):
                yield group
                group = []
            if label in self.labels.within:
                group.append(word)
        if group:
            yield group

    def _words(self, documents: Sequence[Document]) -> list[list[Word]]:
        """The words of each document in order, each from the window where it is farthest from an edge."""
        if not documents:  # for which tokenizers return no list of windows
            return []
        read = self.tokenizer(
            [encoder_text(document) for document in documents],
            truncation=True,
            max_length=self.window,
            stride=self.overlap,
            return_overflowing_tokens=True,
        )
        best: list[dict[int, tuple[int, Word]]] = [{} for _ in documents]
        owners = [None, *read["overflow_to_sample_mapping"], None]
        for number, labels in enumerate(self._probabilities(read["input_ids"])):
            before, owner, after = owners[number : number + 3]
            words = best[owner]
            cut = (before == owner, after == owner)
            for distance, word in _window_words(read.encodings[number], labels, cut):
                start = word.span[0]
                if start not in words or distance > words[start][0]:
                    words[start] = distance, word
        return [[words[start][1] for start in sorted(words)] for words in best]

    def _probabilities(self, windows: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float32]]:
        """For each window, (T, L) the probabilities of the labels of its tokens."""
        at_once = windows_at_once(torch.device(self.device))
        for first in range(0, len(windows), at_once):
            yield from in_halves(self._read, windows[first : first + at_once], too_large=TOO_LARGE)

    def _read(self, windows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        input_ids, mask = pad_rows(windows, self.tokenizer.pad_token_id)
        with torch.inference_mode():
            logits: Tensor = self.model(
                input_ids=input_ids.to(self.device), attention_mask=mask.to(self.device)
            ).logits
        probabilities = logits.float().softmax(-1).cpu().numpy()
        return [row[: len(ids)] for row, ids in zip(probabilities, windows, strict=True)]


def _window_words(
    encoding: Any, labels: NDArray[np.float32], cut: tuple[bool, bool]
) -> Iterator[tuple[int, Word]]:
    """The words of a window, labelled as their first tokens, with the distance in tokens from an edge.

    Args:
        labels: (T, L)
        cut: whether the text continues before and after the window: then the first or last word is left out,
            as it may be half a word; it is whole in the next window.
    """
    firsts: dict[int, int] = {}
    spans: dict[int, Span] = {}
    for token, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
        if word is not None and start < end:
            firsts.setdefault(word, token)
            spans[word] = spans.get(word, (start, end))[0], end
    for word, token in list(firsts.items())[int(cut[0]) : len(firsts) - int(cut[1])]:
        yield min(token, len(labels) - 1 - token), Word(spans[word], labels[token])
