"""What every page has: its look, its small print, and how it is mounted in the web application."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr
from fastapi import FastAPI, Response
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from gradio.themes import Base, colors, sizes
from gradio.utils import get_upload_folder
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kpdemo import __version__
from kpdemo.errors import KpdemoError
from kpdemo.locale import _, mark
from kpdemo.translation import (
    ENGLISH,
    LANGUAGES,
    current_language,
    html_language,
    language_of,
    set_language,
    use_language,
)
from kpdemo.ui.html import escape, page_html
from kpdemo.ui.models import CARDS_AT, WARM_UP_PATIENCE, ModelShelf
from kpdemo.ui.results import device_name
from kpdemo.ui.uploads import UploadGuard
from kpdemo.ui.widgets import QUIETLY

ASSETS = Path(__file__).parent.parent / "assets"
STYLE = ASSETS / "style.css"
MEDIA = ASSETS / "media.css"
"""For the head of a page: in @media, Gradio makes other selectors of those of its own style sheets."""
SCRIPTS = ASSETS / "scripts"
"""The ES modules of the public page; some are for every page."""

SYSTEM_FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
SYSTEM_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace")


def build_theme() -> gr.themes.Base:
    """Slate greys, indigo for what can be pressed, radius 6 px, fonts of the system."""
    return Base(
        primary_hue=colors.indigo,
        secondary_hue=colors.slate,
        neutral_hue=colors.slate,
        radius_size=sizes.Size("6px", "6px", "6px", "6px", "6px", "6px", "6px", name="kpdemo"),
        spacing_size=sizes.spacing_md,
        text_size=sizes.text_md,
        font=SYSTEM_FONTS,
        font_mono=SYSTEM_MONO,
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_900",
        body_text_color_dark="*neutral_100",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        color_accent="*primary_600",
        background_fill_primary="white",
        background_fill_primary_dark="*neutral_900",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        block_border_color="*neutral_200",
        block_border_color_dark="*neutral_700",
        block_label_text_color="*neutral_700",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_300",
        block_title_text_weight="600",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
        block_shadow="none",
        input_background_fill="white",
        input_background_fill_dark="*neutral_950",
        input_border_color="*neutral_400",
        input_border_color_dark="*neutral_500",
        input_border_color_focus="*primary_600",
        input_border_color_focus_dark="*primary_400",
        input_border_width="1px",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        checkbox_border_color="*neutral_500",
        checkbox_border_color_dark="*neutral_400",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
        button_secondary_background_fill="white",
        button_secondary_background_fill_hover="*primary_50",  # grey looks as if it could not be pressed
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="*neutral_400",
        button_secondary_border_color_dark="*neutral_500",
        button_border_width="1px",
        button_transition="none",
        error_text_color="#b91c1c",
        error_text_color_dark="#fecaca",
        slider_color="*primary_600",
        slider_color_dark="*primary_400",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
    )


MODULE_HEADERS = {
    "content-type": "text/javascript; charset=utf-8",  # whatever this machine takes .js for
    "cache-control": "public, max-age=31536000, immutable",
}


class ModuleFiles(StaticFiles):
    """ES modules, which browsers keep for a year without asking for them again."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(MODULE_HEADERS)
        return response


def add_scripts(server: FastAPI, folders: Mapping[str, Path]) -> dict[str, list[str]]:
    """Serve the ES modules of each folder under its name, so that they can import one another.

    Returns:
        By the name of the folder, the paths of its modules from the root of the server; the first is that of
        `main.js`, which a page loads. They change with any of the modules.
    """
    files = {
        name: sorted(folder.rglob("*.js"), key=lambda file: (file.name != "main.js", file))
        for name, folder in folders.items()
    }
    content = b"".join(file.read_bytes() for each in files.values() for file in each)
    root = f"scripts/{sha256(content).hexdigest()[:12]}"
    for name, folder in folders.items():
        server.mount(f"/{root}/{name}", ModuleFiles(directory=folder))
    return {
        name: [f"{root}/{name}/{file.relative_to(folders[name]).as_posix()}" for file in each]
        for name, each in files.items()
    }


def head(modules: Sequence[str]) -> str:
    """For the head of a page: its style, and its modules, the first of which it loads.

    What that exports is of the promise `kpdemo`: Gradio may call the `js` of an event before the module has
    come. The others come at the same time, and not one after the other.
    """
    links = "".join(f'<link rel="modulepreload" href="{escape(module)}">' for module in modules)
    return (
        f'<meta name="color-scheme" content="light dark"><style>{MEDIA.read_text(encoding="utf-8")}</style>'
        f"{links}<script>window.kpdemo = import({json.dumps(modules[0])});</script>"
    )


def add_cards(server: FastAPI, shelf: ModelShelf) -> None:
    """Serve the card of each model of the shelf as a page."""

    @server.get(f"/{CARDS_AT}{{model:path}}")
    def card(model: str) -> HTMLResponse:
        try:
            return HTMLResponse(page_html(f"{model} – kpdemo", shelf.card(model)))
        except KpdemoError as error:
            return HTMLResponse(page_html("kpdemo", str(error)), status_code=404)


