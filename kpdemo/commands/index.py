"""`python -m kpdemo index`: finding passages, in an index of their vectors."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kpdemo.commands import index_recall, mining
from kpdemo.commands.encoding import (
    LANGUAGES,
    PASSAGE_FILES,
    EncoderOption,
    IndexOption,
    LengthOption,
    NormaliseOption,
    PassagePrefixOption,
    PoolingName,
    PoolingOption,
    QueryPrefixOption,
    SameEncoderOption,
    encoder_of,
    open_encoder,
    open_index,
)
from kpdemo.commands.options import (
    INTERRUPTED,
    PROGRAM,
    STDIN,
    BatchSizeOption,
    Device,
    DeviceOption,
    JsonOption,
    Problems,
    already_there,
    check_file,
    counted,
    exit_with,
    only_one,
    print_json,
    progress_line,
    quick_count,
    say,
)
from kpdemo.documents import parse_documents, read_numbered
from kpdemo.errors import InputError, PassageIndexError
from kpdemo.files import read_text
from kpdemo.json_rows import ReportLine
from kpdemo.passages import SCORE_DIGITS, chance_note
from kpdemo.predictors import DEFAULT_MODEL
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.ramkg.building import Numbered
    from kpdemo.ramkg.index import Hit
    from kpdemo.ramkg.manifest import Manifest

_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} index build --input passages.jsonl --output passages.index --model multilingual
  {PROGRAM} index build --input passages.jsonl --output english.index --type hnsw
  {PROGRAM} index search --index english.index "kernels for graphs" --top-k 3
  {PROGRAM} index evaluate --index passages.index --queries queries.jsonl
  {PROGRAM} index mine --source fr.jsonl --target en.jsonl --output pairs.tsv \\
      --model sentence-transformers/LaBSE --pooling pooler

\b
A line of passages.jsonl:
  {{"id": "1", "title": "…", "text": "…", "keyphrases": ["…", …], "language": "en"}}
A line of queries.jsonl, with the id of the passage that belongs to it:
  {{"id": "1", "text": "…", "passage": "1"}}
"""


class IndexTypeName(StrEnum):
    FLAT = "flat"
    IVF = "ivf"
    HNSW = "hnsw"
    IVFPQ = "ivfpq"


