"""A small Transformer decoder that writes absent keyphrases from the hidden states of any encoder.

Letters (memory): B documents, L target positions, T source tokens, D width, V target vocabulary.

Most absent keyphrases hold some words of their document. Letters (copying): B documents, N positions or
beams, T source tokens, D width, V target vocabulary.

Vaswani et al. 2017 with pre-layer normalisation (Xiong et al. 2020) and a copy mechanism. Input and output
embeddings are the encoder's word embeddings, restricted to the words that occur in training targets.
Letters (decoder): B documents, K beams, L target positions, T source tokens, D width, H heads, V target
vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from kpdemo.errors import ConfigError
from kpdemo.simckp.beam_search import Beam, SearchConfig, beam_search

IGNORED = -100
"""Pads target sequences; the loss ignores it."""


@dataclass(frozen=True)
class TargetVocabulary:
    """What a generator may write: the tokens of phrases, a separator and an end.

    Attributes:
        start: precedes the first token.
        tokens: (V,) the tokenizer's id of every target id, below 0 for those that are not tokens of the
            tokenizer's; None where target ids are the tokenizer's.
    """

    start: int
    end: int
    separator: int
    tokens: NDArray[np.int64] | None = None

    def encode(self, phrases: Sequence[NDArray[np.int64]], *, longest: int) -> NDArray[np.int64]:
        """`phrase <separator> phrase … <end>` of the tokenizer's ids; empty when no phrase can be written.

        Args:
            longest: most ids of the sequence; the phrases after the last that fits are left out, as are
                those with a token that is not in the vocabulary.
        """
        sequence: list[int] = []
        for phrase in phrases:
            ids = self._ids(phrase)
            if len(sequence) + len(ids) + 1 > longest:
                break
            if ids:
                sequence += [*ids, self.separator]
        if sequence:
            sequence[-1] = self.end
        return np.asarray(sequence, dtype=np.int64)

    def split(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The first position and the end of each phrase of a sequence, which is given without its end id."""
        return phrase_spans(ids, self.separator)

    def tokenizer_ids(self, ids: Sequence[int]) -> list[int]:
        """The tokenizer's ids of target ids."""
        return list(ids) if self.tokens is None else [int(token) for token in self.tokens[list(ids)]]

    def _ids(self, phrase: NDArray[np.int64]) -> list[int]:
        ids: list[int] = phrase.tolist()
        if self.tokens is None:
            return ids
        return [self._numbers[token] for token in ids] if self._numbers.keys() >= set(ids) else []

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        tokens = [] if self.tokens is None else self.tokens.tolist()
        return {token: number for number, token in enumerate(tokens) if token >= 0}


def phrase_spans(ids: Sequence[int], separator: int) -> Iterator[tuple[int, int]]:
    """The first position and the end of each phrase between separators; empty ones are left out."""
    first = 0
    for position, token in enumerate([*ids, separator]):
        if token == separator:
            if position > first:
                yield first, position
            first = position + 1


def pad_targets(sequences: Sequence[NDArray[np.int64]]) -> Tensor:
    """(B, L) the sequences, padded with `IGNORED`; L is at least 1."""
    filler = torch.full((1,), IGNORED)
    rows = [torch.from_numpy(sequence) if len(sequence) else filler for sequence in sequences]
    return pad_sequence(rows, batch_first=True, padding_value=IGNORED)


def shift_right(targets: Tensor, start: int) -> Tensor:
    """(B, L) the decoder's inputs for `targets`: shifted right by one, after `start`."""
    inputs = targets.roll(1, dims=1).masked_fill(targets.roll(1, dims=1) == IGNORED, start)
    inputs[:, 0] = start
    return inputs


