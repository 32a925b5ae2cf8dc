"""`python -m kpdemo predict`: the call; `kpdemo.commands.predicting` does what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kpdemo.commands.options import (
    PROGRAM,
    CallError,
    DeviceOption,
    LanguageOption,
    ModelOption,
    PredictBatchSizeOption,
    only_input,
    read_language,
)
from kpdemo.commands.predicting import Reading, predict_many, predict_one

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} predict paper.pdf
  {PROGRAM} predict abstract.txt --title "Learning to rank" --top-k 10 --no-nested
  echo "Neural networks learn word embeddings." | {PROGRAM} predict - --json
  {PROGRAM} predict article.txt --model yake --language French
  {PROGRAM} predict these.txt --language fr --index my.index --json
  {PROGRAM} predict --input docs.jsonl --output predictions.jsonl
  {PROGRAM} predict --input papers --output papers.jsonl
  zcat docs.jsonl.gz | {PROGRAM} predict --input - --output - > predictions.jsonl

\b
JSON of one document:
  {{"language": "en", "present": [{{"text", "score", "spans": [[start, end], …]}}, …],
   "absent": [{{"text", "score", "kind", "source", "evidence"}}, …],
   "model", "device", "seconds", "text", "text_offset"}}
Spans count characters of "text": the text given, under the title of --title and two newlines; what
follows a title begins at "text_offset". A first line that is a title is one without --title.
"kind" is reordered (all its words are in the text), mixed (some are) or unseen (none is), "source" is
generated, retrieved or both, "evidence" are phrases that speak for it, as the text or a retrieved passage
writes them. "filler": true marks one that falls short of the model's own rule, and is given only to make up
its least number or, of absent ones that no related passage speaks for, the number asked for. What the model
does not tell is left out, and a model that ranks more absent phrases than
it gives adds "absent_candidates": ["…", …], from which R@50 is counted. A model that retrieves adds
"passages": [{{"id", "title", "keyphrases", "score", "related", "helps", "used"}}, …], nearest first:
"related" is false for one that may be on another subject, "helps" is false for a passage too far from the
text to be used, and "used" are the keyphrases that led to one of the result.

\b
A line of docs.jsonl:
  {{"id": "1", "title": "…", "abstract": "…", "language": "en"}}
"text" may stand for "abstract", and a missing id is the line's number. Without a language it is detected.

\b
Of a folder, files are read in the order of their names. The id of a .txt, .md or .pdf is its name without
the suffix, or with it where two would have the same; a line without an id is called by its file and number,
such as "c.csv:2". What cannot be read is named, and the rest goes on.
\b
A line of predictions.jsonl:
  {{"id": "1", "language": "en", "present": [{{"text", "score", "spans"}}, …],
   "absent": [{{"text", "score", …}}, …], "model", "document_sha256"}}
Spans count characters of the title, two newlines and the abstract; without a title, of the abstract.
predictions.jsonl.settings.json, written beside it, keeps the model and the options, so that a file begun is
continued with the same ones only; without it what is there cannot be continued. By "document_sha256" a
document whose text was changed after it was predicted is noticed, and refused.
predictions.jsonl.refused.jsonl, if there is one, has the documents that the model refused, and why: they are
asked for again when they were changed. So is a line that could not be read: mend or empty it and run the same
command again; where documents have no id, do not delete it, since those after it would get other numbers.
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
        "(- for standard input), compressed or not; of a folder each file of documents, but not the folders "
        "in it.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The predictions as JSON Lines, - for standard output; a file begun earlier is continued.",
    ),
]
TopKOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Exactly K present and K absent ones, or all there are."),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, metavar="SCORE", help="All with at least this score."),
]
NoNestedOption = Annotated[
    bool,
    typer.Option(
        "--no-nested",
        help="Of keyphrases of the text that stand inside one another only the best, and the next ones "
        "in place of the others.",
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FOLDER", help="Passages for a model that retrieves, instead of its own."
    ),
]
OneJsonOption = Annotated[bool, typer.Option("--json", help="Print the one document's result as JSON.")]


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(predict)


def predict(
    file: FileArgument = None,
    title: TitleOption = "",
    sources: InputOption = None,
    output: OutputOption = None,
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

    By default the model gives the number of keyphrases with the highest expected F1, and at least as many
    as its rule asks for: five of the default model. --threshold gives all with at least that score, --top-k
    exactly K present and K absent ones, or all there are. Both together give at most K of those with at
    least that score.
    """
    code = "" if language is None else read_language(language)
    reading = Reading(model, device, index_folder, code, top_k, threshold, nested=not no_nested)
    source = only_input(sources)
    if source is None and output is None:
        predict_one(file, title, reading, as_json=as_json)
        return
    if file is not None and source is None:
        raise CallError(
            f"--output is for the many documents of --input; of one document write `predict {file} --json "
            f"> {output}`."
        )
    if file is not None or title:
        raise CallError("FILE and --title are for one document; leave them out with --input and --output.")
    if source is None or output is None:
        raise CallError("--input and --output go together; give both, - stands for standard input or output.")
    if as_json:
        raise CallError("--json is for one document; leave it out, since --output is JSON Lines already.")
    predict_many(source, output, reading, batch_size)
