"""The options of `score` and `leaderboard add` that say which systems are scored, and these systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from annotation.commands.options import HandedIn
from annotation.files.gold_pairs import GoldPair, Key
from annotation.senses.dictionary import Dictionary
from annotation.senses.network import WORD_TO_SENSE
from annotation.systems.baselines import BASELINES, EMBEDDING, Similarities, UnknownWords
from annotation.systems.report import System
from annotation.systems.scored import (
    BuiltInSystem,
    ScoreFile,
    build_system,
    check_apart,
    left_out_text,
    needs_senses,
    open_senses,
)
from annotation.terminal import show_note
from db.command import CallError

Request: TypeAlias = ScoreFile | BuiltInSystem
GOLD_HELP = "Gold grades: files or folders; repeatable."
SystemOption = Annotated[
    list[str],
    typer.Option(
        metavar="SYSTEM",
        help=f"[NAME=]FILE or folder of scores, or one of {', '.join((*BASELINES, EMBEDDING))} and "
        f"{EMBEDDING}:MODEL (of the Hub, or a folder); repeatable.",
    ),
]
CalibrateOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", exists=True, help="Gold grades of other pairs, to calibrate each system's scores on."
    ),
]
TrainingScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        help="Scores of the pairs of --calibrate-on: one for each file of --system, in that order.",
    ),
]


def named_systems(
    context: typer.Context,
    systems: Sequence[str],
    training: Sequence[Path],
    *,
    calibrates: bool,
    unknown_words: UnknownWords = UnknownWords.ZERO,
) -> list[Request]:
    """The systems that --system names.

    Args:
        training: the files of --training-scores.
        calibrates: whether there is --calibrate-on.

    Raises:
        CallError: a file is not there, two systems have one name, or `training` fits no file.
    """
    handed: HandedIn = context.obj
    requests: list[Request] = []
    waiting = list(training)
    for text in systems:
        name, what = _named(text, handed)
        if isinstance(what, Path):
            requests.append(ScoreFile(name, what, waiting.pop(0) if waiting else None))
        else:
            requests.append(BuiltInSystem(name, *what, unknown_words))
    names = [request.name for request in requests]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CallError(f"Two systems are called {twice}: leave one out, or name its file as in other=FILE.")
    if waiting or (training and not calibrates):
        raise CallError(
            f"{(waiting or training)[0]}: --training-scores are for --calibrate-on, one for each file of "
            "--system; leave it out."
        )
    return requests


@dataclass(frozen=True, slots=True)
class AskedSenses:
    """Where WordNet is, and whether the call asks for it: then senses are not left out without it."""

    folder: Path | None
    is_asked_for: bool


def senses_of(context: typer.Context, wordnet: Path | None) -> AskedSenses:
    """What --wordnet says; a folder that the environment names, as for all calls, may have none."""
    source = context.get_parameter_source("wordnet")
    return AskedSenses(wordnet, source is not None and source.name == "COMMANDLINE")


def scored(
    requests: Sequence[Request],
    pairs: Sequence[GoldPair],
    training: Sequence[GoldPair],
    ungraded: Collection[Key],
    asked: AskedSenses,
) -> list[System]:
    """The systems with their scores of the gold pairs.

    Args:
        training: what the scores are calibrated on, if anything.
        ungraded: pairs without a gold grade.
        asked: where WordNet is.

    Raises:
        ScoreFileError: a pair is in both sets, or scores or training pairs cannot be used.
        WordNetError: WordNet was asked for or is needed for all pairs, and is not there.
    """
    check_apart(pairs, training)
    senses, reason = None, ""
    if needs_senses(requests, pairs):
        is_optional = not asked.is_asked_for and any(pair.type != WORD_TO_SENSE for pair in pairs)
        senses, reason = open_senses(Dictionary(asked.folder).open, is_optional=is_optional)
    return [build_system(request, pairs, training, senses, reason, ungraded) for request in requests]


def show_remarks(changed: Sequence[str], systems: Sequence[System]) -> list[str]:
    """Sentences on gold files that are not as they were exported and on scores that are left out.

    They are told on standard error.
    """
    remarks = [f"{one.name}: {left_out_text(one.left_out)}" for one in systems if one.left_out]
    if changed:
        named = ", ".join(changed)
        remarks.insert(
            0,
            f"{named}: changed after the export (manifest.json has another SHA-256), so its single ratings "
            "are not used; if the change was not intended, export the gold set again.",
        )
    for remark in remarks:
        show_note(remark)
    return remarks


RunHere: TypeAlias = tuple[str, Similarities]
"""What a system that runs here is called, and what it asks."""


def _named(text: str, handed: HandedIn) -> tuple[str, RunHere | Path]:
    """A name, and a system that runs here or a file that is there: of "ours=run.tsv", "run.tsv" or "lcs"."""
    path, name, rest = Path(text), "", text
    if not path.exists() and "=" in text and _run_here(text, handed) is None:
        name, _, rest = text.partition("=")
        if not rest.strip():
            raise CallError(f"{text}: no file is named after the equals sign; give one.")
        path = Path(rest)
    if built_in := _run_here(rest, handed):
        plain = rest.rpartition(":")[2].strip().rstrip("/").rpartition("/")[2]  # of the encoder
        return name.strip() or plain, built_in
    if not path.exists():
        here = [*BASELINES, *([EMBEDDING] if handed.embedding else [])]
        here += [f"{EMBEDDING}:MODEL"] if handed.encoder else []
        raise CallError(
            f"{text!r}: no such file or folder; name one, or a baseline ({', '.join(here)}) with --system."
        )
    plain = path.resolve().name if path.is_dir() else path.name.partition(".")[0]
    return name.strip() or plain or str(path), path


def _run_here(text: str, handed: HandedIn) -> RunHere | None:
    if text in BASELINES:
        return text, BASELINES[text]
    if text == EMBEDDING and handed.embedding is not None:
        return EMBEDDING, handed.embedding
    kind, _, model = text.partition(":")
    if kind == EMBEDDING and model.strip() and handed.encoder is not None and not Path(text).exists():
        return EMBEDDING, handed.encoder(model.strip())
    return None
