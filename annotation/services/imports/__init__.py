"""Pairs, items and ratings that come from files."""
