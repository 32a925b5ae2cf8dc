"""Figures for predicted keyphrases, and simple systems to compare them with."""