PassagesOption = Annotated[
    list[str],
    typer.Option("--input", metavar="FILE", help="Passages: JSON Lines (or - for standard input), CSV, TSV."),
]
commands = typer.Typer(
    help="Find passages that are near to a text, with their keyphrases.",
    epilog=_EXAMPLES,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file, of `mining` and of `index_recall`."""
    mining.register(commands)
    index_recall.register(commands)
    app.add_typer(commands, name="index")


@commands.command(epilog=LANGUAGES)
def build(
    sources: PassagesOption,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the index goes.")],
    model: EncoderOption = DEFAULT_MODEL,
    index_type: Annotated[
        IndexTypeName,
        typer.Option("--type", help="flat is exact; ivf and hnsw are faster; ivfpq fits in less memory."),
    ] = IndexTypeName.FLAT,
    pooling: PoolingOption = PoolingName.MEAN,
    normalise: NormaliseOption = True,
    length: LengthOption = 512,
    query_prefix: QueryPrefixOption = "",
    passage_prefix: PassagePrefixOption = "",
    nlist: Annotated[int, typer.Option(min=0, metavar="N", help="Lists of ivf; 0 chooses.")] = 0,
    nprobe: Annotated[
        int, typer.Option(min=0, metavar="N", help="Lists looked through; 0 as many as recall 0.95 takes.")
    ] = 0,
    hnsw_m: Annotated[int, typer.Option(min=2, metavar="N", help="Links of a vector in hnsw.")] = 32,
    ef_search: Annotated[
        int, typer.Option(min=0, metavar="N", help="Candidates kept in hnsw; 0 as many as recall 0.95 takes.")
    ] = 0,
    pq_m: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Bytes of a vector in ivfpq; 0: an eighth of its width."),
    ] = 0,
    device: DeviceOption = Device.AUTO,
    batch_size: BatchSizeOption = 32,
) -> None:
    """Make an index of passages, or go on with one after a stop.

    It is built in FOLDER.building and renamed when it is done. Except for flat, the share of the exact ten
    nearest passages that are found is measured with passages of the index as queries.
    """
    from kpdemo.ramkg.building import build_index, check_free
    from kpdemo.ramkg.settings import EncoderConfig, IndexConfig

    config = IndexConfig(index_type.value, nlist, nprobe, hnsw_m, ef_search, pq_m)
    source = _one_file(sources)
    check_free(output)
    encoder = open_encoder(
        EncoderConfig(model, pooling.value, normalise, length, query_prefix, passage_prefix),
        device,
        batch_size,
    )
    with _encoding(source) as (passages, problems, progress), _resumable(source):
        index = build_index(
            passages, output, encoder, config, name=_name(source), progress=progress, on_error=problems
        )
    say(f"{counted(len(index), 'passage')} in {output}{_how_good(index.manifest)}.")
    if not index.manifest.with_keyphrases:
        say("None of them has keyphrases: they can be searched, but do not help a model that predicts.")
    exit_with(problems)


@commands.command()
def add(
    folder: IndexOption,
    sources: PassagesOption,
    model: SameEncoderOption = None,
    device: DeviceOption = Device.AUTO,
    batch_size: BatchSizeOption = 32,
) -> None:
    """Add passages to an index: all of them, or none when it is stopped.

    Those that are in it already are left as they are.
    """
    from kpdemo.ramkg.building import add_passages

    source = _one_file(sources)
    encoder = encoder_of(open_index(folder), model, device, batch_size)
    with _encoding(source) as (passages, problems, progress):
        added = add_passages(
            passages, folder, encoder, name=_name(source), progress=progress, on_error=problems
        )
    say(f"{counted(added.done, 'passage')} added to {folder}{already_there(added.skipped)}.")
    exit_with(problems)


@commands.command()
def search(
    query: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to look for; - for standard input.")],
    folder: IndexOption,
    top_k: Annotated[int, typer.Option(min=1, metavar="K", help="How many passages.")] = 5,
    model: SameEncoderOption = None,
    device: DeviceOption = Device.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that are nearest to a text, best first; a score is a dot product of vectors."""
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


@commands.command()
def info(
    folder: IndexOption,
    recall: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Measure recall of the exact ten nearest with N passages."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read all files and compare their hashes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what an index holds, and how it was made."""
    index = open_index(folder)
    damaged = index.damaged_files() if check else []
    if damaged:
        names = ", ".join(damaged)
        raise PassageIndexError(f"The index {folder} is damaged ({names} differs): build it anew.")
    measured = (
        {} if recall is None else {"recall": index.recall(recall), "recall_queries": min(recall, len(index))}
    )
    described = _described(index.manifest) | measured | ({"checked": True} if check else {})
    if as_json:
        print_json(described)
    else:
        from kpdemo.terminal import show_properties

        show_properties(described)


def _one_file(sources: Sequence[str]) -> str:
    """What --input names: one file of passages that is there, or standard input."""
    only_one(sources, "--input")
    if sources[0] != STDIN:
        check_file(sources[0], PASSAGE_FILES)
    return sources[0]


@contextmanager
def _encoding(source: str) -> Iterator[tuple[Numbered, Problems, Callable[[int], None]]]:
    """The passages of a file, what counts those that cannot be used, and what shows how many are done."""
    with progress_line("Encoding", None if source == STDIN else quick_count(Path(source))) as progress:
        problems = Problems(progress)
        yield _passages(source, problems), problems, progress.show


@contextmanager
def _resumable(source: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("Stopped." if source == STDIN else "Stopped; run the same command to go on.")
        raise typer.Exit(INTERRUPTED) from None


def _passages(source: str, on_error: ReportLine) -> Numbered:
    if source == STDIN:
        return parse_documents(sys.stdin.buffer, name=_name(source), on_error=on_error)
    return read_numbered(source, on_error=on_error)


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


def _how_good(manifest: Manifest) -> str:
    """The recall of an index that is not exact, as the end of a sentence."""
    if manifest.recall is None:
        return ""
    return f", recall of the exact ten nearest {manifest.recall:.3f} on {manifest.recall_queries:,} passages"


def _name(source: str) -> str:
    return "standard input" if source == STDIN else source