@dataclass(frozen=True)
class Memory:
    """Documents as the encoder has read them.

    Attributes:
        hidden: (B, T, D) the last hidden states.
        input_ids, mask: (B, T) the tokens, and 0 where there is only padding.
        words: (words, D) the encoder's word embeddings.
    """

    hidden: Tensor
    input_ids: Tensor
    mask: Tensor
    words: Tensor

    def rows(self, chosen: Tensor) -> Memory:
        """Only the documents that `chosen` names, by number or as a mask (B,)."""
        return Memory(self.hidden[chosen], self.input_ids[chosen], self.mask[chosen], self.words)


class Decoder(nn.Module, ABC):
    """Writes the absent keyphrases of documents as one sequence of target ids each."""

    @property
    @abstractmethod
    def vocabulary(self) -> TargetVocabulary:
        """What the target ids mean."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """Most target ids of one sequence, its end included."""

    @abstractmethod
    def forward(self, inputs: Tensor, memory: Memory) -> Tensor:
        """(B, L, V) the log-probabilities of what follows each of `inputs` (B, L) target ids."""

    @abstractmethod
    def search(self, memory: Memory, config: SearchConfig) -> list[list[Beam]]:
        """The beams of each document, best first."""


@dataclass(frozen=True)
class Copied:
    """Attributes:
    keys: (B, T, D).
    targets: (B, T) the target id of each source token, 0 where it has none.
    possible: (B, 1, T) bool, whether it has one.
    """

    keys: Tensor
    targets: Tensor
    possible: Tensor


class Copying(nn.Module):
    """p = (1 - g) · written + g · copied, with a gate g for each position (See et al. 2017, Equation 9)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)

    def read(self, memory: Memory, tokens: Tensor, first: int) -> Copied:
        """What can be copied from the documents.

        Args:
            tokens: the tokenizer's ids of the target ids from `first` on, which is at least 1.
        """
        numbers = memory.input_ids.new_zeros(len(memory.words))
        numbers[tokens] = torch.arange(first, first + len(tokens), device=tokens.device)
        targets = numbers[memory.input_ids]
        return Copied(self.key(memory.hidden), targets, ((targets > 0) & memory.mask.bool()).unsqueeze(1))

    def mix(self, state: Tensor, written: Tensor, copied: Copied) -> Tensor:
        """(B, N, V) log-probabilities from states (B, N, D) and those of the vocabulary (B, N, V)."""
        scores = self.query(state) @ copied.keys.transpose(1, 2) / state.shape[-1] ** 0.5  # (B, N, T)
        attention = scores.float().masked_fill(~copied.possible, torch.finfo(torch.float32).min).softmax(-1)
        places = copied.targets.unsqueeze(1).expand(-1, state.shape[1], -1)
        shares = torch.zeros_like(written).scatter_add(2, places, attention)
        gate = torch.sigmoid(self.gate(state).float()) * copied.possible.any(-1, keepdim=True)
        mixed = (1 - gate) * written.exp() + gate * shares
        return mixed.clamp(min=torch.finfo(torch.float32).tiny).log()


END, SEPARATOR = 0, 1
"""Target ids with embeddings of their own; the end also precedes the first token, as in BART."""

_SPECIALS = 2
_INITIAL_DEVIATION = 0.05  # of the embeddings of our own; MiniLM's words have .056

Cache = tuple[Tensor, Tensor]
"""Keys and values, (…, H, N, D/H)."""


@dataclass(frozen=True)
class DecoderConfig:
    """Attributes:
    layers, heads, feed_forward: sizes; the width is the encoder's.
    longest: most target tokens, separators and end included.
    copy: mix the vocabulary's distribution with one over the document's own tokens.
    """

    layers: int = 2
    heads: int = 6
    feed_forward: int = 1536
    longest: int = 64
    dropout: float = 0.1
    copy: bool = True

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "feed_forward", "longest"):
            if getattr(self, name) < 1:
                raise ConfigError(f"The decoder's {name} must be at least 1, not {getattr(self, name)}.")


