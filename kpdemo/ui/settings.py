"""The settings of `python app.py`, from its options and the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from kpdemo.errors import ModelLoadError, PassageIndexError

LAST_PORT = 65_535


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
    documentation: str = ""
    """Where visitors find it; empty leaves them the folder of the program."""


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong in one sentence, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message}\n")


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
        "--documentation",
        metavar="URL",
        type=web_address,
        default=environment.get("KPDEMO_DOCUMENTATION") or _of_space(environment),
        help="address of the link at the foot of the page; default: the variable KPDEMO_DOCUMENTATION",
    )
    return Settings(**vars(parser.parse_args(arguments)), in_space=in_space)


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
    from kpdemo.ramkg.manifest import read_manifest  # here, because only few ask for it

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
