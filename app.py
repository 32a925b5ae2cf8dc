"""Serve the pages: python app.py; --help tells its options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import socket

from kpdemo.ui.start import (
    Settings,
    Workers,
    check_device,
    index_of,
    read_settings,
    start_models,
    text_similarities,
)
from kpdemo.worker import Load, ModelQueue

if __name__ == "__main__":  # the model loads on another core while the imports below run
    _workers = start_models(read_settings(None, os.environ))

import gradio as gr
from fastapi import FastAPI

from annotation.errors import ModelError
from annotation.services.bundle import Services, open_annotation
from annotation.systems import Similarities
from annotation.ui import pages as annotation_pages
from annotation.web.mount import ANNOTATION_PATHS, add_annotation_routes, start_notes
from annotation.web.sign_in import USER_PATH
from db.errors import DatabaseError, UrlError
from kpdemo.api.routes import add_api
from kpdemo.cards import model_card
from kpdemo.errors import ModelLoadError
from kpdemo.locale import _, mark
from kpdemo.predictors import available_models
from kpdemo.ui.compare import CompareHandlers, build_compare_section
from kpdemo.ui.evaluate import EvaluateHandlers, build_evaluate_tab
from kpdemo.ui.files import DELETED_SECONDS, FilesHandlers, build_files_tab
from kpdemo.ui.models import ModelShelf, no_index
from kpdemo.ui.monitoring import MetricsAccess, add_monitoring, set_up_logs
from kpdemo.ui.page import (
    SCRIPTS,
    FooterHandlers,
    Pages,
    add_cards,
    add_scripts,
    build_footer,
    mount_pages,
    new_server,
)
from kpdemo.ui.predict import PredictHandlers, build_predict_tab, load_examples
from kpdemo.ui.send import SendHandlers, build_send_files_section, build_send_section
from kpdemo.ui.serving import (
    ServeError,
    add_documentation,
    add_health,
    add_security,
    address_of,
    listen,
    serve,
)
from kpdemo.ui.space import SpaceHandlers, build_space_tab
from kpdemo.ui.uploads import private_uploads
from kpdemo.ui.widgets import PageLink, page_header

NAME = "kpdemo"
PURPOSE = mark("Keyphrases: the phrases that say what a document is about.")
MAX_FILE_SIZE = "20mb"
SITE = Path(__file__).parent / "site"
"""The documentation, once `make docs` has built it."""


@dataclass(frozen=True)
class AppContext:
    """What the pages are given: models by name, how to open and to describe one, annotation, passages."""

    models: Mapping[str, str]
    load: Load | ModelQueue
    in_space: bool = False
    annotation: Services | None = None  # without it only the public page is served
    describe: Callable[[str], str] = model_card
    index_of: Callable[[str], str] = no_index
    load_apart: Load | ModelQueue | None = None  # for long texts and files, if they are to wait apart
    documentation: str = ""
    metrics: MetricsAccess | None = None  # who may read /metrics


def build_context(settings: Settings, workers: Workers, similarities: Similarities) -> AppContext:
    models = available_models()
    if settings.model is not None:
        models = {settings.model: models.get(settings.model, "given with --model"), **models}
    in_space, url, docs = settings.in_space, settings.database_url, settings.documentation
    services = open_annotation(url, in_space=in_space, wordnet=settings.wordnet, similarities=similarities)
    index = partial(index_of, model=settings.model, index=settings.index)
    networks = settings.metrics
    metrics = None if networks is None else MetricsAccess(networks, settings.metrics_token)
    return AppContext(
        models,
        workers.short,
        in_space,
        services,
        index_of=index,
        load_apart=workers.long,
        documentation=docs,
        metrics=metrics,
    )


def build_app(
    shelf: ModelShelf, links: Sequence[PageLink] = (), sends: SendHandlers | None = None, docs: str = ""
) -> Pages:
    """The public page, in the order of the tabs; without `sends` nothing can be sent to a project."""
    app = Pages(
        speaks=True,
        title=f"{NAME} – {_('keyphrases of documents')}",
        analytics_enabled=False,
        delete_cache=DELETED_SECONDS,
    )
    with app:
        page_header(NAME, _(PURPOSE), links, USER_PATH if links else "")
        with gr.Tabs(elem_id="page-tabs"):
            with gr.Tab(_("Keyphrases"), id="predict"):
                fields = build_predict_tab(PredictHandlers(shelf), load_examples(), app)
                build_compare_section(CompareHandlers(shelf), fields)
                build_send_section(sends, fields)
            with gr.Tab(_("Files"), id="files"):
                build_send_files_section(sends, build_files_tab(FilesHandlers(shelf)))
            with gr.Tab(_("Semantic space"), id="space"):
                build_space_tab(SpaceHandlers(shelf), fields)
            with gr.Tab(_("Evaluate"), id="evaluate"):
                build_evaluate_tab(EvaluateHandlers(shelf))
        build_footer(FooterHandlers(shelf, docs), app)
    return app


def build_server(context: AppContext) -> FastAPI:
    """Annotation under /annotate, the public page at /, its models at /api; the default one warms up."""
    shelf = ModelShelf(context.models, context.load, context.describe, context.index_of, context.load_apart)
    services = context.annotation
    server = new_server(shelf.files.close)
    add_security(server, in_space=context.in_space, never_framed=ANNOTATION_PATHS)
    state = add_health(server, lambda: shelf.state, services.state if services is not None else lambda: "ok")
    add_api(server, shelf)
    add_cards(server, shelf)
    scripts = add_scripts(server, {"kpdemo": SCRIPTS, "annotation": annotation_pages.SCRIPTS})
    links, sends = [], None
    if services is not None:
        guard = add_annotation_routes(server, services)
        mount_pages(
            server,
            partial(annotation_pages.build_annotation_pages, services),
            "/annotate",
            build_again=partial(annotation_pages.build_translated_pages, services),
            max_file_size=annotation_pages.MAX_FILE_SIZE,
            scripts=scripts["annotation"],
            styles=annotation_pages.STYLES,
            user_of=guard.current_user,
        )
        # In the frame of the Space's page browsers keep no cookie of ours: nobody could sign in.
        links = [PageLink(mark("Annotate"), "/annotate/", new_tab=context.in_space)]
        sends = SendHandlers(shelf, services.handovers.keep, new_tab=context.in_space)
    documentation = context.documentation or add_documentation(server, SITE)
    server.state.metrics = add_monitoring(server, state, context.metrics)
    public = partial(build_app, shelf, links, sends, documentation)
    mount_pages(
        server,
        public,
        "/",
        build_again=public,
        max_file_size=MAX_FILE_SIZE,
        scripts=scripts["kpdemo"],
    )
    shelf.warm_up_in_background()
    return server


def visitors_address(settings: Settings, listener: socket) -> str:
    """Where people find the pages, as far as it is known."""
    if settings.address:
        return settings.address.rstrip("/")
    return "https://ADDRESS-OF-THE-SPACE" if settings.in_space else address_of(listener)


def main(arguments: Sequence[str] | None = None, workers: Workers | None = None) -> int:
    """Serve until Ctrl+C or SIGTERM, with the models in `workers` if they have been started already."""
    settings = read_settings(arguments, os.environ)
    set_up_logs(as_json=settings.log_format == "json", level=settings.log_level)
    with workers or start_models(settings) as models, private_uploads(), ExitStack() as opened:
        try:
            check_device(settings, models)
            listener = opened.enter_context(listen(settings.host, settings.port))
            context = build_context(settings, models, text_similarities(models.short, ModelError))
        except (ServeError, DatabaseError, ModelLoadError) as error:
            print(error, file=sys.stderr)
            return 2 if isinstance(error, UrlError) else 1
        services = context.annotation
        if services is not None:
            opened.callback(services.database.dispose)  # SQLite then has everything in one file
        address = visitors_address(settings, listener)
        notes = start_notes(services, address, in_space=settings.in_space) if services else []
        server = build_server(context)
        work = lambda: server.state.metrics.work  # noqa: E731
        serve(server, listener, notes, work=work, behind_proxy=settings.in_space)
    return 0


if __name__ == "__main__":
    sys.exit(main(workers=_workers))