class KeyphraseDecoder(Decoder):
    """Writes target ids one after the other; `vocabulary` says what they mean."""

    tokens: Tensor

    def __init__(self, config: DecoderConfig, width: int, tokens: Tensor) -> None:
        """Args:
        tokens: (V - 2,) the tokenizer's ids of what can be written, except `END` and `SEPARATOR`.
        """
        super().__init__()
        if width % config.heads:
            raise ConfigError(f"The decoder's heads must divide the width {width}, not {config.heads}.")
        self.config = config
        self.register_buffer("tokens", tokens)
        self.specials = nn.Parameter(torch.empty(_SPECIALS, width))
        self.positions = nn.Parameter(torch.empty(config.longest, width))
        for embeddings in (self.specials, self.positions):
            nn.init.normal_(embeddings, std=_INITIAL_DEVIATION)
        self.input_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(_Layer(config, width) for _ in range(config.layers))
        self.output_norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(len(tokens) + _SPECIALS))
        self.copying = Copying(width) if config.copy else None

    @property
    def vocabulary(self) -> TargetVocabulary:
        none = np.full(_SPECIALS, -1)
        return TargetVocabulary(END, END, SEPARATOR, np.concatenate([none, self.tokens.cpu().numpy()]))

    @property
    def longest(self) -> int:
        """See `DecoderConfig.longest`."""
        return self.config.longest

    def forward(self, inputs: Tensor, memory: Memory) -> Tensor:
        """(B, L, V) the log-probabilities of what follows each of `inputs` (B, L) target ids."""
        reading = self.read(memory)
        state = self.embed(inputs, torch.arange(inputs.shape[1], device=inputs.device), reading)
        for layer, source in zip(self.layers, reading.sources, strict=True):
            state = layer(state, source, reading.mask)
        return self.log_probabilities(state, reading)

    def search(self, memory: Memory, config: SearchConfig) -> list[list[Beam]]:
        """The beams of each document, best first."""
        config = replace(config, longest=min(config.longest, self.longest))
        steps = Decoding(self, memory)
        device = memory.hidden.device
        return beam_search(steps, config, documents=len(memory.hidden), start=END, end=END, device=device)

    def read(self, memory: Memory) -> DecoderReading:
        """All that depends on the documents alone, computed once."""
        table = torch.cat([self.specials, memory.words[self.tokens]])
        sources = [layer.source(memory.hidden) for layer in self.layers]  # type: ignore[operator]
        mask = memory.mask[:, None, None, :].bool()
        copied = self.copying.read(memory, self.tokens, _SPECIALS) if self.copying else None
        return DecoderReading(table, sources, mask, copied)

    def embed(self, inputs: Tensor, positions: Tensor, reading: DecoderReading) -> Tensor:
        """(B, N, D) the states before the first layer of target ids (B, N) at the positions (N,) or ()."""
        embedded = functional.embedding(inputs, reading.table) + self.positions[positions]
        state: Tensor = self.dropout(self.input_norm(embedded))
        return state

    def log_probabilities(self, state: Tensor, reading: DecoderReading) -> Tensor:
        """(B, N, V) from the states after the last layer, (B, N, D)."""
        state = self.output_norm(state)
        logits = functional.linear(functional.gelu(self.output(state)), reading.table, self.bias)
        written = logits.float().log_softmax(-1)
        if self.copying is None or reading.copied is None:
            return written
        return self.copying.mix(state, written, reading.copied)


@dataclass(frozen=True)
class DecoderReading:
    """Documents and vocabulary as all steps of the decoder see them.

    Attributes:
        table: (V, D) the embeddings of the target ids.
        sources: for each layer, keys and values (B, H, T, D/H) of the source tokens.
        mask: (B, 1, 1, T) bool, false for padding.
    """

    table: Tensor
    sources: list[Cache]
    mask: Tensor
    copied: Copied | None


