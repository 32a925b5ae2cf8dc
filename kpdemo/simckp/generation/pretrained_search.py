"""Beam search by an encoder-decoder of Transformers, and the probabilities of what it wrote.

Letters: B documents, K beams, N = B · K sequences, T tokens read, S tokens written, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.simckp.generation.beam_search import SearchConfig

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
