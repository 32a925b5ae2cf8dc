"""Beam search for many sequences of many documents at once, by the rules of Transformers' `generate`.

Letters: B documents, K beams, L positions so far, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from kpdemo.errors import ConfigError


@dataclass(frozen=True)
class SearchConfig:
    """SimCKP's over-generation, with the released code's settings.

    Attributes:
        beams: K, also the number of sequences returned.
        longest: most ids of a sequence, its end included.
        no_repeat: no n-gram of this many ids occurs twice in a sequence; 0 allows all.
        length_penalty: a sequence is ranked by its log-probability over its length to this power.
        early_stopping: stop as soon as K sequences have ended, though better ones may come.
    """

    beams: int = 50
    longest: int = 100
    no_repeat: int = 2
    length_penalty: float = 1.0
    early_stopping: bool = True

    def __post_init__(self) -> None:
        for name, least in (("beams", 1), ("longest", 1), ("no_repeat", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"The search's {name} must be at least {least}, not {getattr(self, name)}.")


@dataclass(frozen=True, slots=True)
class Beam:
    """One sequence that was found.

    Attributes:
        ids: target ids, without the end.
        log_probabilities: of each id, and of the end where it came to one within the longest length.
        score: see `SearchConfig.length_penalty`.
    """

    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    score: float


class Steps(Protocol):
    """A decoder that keeps the state of each beam."""

    def step(self, tokens: Tensor) -> Tensor:
        """(B, K, V) the log-probabilities of what follows when each beam continues with `tokens` (B, K)."""

    def reorder(self, origin: Tensor) -> None:
        """Let beam k of document b continue what was beam `origin[b, k]`, (B, K)."""


def beam_search(
    steps: Steps, config: SearchConfig, *, documents: int, start: int, end: int, device: torch.device
) -> list[list[Beam]]:
    """The K best sequences of each document that the search finds, best first.

    Args:
        documents: B.
        start, end: the id before the first one, and the one that ends a sequence.
    """
    search = _Search(config, documents, start, end, device)
    while not search.over:
        search.extend(steps.step(search.last))
        if not search.over:
            steps.reorder(search.origin)
    return search.finished


class _Search:
    """Attributes:
    ids: (B, K, 1 + L) what the live beams have written, after the start.
    origin: (B, K) the beam before the last step that each of them continues.
    """

    def __init__(
        self, config: SearchConfig, documents: int, start: int, end: int, device: torch.device
    ) -> None:
        self._config, self._end = config, end
        shape = (documents, config.beams)
        self.ids = torch.full((*shape, 1), start, device=device)
        self.origin = torch.zeros(shape, dtype=torch.long, device=device)
        self._gains = torch.zeros((*shape, 0), device=device)  # (B, K, L) the log-probability of each id
        self._scores = torch.full(shape, -torch.inf, device=device)
        self._scores[:, 0] = 0  # the beams are still the same: only one of them counts
        self.finished: list[list[Beam]] = [[] for _ in range(documents)]
        self._open = [True] * documents

    @property
    def last(self) -> Tensor:
        """(B, K) the ids written last."""
        return self.ids[..., -1]

    @property
    def over(self) -> bool:
        return not any(self._open)

    def extend(self, log_probabilities: Tensor) -> None:
        """Go on by one id, given (B, K, V)."""
        beams, vocabulary = self._config.beams, log_probabilities.shape[-1]
        allowed = _without_repeats(log_probabilities, self.ids, self._config.no_repeat)
        totals = (allowed + self._scores.unsqueeze(-1)).flatten(1)
        best, places = totals.topk(min(2 * beams, totals.shape[1]))  # at most half of them end
        origin, token = places // vocabulary, places % vocabulary
        ids = torch.cat([_gather(self.ids, origin), token.unsqueeze(-1)], dim=-1)
        gain = log_probabilities.flatten(1).gather(1, places)
        gains = torch.cat([_gather(self._gains, origin), gain.unsqueeze(-1)], dim=-1)
        last = ids.shape[-1] > self._config.longest
        ends = token == self._end
        self._finish(best, ids, gains, ends | last)
        self._scores, chosen = best.masked_fill(ends, -torch.inf).topk(beams)
        self.ids, self._gains = _gather(ids, chosen), _gather(gains, chosen)
        self.origin = origin.gather(1, chosen)
        self._close(last)

    def _finish(self, totals: Tensor, ids: Tensor, gains: Tensor, over: Tensor) -> None:
        """Keep those among the K best candidates (B, 2K) that are `over`."""
        length = ids.shape[-1] - 1
        rank = torch.arange(totals.shape[1], device=totals.device) < self._config.beams
        found = (over & rank & totals.isfinite()).nonzero(as_tuple=True)
        scores = (totals[found] / length**self._config.length_penalty).tolist()
        rows = zip(found[0].tolist(), scores, ids[found][:, 1:].tolist(), gains[found].tolist(), strict=True)
        for document, score, written, gain in rows:
            if self._open[document]:
                ids_alone = written[:-1] if written[-1] == self._end else written
                self.finished[document].append(Beam(tuple(ids_alone), tuple(gain), score))

    def _close(self, last: bool) -> None:
        """Note which documents are done: no live beam, no further step, or no hope of a better sequence."""
        config = self._config
        length = self.ids.shape[-1] - 1
        hopes = (self._scores.amax(dim=1) / length**config.length_penalty).tolist()
        for document, hope in enumerate(hopes):
            finished = self.finished[document]
            finished.sort(key=lambda beam: -beam.score)
            del finished[config.beams :]
            full = len(finished) == config.beams
            done = full and (config.early_stopping or hope <= finished[-1].score)
            if last or done or hope == -torch.inf:
                self._open[document] = False


def _gather(values: Tensor, chosen: Tensor) -> Tensor:
    """(B, N, …) the rows of `values` (B, M, …) that `chosen` (B, N) names."""
    index = chosen.view(*chosen.shape, *[1] * (values.dim() - 2)).expand(-1, -1, *values.shape[2:])
    return values.gather(1, index)


def _without_repeats(log_probabilities: Tensor, ids: Tensor, size: int) -> Tensor:
    """(B, K, V) with -inf where an id would repeat an n-gram of `size` ids of `ids` (B, K, L)."""
    if size == 0 or ids.shape[-1] < size:
        return log_probabilities
    runs = ids.unfold(2, size, 1)  # (B, K, L - size + 1, size)
    began = ids[..., ids.shape[-1] - size + 1 :].unsqueeze(2)
    repeated = (runs[..., :-1] == began).all(-1)
    minus = torch.zeros(repeated.shape, device=ids.device).masked_fill(repeated, -torch.inf)
    return log_probabilities.scatter_add(2, runs[..., -1], minus)
