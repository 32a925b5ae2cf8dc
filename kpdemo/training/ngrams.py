"""An extractor held to shorter candidates than it was trained on (SimCKP, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from kpdemo.candidates.chunks import mine_candidates
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.examples import build_example
from kpdemo.simckp.predictor import SimckpPredictor, score_examples
from kpdemo.training.data import gold_candidates
from kpdemo.training.selection import learn_selection
from kpdemo.types import Document


def with_longest(predictor: SimckpPredictor, longest: int, documents: Sequence[Document]) -> SimckpPredictor:
    """The same weights over candidates of at most `longest` words, with a threshold learnt anew.

    Args:
        documents: with their keyphrases; what the threshold is learnt on.
    """
    config = predictor.module.config
    module = copy(predictor.module)  # shares the weights
    module.config = replace(config, candidates=replace(config.candidates, longest=longest))
    mined = [mine_candidates(document, predictor.tagger, module.config.candidates) for document in documents]
    examples = [
        build_example(document, found, predictor.tokenizer, window=config.window, overlap=config.overlap)
        for document, found in zip(documents, mined, strict=True)
    ]
    scores = score_examples(module, examples, padding=predictor.padding)
    positive = [gold_candidates(document, found) for document, found in zip(documents, mined, strict=True)]
    counting: Counting = "expected F1" if predictor.selection.counting else "threshold"
    selection = learn_selection(list(zip(scores, positive, strict=True)), counting, config.minimum)
    return replace(predictor, module=module, selection=selection)