DOCUMENTATION = mark("documentation: README.md and docs/ in the folder of this program")
LICENCE = mark("licence Apache-2.0")


@dataclass(frozen=True)
class FooterHandlers:
    shelf: ModelShelf
    documentation: str = ""
    """Its public address, if it has one."""

    def show_model(self) -> str:
        """The footer, with the device of the default model once it has been loaded."""
        self.shelf.problem(patience=WARM_UP_PATIENCE)
        return footer_html(self.shelf, self.documentation)


def footer_html(shelf: ModelShelf, documentation: str = "") -> str:
    values = {"model": shelf.default, "device": device_name(shelf.device)}
    model = _("model {model} on {device}", **values) if shelf.device else _("model {model}", **values)
    link = (
        f'<a href="{escape(documentation)}">{_("documentation")}</a>' if documentation else _(DOCUMENTATION)
    )
    facts = (escape(f"kpdemo {__version__}"), escape(model), link, _(LICENCE))
    return f'<p class="small">{" · ".join(facts)}</p>'


def build_footer(handlers: FooterHandlers, page: gr.Blocks) -> None:
    footer = gr.HTML(footer_html(handlers.shelf, handlers.documentation), elem_id="page-footer")
    page.load(handlers.show_model, outputs=footer, api_name="show_model", **QUIETLY)


pages_log = logging.getLogger("kpdemo.pages")
NOT_OF_THE_PAGE = mark("What was sent is not what the fields of this page hold: open the page again.")


SAID_BY_SCRIPTS = (
    *(mark("Copied"), mark("Not copied"), mark("Choices"), mark("Choice"), mark("My account")),
    *(mark("{shown} of {all}"), mark("Keyphrases")),
)
"""By those of the public page, some of which are for every page."""
SaysToScripts = Callable[[], Mapping[str, str]]
AnswersIn = Callable[[gr.Request, str], Awaitable[str]]
"""The language of the answer to an event, by who asks and the path of the page."""


def say_to_scripts() -> dict[str, str]:
    """What the scripts say in the language of the request, by the English text."""
    return {text: _(text) for text in SAID_BY_SCRIPTS}


class Pages(gr.Blocks):
    """Pages in several languages, whose log has a line for values that their own fields could not hold.

    Anybody may send such values, as often as they like, and a page that was open during an upgrade does: they
    are not worth a traceback.

    Args:
        speaks: whether events answer in the language of whoever asks, too.
        answers_in: tells their language, where it is not only that of whoever asks.
        say: gives what the scripts say in the language of the request, by the English text.
    """

    build_again: Callable[[], gr.Blocks] | None = None
    """Builds them, or some of them, in the language of the request; without it they are in English."""

    def __init__(
        self,
        *,
        speaks: bool = False,
        answers_in: AnswersIn | None = None,
        say: SaysToScripts = say_to_scripts,
        **options: Any,
    ) -> None:
        self.speaks = speaks
        self._answers_in = answers_in
        self._say = say
        self._english: Any = {}
        self._translated: dict[str, Any] = {}
        self._translating = Lock()
        super().__init__(**options)

    async def process_api(self, block_fn: Any, *given: Any, **options: Any) -> dict[str, Any]:
        request, language = options.get("request"), ENGLISH
        if self.speaks and request:
            language = language_of(request.cookies, request.headers)
        elif self._answers_in and request:
            language = await self._answers_in(request, block_fn.page)
        with use_language(language):
            return await super().process_api(block_fn, *given, **options)

    @property
    def config(self) -> Any:
        """What Gradio tells a browser of the pages, in the language of the request.

        Gradio builds pages once for everybody. In another language they are built once more when they are
        first asked for, and of that copy only the words are kept.
        """
        code = current_language()
        if code == ENGLISH or self.build_again is None:
            return self._english
        with self._translating:
            if code not in self._translated:
                self._translated[code] = in_words_of(self._english, self.build_again, code, self._say)
            return self._translated[code]

    @config.setter
    def config(self, value: Any) -> None:
        self._english = value

    async def preprocess_data(self, block_fn: Any, *given: Any, **options: Any) -> Any:
        try:
            return await super().preprocess_data(block_fn, *given, **options)
        except Exception as error:
            kind = type(error).__qualname__
            pages_log.warning("%s: the values that were sent are refused (%s)", block_fn.api_name, kind)
            sentence = error.message if isinstance(error, gr.Error) else _(NOT_OF_THE_PAGE)
            raise gr.Error(sentence, print_exception=False) from error


