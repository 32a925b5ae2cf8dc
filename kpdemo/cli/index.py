"""`python -m kpdemo index`: build, add, search, info, evaluate, mine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kpdemo.cli.options import (
    PROGRAM,
    STDIN,
    STDOUT,
    BatchSizeOption,
    Device,
    DeviceOption,
    Engine,
    GpusOption,
    JsonOption,
    Problems,
    WorkersOption,
    already_there,
    check_input,
    exit_with,
    only_input,
    print_json,
    progress_line,
    quick_count,
    say,
)
from kpdemo.command import INTERRUPTED, CallError
from kpdemo.errors import InputError, PassageIndexError
from kpdemo.io.documents import document_from_row, parse_documents, read_numbered
from kpdemo.io.files import LINE_SUFFIXES, TABLE_SUFFIXES, read_text, replace_file
from kpdemo.io.tables import LineError, ReportLine, line_name, read_rows
from kpdemo.passages import chance_note
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig, IndexType, Pooling
from kpdemo.routing import DEFAULT_MODEL
from kpdemo.text import number_of
from kpdemo.types import SCORE_DIGITS, Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kpdemo.ramkg.bitext import MinedPair
    from kpdemo.ramkg.index_building import Encode, Numbered
    from kpdemo.ramkg.passage_index import Hit, Manifest, PassageIndex
    from kpdemo.ramkg.retriever import Encoder


Item = TypeVar("Item")

PASSAGE_FILES = (*LINE_SUFFIXES, *TABLE_SUFFIXES)
LANGUAGES = """
The default encoder reads English. If queries and passages are in different languages, give an encoder trained
for both, such as sentence-transformers/LaBSE with --pooling pooler, or intfloat/multilingual-e5-small with
the prefixes "query: " and "passage: ".
"""


EncoderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The encoder: `multilingual` or a model folder (that model can then predict with the index), "
        "OWNER/NAME on the Hub, or `default` (English, for search only).",
    ),
]
PoolingOption = Annotated[
    Pooling,
    typer.Option(
        help="How token vectors are pooled: their mean, the first one, or the first one through "
        "the encoder's pooler."
    ),
]
NormaliseOption = Annotated[
    bool, typer.Option(help="Scale vectors to length 1, so that the dot product is the cosine.")
]
LengthOption = Annotated[
    int,
    typer.Option(min=3, metavar="N", help="The most tokens read of a text."),
]
QueryPrefixOption = Annotated[str, typer.Option(metavar="TEXT", help="Text put before each query.")]
PassagePrefixOption = Annotated[str, typer.Option(metavar="TEXT", help="Text put before each passage.")]


EngineOption = Annotated[
    Engine,
    typer.Option(
        help="Where passages are encoded: in this process, or by Ray's workers, here or on the cluster of "
        "RAY_ADDRESS; the index is the same."
    ),
]
IndexOption = Annotated[Path, typer.Option("--index", metavar="FOLDER", help="The index.")]
SameEncoderOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where the index's own encoder is now, if it was moved."),
]


def open_encoder(config: EncoderConfig, device: Device, batch_size: int) -> Encoder:
    """See `kpdemo.ramkg.retriever.load_encoder`."""
    from kpdemo.ramkg.retriever import load_encoder

    return load_encoder(config, device=device, batch_size=batch_size)


def open_index(folder: Path) -> PassageIndex:
    """See `PassageIndex.open`."""
    from kpdemo.ramkg.passage_index import PassageIndex

    return PassageIndex.open(folder)


def encoder_of(index: PassageIndex, model: str | None, device: Device, batch_size: int) -> Encoder:
    """The encoder that the index was made with."""
    config = index.manifest.encoder
    encoder = open_encoder(config if model is None else replace(config, model=model), device, batch_size)
    index.check_encoder(encoder, otherwise="" if model is None else ", or leave --model out")
    return encoder


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in their order, `size` at a time."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def register_search(commands: typer.Typer) -> None:
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

    text = read_text(sys.stdin.buffer, name="standard input")[0] if query == STDIN else query
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
    from kpdemo.cli.tables import show_passages

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
        from kpdemo.cli.tables import show_properties

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


def register_evaluate(commands: typer.Typer) -> None:
    """Add the command of this file."""
    commands.command()(evaluate)


def evaluate(
    folder: IndexOption,
    queries: Annotated[
        str, typer.Option(metavar="FILE", help='JSON Lines of texts, each with the id of its "passage".')
    ],
    model: SameEncoderOption = None,
    device: DeviceOption = "auto",
    batch_size: BatchSizeOption = 32,
    as_json: JsonOption = False,
) -> None:
    """Measure how often a query's passage is among the first 1, 2, 5, 10 and 20 found (RAMKG, Table 4)."""
    from kpdemo.evaluation.metrics import CUT_OFFS, rank_of, recall_at

    path = check_input(queries, LINE_SUFFIXES)
    index = open_index(folder)
    encoder = encoder_of(index, model, device, batch_size)
    ranks = []
    started = time.perf_counter()
    with progress_line("Searching", quick_count(path)) as progress:
        problems = Problems(progress)
        for batch in batches(_queries(path, index, problems), batch_size):
            found = index.retrieve(encoder, [query for query, _ in batch], max(CUT_OFFS))
            for (_, wanted), hits in zip(batch, found, strict=True):
                ranks.append(rank_of(wanted, [hit.passage.id for hit in hits]))
            progress.show(len(ranks))
    if not ranks:
        raise InputError(f"{queries}: there is no query in it; give a file of queries.")
    figures = recall_at(ranks)
    origin = {"index": str(folder), "encoder": encoder.config.model, "device": encoder.device}
    report = {
        "queries": len(ranks),
        "passages": len(index),
        "recall": {str(k): round(value, 4) for k, value in figures.items()},
        **origin,
        "seconds": round(time.perf_counter() - started, 3),
    }
    if as_json:
        print_json(report)
    else:
        from kpdemo.cli.tables import show_properties

        shown = {f"Recall@{k}": f"{value:.3f}" for k, value in figures.items()}
        show_properties({"queries": len(ranks), "passages": len(index)} | shown)
    exit_with(problems)


