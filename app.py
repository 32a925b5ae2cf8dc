"""Serve the pages: python app.py [--host] [--port] [--model] [--device]."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported: it calls home otherwise
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")  # no summary after every event

import gradio as gr
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from kpdemo.types import Predictor
from kpdemo.ui.compare import CompareHandlers, build_compare_section
from kpdemo.ui.files import KEPT_MINUTES, FilesHandlers, build_files_tab
from kpdemo.ui.footer import FooterHandlers, build_footer
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.predict import PredictHandlers, build_predict_tab, load_examples
from kpdemo.ui.security import SecurityMiddleware
from kpdemo.ui.serving import ServeError, listen, port_number, serve
from kpdemo.ui.theme import build_theme, head, stylesheet
from kpdemo.ui.widgets import page_header

NAME = "Keyphrases"
PURPOSE = "Paste a document and see the phrases that say what it is about."
MAX_FILE_SIZE = "20mb"
MINUTE = 60
SPACE_ANCESTORS = "https://huggingface.co https://*.hf.space"
CLOSED_DOCS: dict[str, Any] = {"openapi_url": None, "docs_url": None, "redoc_url": None}


@dataclass(frozen=True)
class AppContext:
    """What the pages are given: the models by name, and how to open one."""

    models: Mapping[str, str]
    load: Callable[[str], Predictor]
    in_space: bool = False


@dataclass(frozen=True)
class Settings:
    host: str
    port: int
    model: str | None
    device: str
    in_space: bool


def read_settings(arguments: Sequence[str] | None, environment: Mapping[str, str]) -> Settings:
    """Command-line options; in a Hugging Face Space the default is to listen on every address."""
    in_space = "SPACE_ID" in environment
    parser = argparse.ArgumentParser(description="Serve the keyphrase pages.")
    parser.add_argument("--host", default="0.0.0.0" if in_space else "127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=port_number, default=7860, help="default: %(default)s")
    parser.add_argument("--model", help="the model chosen at first: a name or a checkpoint folder")
    parser.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda"), help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    return Settings(options.host, options.port, options.model, options.device, in_space)


def build_context(settings: Settings) -> AppContext:
    from kpdemo.predictors import available_models, load_predictor

    models = available_models()
    if settings.model is not None:
        models = {settings.model: models.get(settings.model, "given with --model"), **models}
    return AppContext(models, partial(load_predictor, device=settings.device), settings.in_space)


def build_app(shelf: ModelShelf) -> gr.Blocks:
    """The pages, in the order of the tabs."""
    app: gr.Blocks = gr.Blocks(
        title=NAME, analytics_enabled=False, delete_cache=(MINUTE, KEPT_MINUTES * MINUTE)
    )
    with app:
        page_header(NAME, PURPOSE)
        with gr.Tabs(elem_id="page-tabs"):
            with gr.Tab("Keyphrases", id="predict"):
                fields = build_predict_tab(PredictHandlers(shelf), load_examples(), app)
                build_compare_section(CompareHandlers(shelf), fields)
            with gr.Tab("Files", id="files"):
                build_files_tab(FilesHandlers(shelf))
        build_footer(FooterHandlers(shelf), app)
    return app


def build_server(context: AppContext) -> FastAPI:
    """The web application: pages at /, health at /healthz; the default model warms up meanwhile."""
    shelf = ModelShelf(context.models, context.load)
    server = FastAPI(**CLOSED_DOCS)
    server.add_middleware(CORSMiddleware, allow_origins=[])  # else Gradio answers every site that asks
    server.add_middleware(
        SecurityMiddleware, frame_ancestors=SPACE_ANCESTORS if context.in_space else "'none'"
    )

    @server.get("/healthz")
    def health() -> dict[str, str]:
        return {"status": "ok", "model": shelf.state}

    pages = build_app(shelf)
    pages.queue(default_concurrency_limit=None, api_open=False)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # on SSR, though it is off
        gr.mount_gradio_app(
            server,
            pages,
            path="/",
            app_kwargs=dict(CLOSED_DOCS),  # Gradio writes into it
            theme=build_theme(),
            css_paths=stylesheet(),
            head=head(),
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            enable_monitoring=False,
            show_error=False,
            max_file_size=MAX_FILE_SIZE,
        )
    shelf.warm_up_in_background()
    return server


def main(arguments: Sequence[str] | None = None) -> int:
    settings = read_settings(arguments, os.environ)
    try:
        listener = listen(settings.host, settings.port)
    except ServeError as error:
        print(error, file=sys.stderr)
        return 1
    serve(build_server(build_context(settings)), listener)
    return 0


if __name__ == "__main__":
    sys.exit(main())
