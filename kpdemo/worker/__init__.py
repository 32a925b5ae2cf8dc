"""Models in a process of their own, for a program that has other things to do meanwhile."""

from kpdemo.worker.client import ModelWorker, RemotePredictor

__all__ = ["ModelWorker", "RemotePredictor"]
