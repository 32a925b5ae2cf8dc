"""The commands of `python -m kpdemo` that have a file of their own."""
