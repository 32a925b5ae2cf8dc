"""The commands of `python -m annotation`, one file for each subject."""
