"""Predicted keyphrases that are graded: pools, their order, judgements and relevance."""
