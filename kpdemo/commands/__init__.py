"""The commands of `python -m kpdemo`, and what only they write and show."""
