"""The decoder of a pretrained encoder-decoder, such as BART (the paper's generator).

Letters: B documents, K beams, L target positions, S tokens written, V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.generation.beam_search import Beam, SearchConfig
from kpdemo.simckp.generation.memory import Decoder, Memory
from kpdemo.simckp.generation.pretrained_search import generation_config, log_probabilities
from kpdemo.simckp.generation.targets import TargetVocabulary


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
