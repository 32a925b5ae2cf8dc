"""The sequence labelling of SimCKP's ablation (Choi et al. 2023, Table 4): a BiLSTM and a CRF on the encoder.

Letters (crf): B sequences, T positions, K tags.

Letters (labeller): B windows, T tokens, K tags.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from kpdemo.languages import ENGLISH
from kpdemo.simckp.checkpoint import (
    StoredModel,
    backbone_config,
    choose_device,
    open_folder,
    transformers_encoder,
    write_folder,
)
from kpdemo.simckp.hub.tagger import HubTagger, Labels
from kpdemo.simckp.storage import Storage


class ConditionalRandomField(nn.Module):
    """The probability of a tag sequence is the exponential of its score, normalised over all sequences.

    The score sums the emissions of the tags, the transitions between them, and a weight for the first and the
    last tag. `mask` (B, T) bool is true for the positions of a sequence: at least one, and the first ones.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # from the row's tag to the column's
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(B,) in nats, of `tags` (B, T) long under `emissions` (B, T, K)."""
        log_all = torch.logsumexp(self._forward(emissions, mask)[-1] + self.end, dim=1)
        return self._score(emissions, tags, mask) - log_all

    def log_marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """(B, T, K) the log-probability of each tag at each position, by the forward-backward algorithm.

        Beyond the mask the values mean nothing.
        """
        before = torch.stack(self._forward(emissions, mask), dim=1)
        both = before + torch.stack(self._backward(emissions, mask), dim=1)
        return both.log_softmax(-1)

    def _forward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """For each position, (B, K) the log-sum-exp over all prefixes that end there in a tag.

        After the end of a sequence it is that of the last position.
        """
        sums = [self.start + emissions[:, 0]]
        for place in range(1, emissions.shape[1]):
            longer = torch.logsumexp(sums[-1][:, :, None] + self.transitions, dim=1) + emissions[:, place]
            sums.append(torch.where(mask[:, place, None], longer, sums[-1]))
        return sums

    def _backward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """For each position, (B, K) the log-sum-exp over all continuations of a tag there."""
        end = self.end.expand(len(emissions), -1)
        sums = [end]
        for place in range(emissions.shape[1] - 1, 0, -1):
            following = (emissions[:, place] + sums[-1])[:, None, :]
            longer = torch.logsumexp(self.transitions + following, dim=2)
            sums.append(torch.where(mask[:, place, None], longer, end))
        return sums[::-1]

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(B,) the scores of the sequences `tags`."""
        lasts = mask.sum(1) - 1
        emitted = emissions.gather(2, tags[:, :, None]).squeeze(2).masked_fill(~mask, 0.0).sum(1)
        moved = self.transitions[tags[:, :-1], tags[:, 1:]].masked_fill(~mask[:, 1:], 0.0).sum(1)
        last_tags = tags.gather(1, lasts[:, None]).squeeze(1)
        return self.start[tags[:, 0]] + emitted + moved + self.end[last_tags]


KIND = "bilstm-crf-labeller"
OUTSIDE, BEGIN, INSIDE = range(3)
TAGS = 3
LABELS = Labels(begin=(BEGIN,), within=(BEGIN, INSIDE), outside=(OUTSIDE,))


@dataclass(frozen=True)
class LabellerConfig:
    """Attributes:
    lstm: width of each direction of the BiLSTM.
    window, overlap: tokens of one reading, and how many of them it shares with the next.
    """

    lstm: int = 128
    window: int = 256
    overlap: int = 64


@dataclass(frozen=True)
class TagMarginals:
    """Attributes:
    logits: (B, T, K) the log-probability of each tag at each token, given the whole window.
    """

    logits: Tensor


class SequenceLabeller(nn.Module):
    """Tags each token as the beginning of a keyphrase, inside one, or outside (BIO)."""

    def __init__(self, encoder: nn.Module, config: LabellerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.lstm = nn.LSTM(width, config.lstm, batch_first=True, bidirectional=True)
        self.emission = nn.Linear(2 * config.lstm, TAGS)
        self.crf = ConditionalRandomField(TAGS)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> TagMarginals:
        """Of token ids and mask, (B, T) each."""
        emissions = self._emissions(input_ids, attention_mask)
        return TagMarginals(self.crf.log_marginals(emissions, attention_mask.bool()))

    def loss(self, input_ids: Tensor, attention_mask: Tensor, tags: Tensor) -> Tensor:
        """Scalar, in nats: minus the log-likelihood of `tags` (B, T) long, averaged over the windows."""
        emissions = self._emissions(input_ids, attention_mask)
        return -self.crf.log_likelihood(emissions, tags, attention_mask.bool()).mean()

    def _emissions(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T, K)"""
        hidden: Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        lengths = attention_mask.sum(1).cpu()
        with torch.autocast(hidden.device.type, enabled=False):  # sums over all rows of tags need fp32
            packed = pack_padded_sequence(hidden.float(), lengths, batch_first=True, enforce_sorted=False)
            states, _ = self.lstm(packed)
            unpacked, _ = pad_packed_sequence(states, batch_first=True, total_length=hidden.shape[1])
            emissions: Tensor = self.emission(unpacked)
        return emissions


def save_labeller(
    folder: Path, module: SequenceLabeller, tokenizer: Any, *, name: str, card: str, storage: Storage = "fp16"
) -> None:
    """Write a checkpoint folder as `kpdemo.simckp.checkpoint.save_checkpoint` does."""
    config = {
        "kind": KIND,
        "name": name,
        "backbone": backbone_config(module.encoder.config),
        "labeller": asdict(module.config),
    }
    write_folder(folder, module.state_dict(), tokenizer, config, card=card, storage=storage)


def load_labeller(folder: Path, *, device: str = "auto") -> HubTagger:
    """Open a folder that `save_labeller` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with open_folder(folder, KIND) as stored:
        config = LabellerConfig(**stored.config["labeller"])
        module = SequenceLabeller(transformers_encoder(stored.config["backbone"]), config)
        module.load_state_dict(stored.weights)
        return as_predictor(stored.config["name"], module.to(target).eval(), _tokenizer(stored))


def _tokenizer(stored: StoredModel) -> Any:
    """That of the folder alone: Transformers' settings next to it may name files elsewhere."""
    from transformers import PreTrainedTokenizerFast

    padding = stored.tokenizer.id_to_token(stored.padding)
    if padding is None:
        raise ValueError(f"its tokenizer has no token {stored.padding}, which fills windows up")
    return PreTrainedTokenizerFast(tokenizer_object=stored.tokenizer, pad_token=padding)  # type: ignore[no-untyped-call]


def as_predictor(name: str, module: SequenceLabeller, tokenizer: Any) -> HubTagger:
    """Gives each word its most probable tag, and each run of tags as a keyphrase."""
    config = module.config
    return HubTagger(name, module, tokenizer, LABELS, config.window, config.overlap, frozenset({ENGLISH}))
