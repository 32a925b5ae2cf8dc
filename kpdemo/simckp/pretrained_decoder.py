"""The decoder of a pretrained encoder-decoder, such as BART (the paper's generator).

Letters: B documents, K beams, L target positions, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.beam_search import Beam, SearchConfig
from kpdemo.simckp.memory import Decoder, Memory
from kpdemo.simckp.targets import IGNORED, TargetVocabulary, shifted

_MOST_LOGITS = 2**27  # half a gigabyte of log-probabilities at once


class PretrainedDecoder(Decoder):
    """Holds the whole model: its encoder is also the extractor's."""

    def __init__(self, model: Any, separator: int) -> None:
        """Args:
        model: any encoder-decoder of Transformers with a language modelling head.
        separator: the id that stands between two phrases.
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
        written = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.hidden),
            attention_mask=memory.mask,
            generation_config=self._generation(config),
        )
        documents = written[:, 1:].unflatten(0, (-1, config.beams))
        return [
            self._beams(ids, memory.rows(torch.tensor([number])), config)
            for number, ids in enumerate(documents)
        ]

    def _generation(self, config: SearchConfig) -> GenerationConfig:
        vocabulary = self._vocabulary
        return GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=min(config.longest, self.longest - 1),
            min_length=0,
            do_sample=False,
            num_beams=config.beams,
            num_return_sequences=config.beams,
            early_stopping=config.early_stopping,
            length_penalty=config.length_penalty,
            repetition_penalty=1.0,
            no_repeat_ngram_size=config.no_repeat,
            encoder_no_repeat_ngram_size=0,
            bad_words_ids=None,
            suppress_tokens=None,
            begin_suppress_tokens=None,
            forced_bos_token_id=None,
            forced_eos_token_id=None,
            decoder_start_token_id=vocabulary.start,
            bos_token_id=vocabulary.start,
            eos_token_id=vocabulary.end,
            pad_token_id=vocabulary.end,  # what follows the first end is not looked at
            use_cache=True,
            return_dict_in_generate=False,
        )

    def _beams(self, ids: Tensor, memory: Memory, config: SearchConfig) -> list[Beam]:
        """The sequences `ids` (K, L) of one document, without the start, filled up after their ends."""
        ended = (ids == self._vocabulary.end).cumsum(1)
        targets = ids.masked_fill(ended - (ids == self._vocabulary.end).long() > 0, IGNORED)
        beams: dict[tuple[int, ...], Beam] = {}
        for row, gains in zip(targets.tolist(), self._gains(targets, memory), strict=True):
            written = tuple(token for token in row if token != IGNORED)
            score = sum(gains[: len(written)]) / len(written) ** config.length_penalty
            complete = written[-1] == self._vocabulary.end
            found = Beam(written[:-1] if complete else written, tuple(gains[: len(written)]), score, complete)
            beams.setdefault(written, found)
        return list(beams.values())

    def _gains(self, targets: Tensor, memory: Memory) -> list[list[float]]:
        """(K, L) the log-probability of each id of `targets` (K, L)."""
        rows = max(_MOST_LOGITS // (targets.shape[1] * self.model.config.vocab_size), 1)
        inputs = shifted(targets, self._vocabulary.start)
        gains: list[list[float]] = []
        for first in range(0, len(targets), rows):
            some, wanted = inputs[first : first + rows], targets[first : first + rows]
            copies = torch.zeros(len(some), dtype=torch.long, device=some.device)
            log_probabilities = self(some, memory.rows(copies))
            gains += log_probabilities.gather(2, wanted.clamp(min=0).unsqueeze(2)).squeeze(2).tolist()
        return gains
