"""Rows and files: pairs, ratings, gold sets and scores, read and written."""
