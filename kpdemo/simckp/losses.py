"""The training objective of SimCKP."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence


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
