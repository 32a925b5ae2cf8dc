"""`python -m kpdemo index`: making an index of passages by their vectors, and adding to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kpdemo.commands import index_asking, index_recall, mining
from kpdemo.commands.encoding import (
    LANGUAGES,
    PASSAGE_FILES,
    EncoderOption,
    IndexOption,
    LengthOption,
    NormaliseOption,
    PassagePrefixOption,
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
    DeviceOption,
    Problems,
    already_there,
    check_file,
    counted,
    exit_with,
    only_input,
    progress_line,
    quick_count,
    say,
)
from kpdemo.languages.routing import DEFAULT_MODEL
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig, IndexType
from kpdemo.reading.documents import parse_documents, read_numbered
from kpdemo.reading.json_rows import ReportLine

if TYPE_CHECKING:
    from kpdemo.ramkg.building import Numbered
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


PassagesOption = Annotated[
    list[str],
    typer.Option("--input", metavar="FILE", help="Passages: JSON Lines (or - for standard input), CSV, TSV."),
]
commands = typer.Typer(
    help="Find passages close to a text, with their keyphrases.",
    epilog=_EXAMPLES,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file and of those that ask an index, mine pairs and measure recall."""
    index_asking.register(commands)
    mining.register(commands)
    index_recall.register(commands)
    app.add_typer(commands, name="index")


@commands.command(epilog=LANGUAGES)
def build(
    sources: PassagesOption,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the index.")],
    model: EncoderOption = DEFAULT_MODEL,
    index_type: Annotated[
        IndexType,
        typer.Option("--type", help="flat is exact; ivf and hnsw are faster; ivfpq fits in less memory."),
    ] = "flat",
    pooling: PoolingOption = "mean",
    normalise: NormaliseOption = True,
    length: LengthOption = 512,
    query_prefix: QueryPrefixOption = "",
    passage_prefix: PassagePrefixOption = "",
    nlist: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Number of lists of ivf; 0: chosen by the number of passages."),
    ] = 0,
    nprobe: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Number of lists searched; 0: as many as recall 0.95 needs."),
    ] = 0,
    hnsw_m: Annotated[int, typer.Option(min=2, metavar="N", help="Links per vector in hnsw.")] = 32,
    ef_search: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Candidates kept in hnsw; 0: as many as recall 0.95 needs."),
    ] = 0,
    pq_m: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Bytes per vector in ivfpq; 0: an eighth of its width."),
    ] = 0,
    device: DeviceOption = "auto",
    batch_size: BatchSizeOption = 32,
) -> None:
    """Build an index of passages, or continue one that was stopped.

    It is built in FOLDER.building and renamed when it is done. Except for flat, the share of the exact ten
    nearest passages that are found is measured with passages of the index as queries.
    """
    from kpdemo.ramkg.building import build_index, check_free

    config = IndexConfig(index_type, nlist, nprobe, hnsw_m, ef_search, pq_m)
    source = _one_file(sources)
    check_free(output)
    encoder = open_encoder(
        EncoderConfig(model, pooling, normalise, length, query_prefix, passage_prefix),
        device,
        batch_size,
    )
    with _encoding(source) as (passages, problems, progress), _resumable(source):
        index = build_index(
            passages, output, encoder, config, name=_name(source), progress=progress, on_error=problems
        )
    say(f"{counted(len(index), 'passage')} in {output}{_how_good(index.manifest)}.")
    if not index.manifest.with_keyphrases:
        say("None of them has keyphrases: they can be searched, but do not help a model to predict.")
    exit_with(problems)


@commands.command()
def add(
    folder: IndexOption,
    sources: PassagesOption,
    model: SameEncoderOption = None,
    device: DeviceOption = "auto",
    batch_size: BatchSizeOption = 32,
) -> None:
    """Add passages to an index: all of them, or none if it is stopped.

    Passages that are already in it are left as they are.
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


def _one_file(sources: Sequence[str]) -> str:
    """What --input names: one file of passages that is there, or standard input."""
    only_input(sources)
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
        say("Stopped." if source == STDIN else "Stopped; run the same command to continue.")
        raise typer.Exit(INTERRUPTED) from None


def _passages(source: str, on_error: ReportLine) -> Numbered:
    if source == STDIN:
        return parse_documents(sys.stdin.buffer, name=_name(source), on_error=on_error)
    return read_numbered(source, on_error=on_error)


def _how_good(manifest: Manifest) -> str:
    """The recall of an index that is not exact, as the end of a sentence."""
    if manifest.recall is None:
        return ""
    return f", recall of the exact ten nearest {manifest.recall:.3f} on {manifest.recall_queries:,} passages"


def _name(source: str) -> str:
    return "standard input" if source == STDIN else source
