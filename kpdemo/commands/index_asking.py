"""`python -m kpdemo index search` and `info`: what is near to a text, and what an index holds."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kpdemo.commands.encoding import IndexOption, SameEncoderOption, encoder_of, open_index
from kpdemo.commands.options import STDIN, DeviceOption, JsonOption, print_json
from kpdemo.errors import InputError, PassageIndexError
from kpdemo.passages import chance_note
from kpdemo.reading.files import read_text
from kpdemo.scores import SCORE_DIGITS
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.ramkg.index import Hit
    from kpdemo.ramkg.manifest import Manifest


def register(commands: typer.Typer) -> None:
    """Add the commands of this file."""
    commands.command()(search)
    commands.command()(info)


def search(
    query: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to look for; - for standard input.")],
    folder: IndexOption,
    top_k: Annotated[int, typer.Option(min=1, metavar="K", help="How many passages.")] = 5,
    model: SameEncoderOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Find the passages nearest to a text, best first; scores are dot products of vectors."""
    from kpdemo.ramkg.predictor import known_chance

    text = read_text(sys.stdin.buffer, name="standard input") if query == STDIN else query
    if not text.strip():
        raise InputError("The query is empty: give some words.")
    index = open_index(folder)
    encoder = encoder_of(index, model, device, 1)
    started = time.perf_counter()
    [hits] = index.retrieve(encoder, [Document(text)], top_k)
    seconds = time.perf_counter() - started
    chance = known_chance(encoder, len(index))
    if as_json:
        origin = {"index": str(folder), "encoder": encoder.config.model, "device": encoder.device}
        rows = [_hit_row(rank, hit, chance) for rank, hit in enumerate(hits, start=1)]
        print_json({"query": text, "hits": rows, **origin, "seconds": round(seconds, 4)})
        return
    from kpdemo.terminal import show_passages

    footer = f"{encoder.config.model} on {encoder.device}, {len(index):,} passages, {seconds:.3f} s"
    note = chance_note(chance, (hit.score for hit in hits))
    show_passages([(hit.score, hit.passage) for hit in hits], note, footer)


def info(
    folder: IndexOption,
    recall: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Measure recall of the exact ten nearest with N passages."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read all files and compare their hashes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what an index contains, and how it was made."""
    index = open_index(folder)
    damaged = index.damaged_files() if check else []
    if damaged:
        names = ", ".join(damaged)
        raise PassageIndexError(f"The index {folder} is damaged ({names} differs): rebuild it.")
    measured = (
        {} if recall is None else {"recall": index.recall(recall), "recall_queries": min(recall, len(index))}
    )
    described = _described(index.manifest) | measured | ({"checked": True} if check else {})
    if as_json:
        print_json(described)
    else:
        from kpdemo.terminal import show_properties

        show_properties(described)


def _hit_row(rank: int, hit: Hit, chance: float | None) -> dict[str, Any]:
    passage = hit.passage
    return {
        "rank": rank,
        "id": passage.id,
        "score": round(hit.score, SCORE_DIGITS),
        "related": None if chance is None else hit.score > chance,
        "title": passage.title,
        "text": passage.body,
        "keyphrases": list(passage.keyphrases),
        "language": passage.language,
    }


def _described(manifest: Manifest) -> dict[str, Any]:
    """What an index is, for people and for JSON."""
    described: dict[str, Any] = {
        "passages": manifest.passages,
        "with_keyphrases": manifest.with_keyphrases,
        "languages": dict(manifest.languages),
        "type": manifest.index.type,
        "width": manifest.width,
        "encoder": asdict(manifest.encoder),
        "identity": manifest.identity,
    }
    if manifest.index.type == "flat":
        return described
    knob = "ef_search" if manifest.index.type == "hnsw" else "nprobe"
    measured = {"recall": manifest.recall, "recall_queries": manifest.recall_queries}
    return described | {knob: manifest.effort} | measured
