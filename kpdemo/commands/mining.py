"""`python -m kpdemo index mine`: pairs of passages that say the same in two languages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kpdemo.commands.encoding import (
    LANGUAGES,
    PASSAGE_FILES,
    EncoderOption,
    LengthOption,
    PassagePrefixOption,
    PoolingOption,
    batches,
    open_encoder,
)
from kpdemo.commands.options import (
    STDOUT,
    BatchSizeOption,
    CallError,
    DeviceOption,
    Problems,
    check_file,
    counted,
    exit_with,
    progress_line,
    quick_count,
    say,
)
from kpdemo.languages.routing import DEFAULT_MODEL
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.reading.documents import read_numbered
from kpdemo.reading.json_rows import LineError, ReportLine, line_name
from kpdemo.storage import replace_file
from kpdemo.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kpdemo.ramkg.bitext import MinedPair
    from kpdemo.ramkg.encoder import Encoder

_ENCODED = 256  # passages between two signs of progress
_HEADER = ("margin", "source_id", "target_id", "source", "target")


def register(commands: typer.Typer) -> None:
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
        check_file(name, PASSAGE_FILES)
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
    say(f"{counted(len(pairs), 'pair')} of {len(sides[0]):,} and {len(sides[1]):,} passages.")
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