class SpeakingMiddleware:
    """Has what is behind it answer in the language of whoever asks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        set_language(language_of(asked.cookies, asked.headers))

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.add_vary_header("Accept-Language, Cookie")  # for caches on the way
            await send(message)

        await self._app(scope, receive, send_marked)


BUILT_AT_MOST = 3
OF_GRADIO = {
    "common.or": mark("or"),
    "upload_text.drop_file": mark("Drop the file here"),
    "upload_text.click_to_upload": mark("Click to choose it"),
}
"""Words of Gradio's own, which go by the browser and not by the reader's choice; in English they stay its."""


def in_words_of(config: Any, build: Callable[[], gr.Blocks], code: str, say: SaysToScripts) -> Any:
    """The configuration of pages with the words of those that `build` makes in a language.

    Args:
        config: of the pages as they are served.
        build: makes pages that have the same components, or some of the pages.
        code: of the language.
        say: gives what the scripts say, by the English text.
    """
    for _again in range(BUILT_AT_MOST):
        with use_language(code):
            words: Any = build().config
        # A component that an event makes meanwhile lands in what Gradio thinks is being built.
        if all(_shape(words, page) == _shape(config, page) for page in words["page"]):
            break
    else:
        raise RuntimeError(f"The pages in {code} have other components than those in English.")
    components: dict[int, Any] = {one["id"]: one for one in words["components"]}
    dependencies: dict[int, Any] = {one["id"]: one for one in words["dependencies"]}
    said: dict[int, Any] = {}
    scripts: dict[int, Any] = {}
    for name, page in words["page"].items():
        own = config["page"][name]
        told = (components[id]["props"] for id in page["components"])
        said.update(zip(own["components"], told, strict=True))
        asked = (dependencies[id]["js"] for id in page["dependencies"])
        scripts.update(zip(own["dependencies"], asked, strict=True))
    with use_language(code):
        speak = json.dumps({"lang": html_language(code), "messages": say()}).replace("<", "\\u003c")
        of_gradio = {key: _(text) for key, text in (SAID | OF_GRADIO).items()}
    return {
        **config,
        "title": words["title"],
        "i18n_translations": dict.fromkeys(LANGUAGES, of_gradio),
        "head": f"<script>window.kpdemoSpeaks = {speak};</script>{config['head']}",
        "components": [{**one, "props": said.get(one["id"], one["props"])} for one in config["components"]],
        "dependencies": [{**one, "js": scripts.get(one["id"], one["js"])} for one in config["dependencies"]],
    }


def _shape(config: Any, page: str) -> list[tuple[str, Any]]:
    """By the types and names of what is on a page."""
    components = {one["id"]: one for one in config["components"]}
    dependencies = {one["id"]: one for one in config["dependencies"]}
    held = config["page"][page]
    return [
        *((components[id]["type"], components[id]["props"].get("elem_id")) for id in held["components"]),
        *(("event", dependencies[id]["api_name"]) for id in held["dependencies"]),
    ]


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
SAID = {"common.complete": mark("Done"), "common.upload": mark("Add files")}
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
    build: Callable[[], Pages],
    path: str,
    *,
    build_again: Callable[[], gr.Blocks] | None = None,
    max_file_size: str,
    scripts: Sequence[str],
    styles: Sequence[Path] = (),
    user_of: Callable[[HTTPConnection], str | None] | None = None,
) -> None:
    """Serve pages under `path`; what is mounted at / comes last.

    Args:
        server: the web application.
        build: makes the pages.
        build_again: makes those of them that there are in several languages; may be `build`.
        path: where they are.
        max_file_size: of an upload, such as "20mb".
        scripts: those of one folder, as `add_scripts` gives them.
        styles: stylesheets besides the common one.
        user_of: the name of who asks, or None, which is refused; without it everybody may come in.
    """
    to_root = "../" * sum(map(bool, path.split("/"))) or "./"  # a proxy may serve all under a path of its own
    with (
        _own_uploads(path) as (own, others),
        warnings.catch_warnings(action="ignore", category=UserWarning),  # on SSR, though it is off
    ):
        pages = build()
        inner = [Middleware(UploadGuard, folder=own, user_of=user_of)]
        if pages.speaks:
            inner.insert(0, Middleware(SpeakingMiddleware))
        pages.max_threads = THREADS  # the queue reads it once
        pages.state_session_capacity = OPEN_PAGES
        pages.queue(default_concurrency_limit=None, api_open=False)
        gr.mount_gradio_app(
            server,
            pages,
            path=path,
            auth_dependency=user_of,
            app_kwargs={**CLOSED_DOCS, "middleware": inner},
            theme=build_theme(),
            css_paths=[STYLE, *styles],
            head=head([f"{to_root}{script}" for script in scripts]),
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            enable_monitoring=False,
            show_error=False,
            max_file_size=max_file_size,
            blocked_paths=others,
            i18n=gr.I18n(en=SAID),
        )
    pages.build_again = build_again
    pages.has_launched = True  # else Gradio reads any file of the machine that a request names as an upload


@contextmanager
def _own_uploads(path: str) -> Iterator[tuple[Path, list[str]]]:
    """Let what is made here keep its uploads in a folder of its own; gives it, and those of pages before.

    An application of Gradio's serves every file of its folder to everybody who may enter: what is uploaded
    behind the sign-in must not lie in the folder of the public page.
    """
    common = get_upload_folder()
    own = Path(common) / (path.strip("/") or "public")
    own.mkdir(parents=True, exist_ok=True)
    os.environ[UPLOADS] = str(own)
    try:
        yield own, [str(folder) for folder in Path(common).iterdir() if folder != own]
    finally:
        os.environ[UPLOADS] = common
