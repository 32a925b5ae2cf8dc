"""The settings of `python app.py`, and what it starts before it imports Gradio."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from kpdemo.errors import KpdemoError, ModelLoadError, PassageIndexError
from kpdemo.predictors import load_predictor, shipped_models, takes_index
from kpdemo.routing import DEFAULT_MODEL
from kpdemo.types import Predictor
from kpdemo.worker import ModelWorker

LAST_PORT = 65_535
IDLE_SECONDS = 120.0
"""After so long without a long text or a file their process gives its memory back, 1 GB and more."""


@dataclass(frozen=True)
class Settings:
    host: str
    port: int
    model: str | None
    device: str
    index: str | None
    """None leaves the choice to the model."""
    database_url: str | None
    """None leaves the choice to annotation."""
    wordnet: Path | None
    """The folder of WordNet's files; None is where the system has them."""
    in_space: bool
    address: str = ""
    """Where visitors find the pages, for links; empty for host and port."""
    documentation: str = ""
    """Where visitors find it; empty leaves them the folder of the program."""
    log_format: str = "plain"
    log_level: str = "warning"
    metrics: tuple[IPv4Network | IPv6Network, ...] | None = None
    """Who may read /metrics; None where there are none."""
    metrics_token: str = ""


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong in one sentence, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message}\n")


VARIABLES = {
    "KPDEMO_METRICS_TOKEN": "who sends it as `Authorization: Bearer …` may read /metrics too",
    "FORWARDED_ALLOW_IPS": "addresses of the proxies whose X-Forwarded-For and -Proto are believed; default: "
    "this machine, in a Space its inner networks",
    "TMPDIR": "the folder for temporary files, uploads among them; default: /tmp",
}
"""Variables of the environment that are no options; those that are defaults are in the help of the option."""


def read_settings(arguments: Sequence[str] | None, environment: Mapping[str, str]) -> Settings:
    """Command-line options; in a Hugging Face Space the default is to listen on every address."""
    in_space = "SPACE_ID" in environment
    parser = _Parser(prog="app.py", description="Serve the keyphrase page and, under /annotate, annotation.")
    parser.add_argument("--host", default="0.0.0.0" if in_space else "127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=port_number, default=7860, help="default: %(default)s")
    parser.add_argument(
        "--model", type=known_model, help="the model chosen at first: a name or a checkpoint folder"
    )
    parser.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda"), help="default: %(default)s"
    )
    parser.add_argument(
        "--index",
        type=index_folder,
        metavar="FOLDER",
        help="passages for models that retrieve; default: those that ship",
    )
    parser.add_argument(
        "--database-url",
        metavar="URL",
        default=environment.get("KPDEMO_DATABASE_URL") or None,
        help="accounts, projects and ratings: sqlite:///PATH or postgresql://USER@HOST/NAME; "
        "default: the variable KPDEMO_DATABASE_URL, else sqlite:///data/kpdemo.db",
    )
    parser.add_argument(
        "--wordnet",
        metavar="DIR",
        type=Path,
        default=environment.get("KPDEMO_WORDNET") or None,
        help="the folder of WordNet 3.0 for word senses; default: the variable KPDEMO_WORDNET, "
        "else /usr/share/wordnet",
    )
    parser.add_argument(
        "--address",
        metavar="URL",
        type=web_address,
        default=environment.get("KPDEMO_ADDRESS") or "",
        help="address of the pages, for links that are printed; default: the variable KPDEMO_ADDRESS, else "
        "host and port",
    )
    parser.add_argument(
        "--documentation",
        metavar="URL",
        type=web_address,
        default=environment.get("KPDEMO_DOCUMENTATION") or _of_space(environment),
        help="address of the link at the foot of the page; default: the variable KPDEMO_DOCUMENTATION",
    )
    parser.add_argument(
        "--log-format",
        default="plain",
        choices=("plain", "json"),
        help="of what is written to stderr, a line each; default: %(default)s",
    )
    parser.add_argument(
        "--log-level",
        default="warning",
        choices=("info", "warning", "error"),
        help="info has a line for each request; default: %(default)s",
    )
    parser.add_argument(
        "--metrics",
        metavar="NETWORKS",
        type=networks,
        help="serve /metrics for Prometheus to these addresses, such as 127.0.0.1,10.0.0.0/8, and to who "
        "sends the token in the variable KPDEMO_METRICS_TOKEN; default: to nobody",
    )
    given = vars(parser.parse_args(arguments))
    token = environment.get("KPDEMO_METRICS_TOKEN", "")
    return Settings(**given, in_space=in_space, metrics_token=token)


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks, between commas."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(","))
    except ValueError as error:
        reason = f"{error}: give addresses and networks such as 127.0.0.1,10.0.0.0/8"
        raise argparse.ArgumentTypeError(reason) from None


