"""Predicting many documents: where they come from, where the answers go, and going on after a stop."""
