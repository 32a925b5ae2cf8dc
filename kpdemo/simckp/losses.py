"""The training objectives of SimCKP."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from kpdemo.simckp.targets import IGNORED


def contrastive_loss(
    scores: Tensor, positive: Tensor, document: Tensor, *, documents: int, temperature: float
) -> Tensor:
    """Pull a document towards its gold keyphrases, away from its other candidates (SimCKP, Equation 3).

    Each positive is weighed against all negatives of its own document; other positives are left
    out of the denominator.

    Args:
        scores: (P,) similarity of each candidate to its document.
        positive: (P,) bool, true for gold.
        document: (P,) long, ascending: the document of each candidate.
        documents: B.

    Returns:
        Scalar, in nats: the sum over the positives of a document, averaged over the documents.
    """
    logits = scores.float() / temperature
    counts = torch.bincount(document, minlength=documents).tolist()
    negatives = logits.masked_fill(positive, -torch.inf)
    rows = pad_sequence(list(torch.split(negatives, counts)), batch_first=True, padding_value=-torch.inf)
    against = torch.logsumexp(rows, dim=1)[document]  # (P,) log of the sum over the document's negatives
    return functional.softplus(against[positive] - logits[positive]).sum() / documents


def generation_loss(log_probabilities: Tensor, targets: Tensor, *, documents: int) -> Tensor:
    """The negative log-likelihood of each document's absent keyphrases (SimCKP, Equation 4).

    Args:
        log_probabilities: (N, L, V) of the N documents that have any.
        targets: (N, L) target ids, `IGNORED` where a sequence is over.
        documents: B; those beyond N cost nothing.

    Returns:
        Scalar, in nats: the mean over the ids of a sequence, averaged over all documents.
    """
    counted = targets != IGNORED
    gains = log_probabilities.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2)
    means = gains.masked_fill(~counted, 0.0).sum(1) / counted.sum(1).clamp(min=1)
    return -means.sum() / documents
