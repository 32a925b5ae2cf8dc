"""RAMKG's generator as a part of RGIT: trained anew in every round (`kpdemo.ramkg.rgit`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from kpdemo.ramkg.generator_checkpoint import load_writer
from kpdemo.ramkg.iterate import Augmented
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.training.ramkg import RamkgTraining, train_writer
from kpdemo.training.ramkg_card import ramkg_card

HELD_OUT = 20
"""Every so many-th example chooses the weights and is not trained on."""
_CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class WriterRounds:
    """A `Generator` of `kpdemo.ramkg.iterate`.

    Attributes:
        config: of each training; its sources, validation and output are not used.
    """

    config: RamkgTraining

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """See `Generator`; a stopped training goes on where it was."""
        device = self._device
        own = replace(self.config, output=into)
        held_out = list(examples[HELD_OUT - 1 :: HELD_OUT]) or list(examples)
        taught = [given for number, given in enumerate(examples, start=1) if number % HELD_OUT]
        trained = train_writer(taught, held_out, own, device=device)
        trained.save(into / _CHECKPOINT, ramkg_card(own, trained, device=device), own.storage)

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """See `Generator`."""
        writer = load_writer(model / _CHECKPOINT, device=self.config.device)
        return writer.keyphrases(inputs)

    @property
    def _device(self) -> torch.device:
        return choose_device(self.config.device)