class Decoding:
    """The decoder in the middle of K sequences for each of B documents, with their keys and values kept.

    The beams of a document share what was computed from it: they attend to it side by side, as the
    positions of one sequence do in training.
    """

    def __init__(self, decoder: KeyphraseDecoder, memory: Memory) -> None:
        self._decoder = decoder
        self._reading = decoder.read(memory)
        self._caches: list[Cache | None] = [None] * len(decoder.layers)
        self._position = torch.zeros((), dtype=torch.long, device=memory.hidden.device)

    def step(self, tokens: Tensor) -> Tensor:
        """(B, K, V) the log-probabilities of what follows when `tokens` (B, K) are appended."""
        reading = self._reading
        state = self._decoder.embed(tokens, self._position, reading)
        for number, layer in enumerate(self._decoder.layers):
            state, self._caches[number] = layer.step(  # type: ignore[operator]
                state, reading.sources[number], reading.mask, self._caches[number]
            )
        self._position = self._position + 1
        return self._decoder.log_probabilities(state, reading)

    def reorder(self, origin: Tensor) -> None:
        """Let beam k of document b go on from what was beam `origin[b, k]`, (B, K)."""
        documents, beams = origin.shape
        firsts = torch.arange(0, documents * beams, beams, device=origin.device)
        rows = (origin + firsts.unsqueeze(1)).flatten()
        self._caches = [
            (keys.index_select(0, rows), values.index_select(0, rows))
            for keys, values in (cache for cache in self._caches if cache is not None)
        ]


class _Layer(nn.Module):
    def __init__(self, config: DecoderConfig, width: int) -> None:
        super().__init__()
        self._heads = config.heads
        self.self_norm, self.cross_norm, self.forward_norm = (nn.LayerNorm(width) for _ in range(3))
        self.self_projection, self.self_output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.cross_query, self.cross_output = nn.Linear(width, width), nn.Linear(width, width)
        self.cross_source = nn.Linear(width, 2 * width)
        self.up, self.down = nn.Linear(width, config.feed_forward), nn.Linear(config.feed_forward, width)
        self.dropout = nn.Dropout(config.dropout)

    def source(self, hidden: Tensor) -> Cache:
        """Keys and values (B, H, T, D/H) of hidden states (B, T, D)."""
        keys, values = self.cross_source(hidden).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(self, state: Tensor, source: Cache, mask: Tensor) -> Tensor:
        """(B, L, D) from (B, L, D): each position sees itself and those before it."""
        query, key, value = map(self._split, self.self_projection(self.self_norm(state)).chunk(3, dim=-1))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self._finish(state + self.dropout(self.self_output(_merge(seen))), source, mask)

    def step(self, state: Tensor, source: Cache, mask: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """(B, K, D) from (B, K, D): each beam sees itself and its own past, which is returned with it."""
        beams = self.self_projection(self.self_norm(state)).flatten(0, 1).unsqueeze(1)  # (B·K, 1, 3D)
        query, key, value = map(self._split, beams.chunk(3, dim=-1))
        if cache:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        seen = _merge(functional.scaled_dot_product_attention(query, key, value)).view_as(state)
        return self._finish(state + self.dropout(self.self_output(seen)), source, mask), (key, value)

    def _finish(self, state: Tensor, source: Cache, mask: Tensor) -> Tensor:
        query = self._split(self.cross_query(self.cross_norm(state)))
        seen = functional.scaled_dot_product_attention(query, *source, attn_mask=mask)
        state = state + self.dropout(self.cross_output(_merge(seen)))
        inner = functional.gelu(self.up(self.forward_norm(state)))
        return state + self.dropout(self.down(inner))  # type: ignore[no-any-return]

    def _split(self, states: Tensor) -> Tensor:
        """(B, H, N, D/H) from (B, N, D)."""
        return states.view(*states.shape[:2], self._heads, -1).transpose(1, 2)


def _merge(states: Tensor) -> Tensor:
    """(B, N, D) from (B, H, N, D/H)."""
    return states.transpose(1, 2).flatten(2)
