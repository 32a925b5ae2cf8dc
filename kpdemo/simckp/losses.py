"""The training objectives of SimCKP."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from kpdemo.simckp.decoder import IGNORED


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


def binary_loss(scores: Tensor, positive: Tensor, *, temperature: float) -> Tensor:
    """Classify each phrase on its own as gold or not (the binary classifier of SimCKP's Table 4).

    Args:
        scores: (P,) of each candidate; divided by the temperature they are log-odds.
        positive: (P,) bool, true for gold.

    Returns:
        Scalar, in nats: the cross-entropy averaged over the candidates.
    """
    return functional.binary_cross_entropy_with_logits(scores.float() / temperature, positive.float())


def in_batch_loss(
    documents: Tensor, phrases: Tensor, positive: Tensor, document: Tensor, *, temperature: float
) -> Tensor:
    """Pull a gold keyphrase towards its document, away from the others of the batch (SimCKP, Table 5).

    Args:
        documents: (B, D) vectors, at least two of them; one alone has no negatives.
        phrases: (P, D) vectors.
        positive: (P,) bool, true for gold.
        document: (P,) long: the document of each phrase.

    Returns:
        Scalar, in nats: the sum over the positives of a document, averaged over the documents.
    """
    ours = functional.normalize(phrases[positive].float(), dim=-1)
    theirs = functional.normalize(documents.float(), dim=-1)
    logits = ours @ theirs.T / temperature  # (N, B)
    return functional.cross_entropy(logits, document[positive], reduction="sum") / len(documents)


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
