"""`python -m kpdemo index evaluate`: how often an index finds the passage that belongs to a query."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kpdemo.commands.encoding import IndexOption, SameEncoderOption, batches, encoder_of, open_index
from kpdemo.commands.options import (
    BatchSizeOption,
    DeviceOption,
    JsonOption,
    Problems,
    check_file,
    exit_with,
    print_json,
    progress_line,
    quick_count,
)
from kpdemo.errors import InputError
from kpdemo.reading.document_rows import document_from_row
from kpdemo.reading.file_kinds import LINE_SUFFIXES
from kpdemo.reading.json_rows import LineError, ReportLine, line_name, read_rows
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.ramkg.index import PassageIndex


def register(commands: typer.Typer) -> None:
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
    from kpdemo.evaluation.retrieval import CUT_OFFS, rank_of, recall_at

    path = check_file(queries, LINE_SUFFIXES)
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
        from kpdemo.terminal import show_properties

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