def _queries(path: Path, index: PassageIndex, on_error: ReportLine) -> Iterator[tuple[Document, str]]:
    """Each query with the id of its passage."""
    for line, row in read_rows(path, on_error=on_error):
        where = line_name(str(path), line)
        try:
            query, wanted = document_from_row(row, where=where, default_id=str(line)), row.get("passage")
            if not query.text.strip():
                raise InputError(f"{where}: the query is empty; add a text or empty the line.")
            if not isinstance(wanted, str) and type(wanted) is not int:
                raise InputError(f'{where}: no field "passage" with the id of a passage; add it.')
        except InputError as error:
            on_error(LineError(line, str(error)))
            continue
        if index.store.number_of(str(wanted)) is None:
            on_error(LineError(line, f'{where}: no passage "{wanted}" in the index; counted as not found.'))
        yield query, str(wanted)


_ENCODED = 256  # passages between two signs of progress
_HEADER = ("margin", "source_id", "target_id", "source", "target")


def register_mine(commands: typer.Typer) -> None:
    """Add the command of this file."""
    commands.command(epilog=LANGUAGES)(mine)


def mine(
    source: Annotated[str, typer.Option(metavar="FILE", help="Passages of one language.")],
    target: Annotated[str, typer.Option(metavar="FILE", help="Passages of the other.")],
    output: Annotated[str, typer.Option(metavar="FILE", help="The pairs, as TSV; - for standard output.")],
    model: EncoderOption = DEFAULT_MODEL,
    threshold: Annotated[
        float,
        typer.Option(metavar="MARGIN", help="The lowest margin of a mined pair; RAMKG uses 1.03 with LaBSE."),
    ] = 1.03,
    neighbours: Annotated[
        int,
        typer.Option(min=1, metavar="K", help="Nearest neighbours that the margin compares a cosine with."),
    ] = 4,
    pooling: PoolingOption = "mean",
    length: LengthOption = 512,
    passage_prefix: PassagePrefixOption = "",
    device: DeviceOption = "auto",
    batch_size: BatchSizeOption = 32,
) -> None:
    """Find pairs of passages that say the same, each passage in at most one pair (Artetxe and Schwenk 2019).

    The margin is the cosine of a pair over the mean of its passages' cosines with their nearest neighbours.
    Up to 100,000 passages per side are compared exhaustively, more with inverted lists.
    """
    from kpdemo.ramkg.bitext import mine_pairs

    for name in (source, target):
        check_input(name, PASSAGE_FILES)
    if output != STDOUT and Path(output).is_dir():
        raise CallError(f"{output}: a folder, not a file; name a file in it.")
    config = EncoderConfig(model, pooling, length=length, passage_prefix=passage_prefix)
    encoder = open_encoder(config, device, batch_size)
    with progress_line("Encoding", _total(source, target)) as progress:
        problems = Problems(progress)
        sides = [list(_texts(name, problems)) for name in (source, target)]
        vectors = _vectors(encoder, sides, progress.show)
    pairs = mine_pairs(*vectors, threshold=threshold, neighbours=neighbours)
    _write(output, _table(pairs, *sides))
    say(f"{number_of(len(pairs), 'pair')} of {len(sides[0]):,} and {len(sides[1]):,} passages.")
    exit_with(problems)