def _of_space(environment: Mapping[str, str]) -> str:
    """The README of the Space, if this is one."""
    space = environment.get("SPACE_ID")
    return f"https://huggingface.co/spaces/{space}/blob/main/README.md" if space else ""


def web_address(text: str) -> str:
    """An address that a browser opens; argparse asks for defaults too, of which the empty one is none."""
    if text and not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a web address: start it with https://")
    return text


def known_model(text: str) -> str:
    """A model's name or folder: a wrong one is reported at the start, not to the first reader."""
    from kpdemo.predictors import load_predictor  # its weights are read with the first prediction

    try:
        load_predictor(text)
    except ModelLoadError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def index_folder(text: str) -> str:
    """A folder with a passage index: a wrong one is reported at the start, not to the first reader."""
    from kpdemo.ramkg.passage_index import read_manifest  # here, because only few ask for it

    try:
        read_manifest(Path(text))
    except PassageIndexError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def port_number(text: str) -> int:
    """A port as the command line takes it; 0 is any that is free."""
    if not (text.isascii() and text.isdigit() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 0 to {LAST_PORT}")
    return int(text)


PAIRS_AT_ONCE = 64


def open_model(name: str, *, device: str, model: str | None, index: str | None) -> Predictor:
    """A model by name, with the passages of `index_of`; raises as `load_predictor`."""
    return load_predictor(name, device=device, index=index_of(name, model=model, index=index) or None)


def index_of(name: str, *, model: str | None, index: str | None) -> str:
    """The index that a model reads; empty for its own, or none.

    Args:
        model: what was given as --model. A folder whose model retrieves is the only one to read the index,
            because the retriever of those that ship would refuse it.
        index: what was given as --index.
    """
    if not index or not takes_index(name):
        return ""
    has_owner = model is not None and model not in shipped_models() and takes_index(model)
    return "" if has_owner and name != model else index


@dataclass(frozen=True, slots=True)
class Workers:
    """The models twice, each time in a process of its own: a short text does not wait for a long one.

    The process for long texts and files starts with the first of them.
    """

    short: ModelWorker
    long: ModelWorker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.short.close()
        self.long.close()


def start_models(settings: Settings) -> Workers:
    """Start the process for short texts, which begins with the model that is chosen at first."""
    load = partial(open_model, device=settings.device, model=settings.model, index=settings.index)
    short = ModelWorker(load, first=settings.model or DEFAULT_MODEL)
    return Workers(short, ModelWorker(load, may_end=True, idle=IDLE_SECONDS))


def check_device(settings: Settings, models: Workers) -> None:
    """Raises:
    ModelLoadError: a GPU is asked for and missing; otherwise only the first reader would learn of it.
    """
    if settings.device == "cuda":
        models.short.open(settings.model or DEFAULT_MODEL)  # it is on its way; only its process knows GPUs


def text_similarities(
    models: ModelWorker, failure: type[Exception]
) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """How alike the two texts of each pair are by the default model, 0 to 1; predictions come in between.

    Args:
        models: where the model is.
        failure: what is raised in place of our errors, with their sentence.
    """

    def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        found: list[float] = []
        try:
            for first in range(0, len(pairs), PAIRS_AT_ONCE):
                part = list(pairs[first : first + PAIRS_AT_ONCE])
                found += models.call(DEFAULT_MODEL, "similarities", part)
        except KpdemoError as error:
            raise failure(str(error)) from error
        return found

    return similarities
