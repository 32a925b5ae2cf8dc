"""Pairs written to a target: items, writers, editors, reports."""