def _table(pairs: Sequence[MinedPair], source: Sequence[Document], target: Sequence[Document]) -> str:
    """The pairs as lines of cells between tabs."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for pair in pairs:
        left, right = source[pair.source], target[pair.target]
        rows.append((f"{pair.margin:.4f}", left.id, right.id, left.text, right.text))
    return "".join("\t".join(map(_cell, row)) + "\n" for row in rows)


def _write(output: str, content: str) -> None:
    if output == STDOUT:
        sys.stdout.write(content)
    else:
        replace_file(Path(output), content.encode())


def _texts(source: str, on_error: ReportLine) -> Iterator[Document]:
    """The passages of a file that have a text, and an id of their own."""
    seen: set[str] = set()
    for line, passage in read_numbered(source, on_error=on_error):
        where = line_name(source, line)
        if passage.id in seen:
            problem = f'the id "{passage.id}" is that of another passage; give each its own.'
            on_error(LineError(line, f"{where}: {problem}"))
        elif not passage.text.strip():
            on_error(LineError(line, f"{where}: there is no text; add one or empty the line."))
        else:
            seen.add(passage.id)
            yield passage


def _vectors(
    encoder: Encoder, sides: Sequence[Sequence[Document]], progress: Callable[[int], None]
) -> list[NDArray[np.float32]]:
    """(N, D) of each side's passages."""
    import numpy as np

    done, vectors = 0, []
    for passages in sides:
        parts = [encoder.passages([])]
        for batch in batches(passages, _ENCODED):
            parts.append(encoder.passages(batch))
            done += len(batch)
            progress(done)
        vectors.append(np.concatenate(parts))
    return vectors


def _total(*names: str) -> int | None:
    counts = [quick_count(Path(name)) for name in names]
    return None if None in counts else sum(count or 0 for count in counts)


def _cell(text: str) -> str:
    """`text` without what would end a cell of a table."""
    return " ".join(text.split())


_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} index build --input passages.jsonl --output passages.index --model multilingual
  {PROGRAM} index build --input passages.jsonl --output english.index --type hnsw
  {PROGRAM} index build --engine ray --workers 8 --input passages.jsonl --output passages.index
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
    register_search(commands)
    register_mine(commands)
    register_evaluate(commands)
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
    engine: EngineOption = Engine.LOCAL,
    workers: WorkersOption = None,
    gpus: GpusOption = None,
) -> None:
    """Build an index of passages, or continue one that was stopped.

    It is built in FOLDER.building and renamed when it is done. Except for flat, the share of the exact ten
    nearest passages that are found is measured with passages of the index as queries.
    """
    from kpdemo.ramkg.index_building import build_index, check_free, one_by_one

    if engine is Engine.LOCAL and (workers is not None or gpus is not None):
        raise CallError("--workers and --gpus are for --engine ray; add it, or leave them out.")
    config = IndexConfig(index_type, nlist, nprobe, hnsw_m, ef_search, pq_m)
    source = _one_file(sources)
    check_free(output)
    encoder = open_encoder(
        EncoderConfig(model, pooling, normalise, length, query_prefix, passage_prefix),
        "auto" if engine is Engine.RAY else device,
        batch_size,
    )
    with (
        _encoding(source) as (passages, problems, progress),
        _resumable(source),
        nullcontext(one_by_one(encoder))
        if engine is Engine.LOCAL
        else _on_ray(encoder, device, batch_size, workers, gpus) as encode,
    ):
        index = build_index(
            passages,
            output,
            encoder,
            config,
            name=_name(source),
            encode=encode,
            progress=progress,
            on_error=problems,
        )
    say(f"{number_of(len(index), 'passage')} in {output}{_how_good(index.manifest)}.")
    if not index.manifest.with_keyphrases:
        say("None of them has keyphrases: they can be searched, but do not help a model to predict.")
    exit_with(problems)


def _on_ray(
    encoder: Encoder, device: Device, batch_size: int, workers: int | None, gpus: float | None
) -> AbstractContextManager[Encode]:
    from kpdemo.cluster import encoding_on_ray

    return encoding_on_ray(
        encoder.config,
        encoder.identity,
        device=device,
        batch_size=batch_size,
        workers=workers,
        gpus=gpus,
    )


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
    from kpdemo.ramkg.index_building import add_passages

    source = _one_file(sources)
    encoder = encoder_of(open_index(folder), model, device, batch_size)
    with _encoding(source) as (passages, problems, progress):
        added = add_passages(
            passages, folder, encoder, name=_name(source), progress=progress, on_error=problems
        )
    say(f"{number_of(added.done, 'passage')} added to {folder}{already_there(added.skipped)}.")
    exit_with(problems)


def _one_file(sources: Sequence[str]) -> str:
    """What --input names: one file of passages that is there, or standard input."""
    only_input(sources)
    if sources[0] != STDIN:
        check_input(sources[0], PASSAGE_FILES)
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
