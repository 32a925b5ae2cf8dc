"""`python -m kpdemo predict`: the call; `kpdemo.commands.predicting` does what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kpdemo.commands.options import (
    PROGRAM,
    CallError,
    DeviceOption,
    IdColumnOption,
    LanguageOption,
    ModelOption,
    PredictBatchSizeOption,
    only_input,
    read_language,
)
from kpdemo.commands.predicting import Reading, predict_many, predict_one
from kpdemo.reading.document_rows import ID_COLUMN

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} predict paper.pdf
  {PROGRAM} predict abstract.txt --title "Learning to rank" --top-k 10 --no-nested
  echo "Neural networks learn word embeddings." | {PROGRAM} predict - --json
  {PROGRAM} predict article.txt --model yake --language French
  {PROGRAM} predict these.txt --language fr --index my.index --json
  {PROGRAM} predict --input docs.jsonl --output predictions.jsonl
  {PROGRAM} predict --input papers --output papers.jsonl --csv papers.csv
  {PROGRAM} predict --input abstracts.csv --id-column doi --output predictions.jsonl
  zcat docs.jsonl.gz | {PROGRAM} predict --input - --output - > predictions.jsonl

\b
JSON of one document:
  {{"language": "en", "present": [{{"text", "score", "spans": [[start, end], …]}}, …],
   "absent": [{{"text", "score", "kind", "source", "evidence"}}, …],
   "model", "device", "seconds", "text", "text_offset"}}
Spans are character offsets in "text": the title of --title and two newlines, then the text given; what
follows a title begins at "text_offset". Without --title, a first line that is a title is read as one. "kind"
is reordered (all its words are in the text), mixed (some are) or unseen (none is); "source" is generated,
retrieved or both; "evidence" lists the phrases that support it, as the text or a retrieved passage writes
them. "filler": true marks a keyphrase that falls short of the model's own rule and only makes up its minimum
number or, if absent and supported by no related passage, the number asked for. Fields that the model does not
provide are left out. A model that ranks more absent phrases than it returns adds "absent_candidates": ["…",
…], from which R@50 is computed. A model that retrieves adds "passages": [{{"id", "title", "keyphrases",
"score", "related", "helps", "used"}}, …], nearest first: "related" is false for a passage that may be on
another subject, "helps" is false for one too far from the text to be used, and "used" are those of its
keyphrases that led to a keyphrase of the result.

\b
A line of docs.jsonl:
  {{"id": "1", "title": "…", "abstract": "…", "language": "en"}}
"text" can be used instead of "abstract", and what --id-column names instead of "id". Without an id, a line is
named by its number; without a language, it is detected.

\b
The files of a folder are read in the order of their names. The id of a .txt, .md or .pdf file is its name
without the suffix, or with it if two would have the same; a line without an id is named by its file and
number, such as "c.csv:2". What cannot be read is reported, and the rest is predicted.
\b
A line of predictions.jsonl:
  {{"id": "1", "language": "en", "present": [{{"text", "score", "spans"}}, …],
   "absent": [{{"text", "score", …}}, …], "model", "document_sha256"}}
Spans are character offsets in the title, two newlines and the abstract; without a title, in the abstract.
predictions.jsonl.settings.json, written next to it, records the model and the options: an unfinished file can
only be continued with the same ones, and not at all without this record. "document_sha256" shows if a text
was changed after it was predicted; such a document is refused.
predictions.jsonl.refused.jsonl, if there is one, lists the documents that the model refused, and why: they
are predicted once they have changed. So is a line that could not be read: fix or empty it and run the same
command again. If documents have no ids, do not delete the line, since those after it would get other numbers.
"""


FileArgument = Annotated[
    str | None,
    typer.Argument(metavar="FILE|-", help="One document: .txt, .md or .pdf, or - for standard input."),
]
TitleOption = Annotated[str, typer.Option(metavar="TEXT", help="The title of the one document.")]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="FILE|FOLDER",
        help="Many documents: CSV or TSV by its suffix (columns id, title, abstract), otherwise JSON Lines "
        "(- for standard input), compressed or not; or a folder, of which each file of documents is "
        "read, but no subfolder.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The predictions as JSON Lines, - for standard output; an unfinished file is continued.",
    ),
]
CsvOption = Annotated[
    str | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        help="Also write the predictions of --output as a table, one keyphrase a row; an existing file is "
        "replaced.",
    ),
]
TopKOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Exactly K present and K absent keyphrases, or all there are."),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, metavar="SCORE", help="All keyphrases with at least this score."),
]
NoNestedOption = Annotated[
    bool,
    typer.Option(
        "--no-nested",
        help="Keep only the best of nested present keyphrases, and fill the freed places with the next ones.",
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FOLDER", help="A passage index for a model that retrieves, instead of its own."
    ),
]
OneJsonOption = Annotated[bool, typer.Option("--json", help="Print the result of one document as JSON.")]


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(predict)


def predict(
    file: FileArgument = None,
    title: TitleOption = "",
    sources: InputOption = None,
    output: OutputOption = None,
    id_column: IdColumnOption = ID_COLUMN,
    table: CsvOption = None,
    top_k: TopKOption = None,
    threshold: ThresholdOption = None,
    no_nested: NoNestedOption = False,
    model: ModelOption = "default",
    language: LanguageOption = None,
    index_folder: IndexOption = None,
    device: DeviceOption = "auto",
    batch_size: PredictBatchSizeOption = None,
    as_json: OneJsonOption = False,
) -> None:
    """Find the keyphrases of one document, or of a file or folder of many.

    By default the model returns as many keyphrases as maximise the expected F1, but at least the minimum of
    its rule: five for the default model. --threshold returns all with at least that score, --top-k exactly K
    present and K absent ones, or all there are. Both together return at most K of those with at least that
    score.
    """
    code = "" if language is None else read_language(language)
    reading = Reading(model, device, index_folder, code, top_k, threshold, not no_nested, id_column)
    source = only_input(sources)
    if source is None and output is None:
        if table is not None:
            raise CallError("--csv is for the documents of --input; for one document use --json.")
        predict_one(file, title, reading, as_json=as_json)
        return
    if file is not None and source is None:
        raise CallError(
            f"--output is for the documents of --input; for one document use `predict {file} --json > "
            f"{output}`."
        )
    if file is not None or title:
        raise CallError("FILE and --title are for one document; leave them out with --input and --output.")
    if source is None or output is None:
        raise CallError("--input and --output go together; give both (- for standard input or output).")
    if as_json:
        raise CallError("--json is for one document; leave it out, since --output is JSON Lines already.")
    predict_many(source, output, reading, batch_size, table)
