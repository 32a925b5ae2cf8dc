"""Mounting Gradio pages in a web application, with everything closed that nobody needs."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.middleware.gzip import GZipMiddleware
from gradio.utils import get_upload_folder

from kpdemo.ui.theme import STYLE, build_theme, head

CLOSED_DOCS: dict[str, Any] = {"openapi_url": None, "docs_url": None, "redoc_url": None}
UPLOADS = "GRADIO_TEMP_DIR"
"""The variable that Gradio reads when pages are built and when they are mounted."""
THREADS = 100
"""Events that may run at once. With Gradio's 40, a class of raters who press at once waits."""
OPEN_PAGES = 250
"""Pages whose state is kept; of more, that of the page that was used least recently goes.

Gradio keeps a description of every component for each page that was opened, 4 MB of annotation, and would
keep 10,000. A page whose state is gone may refuse what is chosen from a list, until it is opened again.
"""
SAID = {"common.complete": "Done", "common.upload": "Add files"}
"""What Gradio says to screen readers and has no word for."""


def ending_with(end: Callable[[], None]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The lifespan of a web application that calls `end` when it stops, so that nothing keeps it waiting."""

    @asynccontextmanager
    async def lifespan(server: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            end()

    return lifespan


def new_server(end: Callable[[], None]) -> FastAPI:
    """A web application without pages, which calls `end` when it stops; what it sends is compressed."""
    server = FastAPI(**CLOSED_DOCS, lifespan=ending_with(end))
    server.add_middleware(GZipMiddleware, compresslevel=4)  # Gradio compresses files, but no page or answer
    return server


def mount_pages(
    server: FastAPI,
    build: Callable[[], gr.Blocks],
    path: str,
    *,
    max_file_size: str,
    styles: Sequence[Path] = (),
    scripts: Sequence[Path] = (),
    user_of: Callable[[Request], Awaitable[str | None]] | Callable[[Request], str | None] | None = None,
) -> None:
    """Serve pages under `path`; what is mounted at / comes last.

    Args:
        server: the web application.
        build: makes the pages.
        path: where they are.
        max_file_size: of an upload, such as "20mb".
        styles: stylesheets besides the common one.
        scripts: scripts besides the common one.
        user_of: the name of who asks, or None, which is refused; without it everybody may come in.
    """
    with (
        _own_uploads(path) as others,
        warnings.catch_warnings(action="ignore", category=UserWarning),  # on SSR, though it is off
    ):
        pages = build()
        pages.max_threads = THREADS  # the queue reads it once
        pages.state_session_capacity = OPEN_PAGES
        pages.queue(default_concurrency_limit=None, api_open=False)
        gr.mount_gradio_app(
            server,
            pages,
            path=path,
            auth_dependency=user_of,
            app_kwargs=dict(CLOSED_DOCS),  # Gradio writes into it
            theme=build_theme(),
            css_paths=[STYLE, *styles],
            head=head(*scripts),
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            enable_monitoring=False,
            show_error=False,
            max_file_size=max_file_size,
            blocked_paths=others,
            i18n=gr.I18n(en=SAID),
        )
    pages.has_launched = True  # else Gradio reads any file of the machine that a request names as an upload


@contextmanager
def _own_uploads(path: str) -> Iterator[list[str]]:
    """Let what is made here keep its uploads in a folder of its own; gives those of pages mounted before.

    An application of Gradio's serves every file of its folder to everybody who may enter: what is uploaded
    behind the sign-in must not lie in the folder of the public page.
    """
    common = get_upload_folder()
    own = Path(common) / (path.strip("/") or "public")
    own.mkdir(parents=True, exist_ok=True)
    os.environ[UPLOADS] = str(own)
    try:
        yield [str(folder) for folder in Path(common).iterdir() if folder != own]
    finally:
        os.environ[UPLOADS] = common
