"""What `python app.py` starts before it imports Gradio."""

from __future__ import annotations

from functools import partial

from kpdemo.predictors import DEFAULT_MODEL, load_predictor
from kpdemo.ui.settings import Settings
from kpdemo.worker import ModelWorker


def start_models(settings: Settings) -> ModelWorker:
    """The models in a process of their own, which begins with the one that is chosen at first."""
    load = partial(load_predictor, device=settings.device)
    return ModelWorker(load, first=settings.model or DEFAULT_MODEL)
