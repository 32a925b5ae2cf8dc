"""The decoder of a pretrained encoder-decoder, such as BART (the paper's generator), and its beam search.

Letters (pretrained search): B documents, K beams, N = B · K sequences, T tokens read, S tokens written, D
width, V vocabulary.

Letters (pretrained decoder): B documents, K beams, L target positions, S tokens written, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.beam_search import Beam, SearchConfig
from kpdemo.simckp.decoder import Decoder, Memory, TargetVocabulary

_MOST_LOGITS = 2**26  # a quarter of a gigabyte of log-probabilities at once


def generation_config(
    search: SearchConfig,
    *,
    start: int | Sequence[int],
    end: int,
    padding: int | None,
    forced_first: int | None = None,
    sequences: int | None = None,
) -> GenerationConfig:
    """Every argument that changes the outcome of `generate`, so that no checkpoint's own settings apply.

    Args:
        start: the id that each sequence begins with, or one for each document. It is needed beside
            `decoder_input_ids` too: Transformers would put an id of its own before them.
        forced_first: the id that must follow it.
        sequences: how many are given for each document; else all K.
    """
    return GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=False,
        num_beams=search.beams,
        num_return_sequences=search.beams if sequences is None else sequences,
        max_new_tokens=search.longest,
        min_length=0,
        length_penalty=search.length_penalty,
        early_stopping=search.early_stopping,
        repetition_penalty=1.0,
        no_repeat_ngram_size=search.no_repeat,
        encoder_no_repeat_ngram_size=0,
        bad_words_ids=None,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        forced_bos_token_id=forced_first,
        forced_eos_token_id=None,
        decoder_start_token_id=start if isinstance(start, int) else list(start),
        eos_token_id=end,
        pad_token_id=padding,
        use_cache=True,
        return_dict_in_generate=False,
    )


def log_probabilities(model: Any, hidden: Tensor, mask: Tensor, sequences: Tensor) -> Tensor:
    """(N, S - 1) on the CPU: of each token but the first, given those before it.

    Args:
        hidden: (B, T, D) what the encoder made of the documents.
        mask: (B, T) 0 where there is only padding.
        sequences: (N, S) as many for each document, one document's after the other's.
    """
    document = torch.arange(len(sequences), device=hidden.device) // (len(sequences) // len(hidden))
    width = sequences.shape[1] * model.get_input_embeddings().num_embeddings
    size = max(_MOST_LOGITS // width, 1)
    parts: list[Tensor] = []
    for first in range(0, len(sequences), size):
        some, of = sequences[first : first + size], document[first : first + size]
        logits = model(
            encoder_outputs=BaseModelOutput(hidden[of]),
            attention_mask=mask[of],
            decoder_input_ids=some[:, :-1],
            use_cache=False,
        ).logits  # (n, S - 1, V)
        chosen = logits.float().log_softmax(-1).gather(-1, some[:, 1:, None])
        parts.append(chosen.squeeze(-1))
    return torch.cat(parts).cpu()


class PretrainedDecoder(Decoder):
    """Holds the whole model: its encoder is also the extractor's."""

    def __init__(self, model: Any, separator: int) -> None:
        """Args:
        model: any encoder-decoder of Transformers with a language modelling head.
        separator: the id between two phrases.
        """
        super().__init__()
        start, end = (
            getattr(model.config, name, None) for name in ("decoder_start_token_id", "eos_token_id")
        )
        if start is None or end is None:
            raise ModelLoadError(
                f"The configuration of this {model.config.model_type} model lacks decoder_start_token_id or "
                "eos_token_id: choose another encoder-decoder."
            )
        self.model = model
        # What is stored with BART would fill in what `search` leaves open: it forces <s> as the first token.
        model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        self._vocabulary = TargetVocabulary(start, end, separator)

    @property
    def vocabulary(self) -> TargetVocabulary:
        return self._vocabulary

    @property
    def longest(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", None) or 1024)

    def forward(self, inputs: Tensor, memory: Memory) -> Tensor:
        """(B, L, V) the log-probabilities of what follows each of `inputs` (B, L)."""
        output = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.hidden),
            attention_mask=memory.mask,
            decoder_input_ids=inputs,
            use_cache=False,
        )
        logits: Tensor = output.logits
        return logits.float().log_softmax(-1)

    def search(self, memory: Memory, config: SearchConfig) -> list[list[Beam]]:
        """The beams of each document, best first: `generate`, and one more pass for the log-probabilities."""
        vocabulary = self._vocabulary
        written = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.hidden),
            attention_mask=memory.mask,
            generation_config=generation_config(
                replace(config, longest=min(config.longest, self.longest - 1)),
                start=vocabulary.start,
                end=vocabulary.end,
                padding=vocabulary.end,  # what follows the first end is not looked at
            ),
        )
        gains = log_probabilities(self.model, memory.hidden, memory.mask, written)
        documents = (rows.unflatten(0, (-1, config.beams)).tolist() for rows in (written[:, 1:], gains))
        return [self._beams(ids, own, config) for ids, own in zip(*documents, strict=True)]

    def _beams(
        self, sequences: list[list[int]], gains: list[list[float]], config: SearchConfig
    ) -> list[Beam]:
        """Those of one document, each once.

        Args:
            sequences, gains: (K, S - 1) the ids without the start, padded after their ends, and the
                log-probability of each.
        """
        end = self._vocabulary.end
        beams: dict[tuple[int, ...], Beam] = {}
        for ids, own in zip(sequences, gains, strict=True):
            complete = end in ids
            written = tuple(ids[: ids.index(end)] if complete else ids)
            of_these = tuple(own[: len(written) + complete])
            score = sum(of_these) / len(of_these) ** config.length_penalty
            beams.setdefault(written, Beam(written, of_these, score))
        return list(beams.values())
