"""The dataset card of a gold set: README.md as the Hugging Face Hub and people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.adjudication import CAUSES
from annotation.cards.agreement import agreement
from annotation.cards.columns import meanings
from annotation.cards.front_matter import GRADES, SPLIT, front_matter
from annotation.cards.gold_files import gold_files, is_unfinished, stem_of
from annotation.cards.making import making
from annotation.cards.markdown import bullets, code, fenced, plain, table
from annotation.comparison import comparison_type, types_in_order
from annotation.figures import number_of
from annotation.gold import Format, GoldSource, Reason, Unfinished

MOST_GENRES = 30
"""More are only counted."""
TASK_BIBTEX = """@inproceedings{jurgens-etal-2014-semeval,
    title = "{S}em{E}val-2014 Task 3: Cross-Level Semantic Similarity",
    author = "Jurgens, David and Pilehvar, Mohammad Taher and Navigli, Roberto",
    booktitle = "Proceedings of the 8th International Workshop on Semantic Evaluation ({S}em{E}val 2014)",
    year = "2014",
    url = "https://aclanthology.org/S14-2003",
}"""
_STILL_TO_SAY = (
    "where the texts come from, and their licence; then the licence of this gold set: "
    "`license:` in the front matter",
    "in which language or languages they are: `language:` in the front matter",
    "who the raters and adjudicators were, what they knew of the subject, how they were found and paid, and "
    "that they agreed to the publication",
    "what the gold set is meant for, and what it should not be used for",
    f"whether it is to train on or to test with: the split is called `{SPLIT}` until then",
    "what personal or offensive content the texts have",
    "whom to ask, and how to cite it",
)


def gold_card(manifest: Mapping[str, Any]) -> str:
    """README.md of a gold set: all that its manifest says, and nothing that it does not.

    Args:
        manifest: as it is written. What it says of the card itself is not looked at, so that the card is the
            same before and after it is named there.
    """
    parts = [
        front_matter(manifest, _graded(manifest["counts"])),
        f"# {plain(manifest['project'])}",
        *_beginning(manifest),
        *_pairs(manifest["counts"]),
        *_scale(manifest["protocol"]),
        making(manifest),
        *agreement(manifest),
        *_files(manifest),
        *_without_gold(manifest),
        *_use(manifest),
        *_citation(manifest["software"]),
    ]
    return "\n\n".join(parts) + "\n"


def _graded(counts: Mapping[str, Any]) -> int:
    return sum(counts[source.value] for source in GoldSource)


def _beginning(manifest: Mapping[str, Any]) -> Iterator[str]:
    graded, software = _graded(manifest["counts"]), manifest["software"]
    if graded:
        yield (
            f"{number_of(graded, 'pair')} of texts, each with a gold grade: {_measured(manifest)}, "
            f"{_range(manifest['protocol'])}, the scale of SemEval-2014 Task 3"
            f"{_whose_words(manifest)}."
        )
    else:
        yield "This gold set is empty: no pair had a gold grade when it was exported."
    yield (
        f"{plain(software['name'])} {plain(software['version'])} wrote this card from `manifest.json`. What "
        "it cannot know is for the author to add before this is published:"
    )
    yield bullets(_STILL_TO_SAY)


def _measured(manifest: Mapping[str, Any]) -> str:
    """What the grades say of a pair."""
    of_equals = _of_equals(manifest)
    if of_equals == {True}:
        return "how similar in meaning its two items are"
    among = " or, where neither item is larger, how similar they are" if True in of_equals else ""
    return f"how much of the larger item's meaning the smaller item carries{among}"


def _range(protocol: Mapping[str, Any]) -> str:
    values = [point["value"] for point in protocol["scale"]]
    return f"{min(values):g} to {max(values):g}"


def _of_equals(manifest: Mapping[str, Any]) -> set[bool]:
    return {comparison_type(type).is_of_equals for type in manifest["counts"]["by_type"]}


def _whose_words(manifest: Mapping[str, Any]) -> str:
    if "scale_words" in manifest["protocol"]:
        return " in the project's own words"
    return ", adapted where neither item is larger" if True in _of_equals(manifest) else ""


def _pairs(counts: Mapping[str, Any]) -> Iterator[str]:
    yield "## Pairs"
    by_type = counts["by_type"]
    heads = ("type", "left", "right", "pairs", "by decision", "by mean")
    rows = (
        [
            plain(type),
            plain(comparison_type(type).larger.lower()),
            plain(comparison_type(type).smaller.lower()),
            *_numbers(by_type[type]),
        ]
        for type in types_in_order(by_type)
    )
    yield table(heads, rows, numbers=(3, 4, 5))
    genres = _genres(by_type)
    named = set(genres) - {""}
    if not named:
        return
    if len(named) > MOST_GENRES:
        none = f" or of none ({genres['']:,})" if "" in genres else ""
        yield f"They are of {len(named):,} genres{none}; `manifest.json` counts each under `counts`."
        return
    told = ([plain(genre) or "*no genre*", f"{pairs:,}"] for genre, pairs in sorted(genres.items()))
    yield table(("genre", "pairs"), told, numbers=(1,))


def _numbers(counts: Mapping[str, Any]) -> list[str]:
    each = (counts[source.value] for source in (GoldSource.ADJUDICATED, GoldSource.MEAN))
    return [f"{number:,}" for number in (_graded(counts), *each)]


def _genres(by_type: Mapping[str, Any]) -> dict[str, int]:
    """Pairs with a gold grade by genre, of those that have any; unknown genres under an empty name."""
    found: dict[str, int] = {}
    for counts in by_type.values():
        for genre, of_genre in counts["by_genre"].items():
            found[genre] = found.get(genre, 0) + _graded(of_genre)
    return {genre: pairs for genre, pairs in found.items() if pairs}


def _scale(protocol: Mapping[str, Any]) -> Iterator[str]:
    yield "## Scale"
    yield f"People grade {_range(protocol)} in steps of {protocol['step']:g}; these points have names:"
    yield _points(protocol["scale"])
    for type, points in protocol.get("scale_by_type", {}).items():
        yield f"Pairs of the type {plain(type)} are graded by other words:"
        yield _points(points)


def _points(points: Sequence[Mapping[str, Any]]) -> str:
    rows = ([f"{point['value']:g}", plain(point["name"]), plain(point["description"])] for point in points)
    return table(("grade", "name", "meaning"), rows, numbers=(0,))


def _files(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Files"
    files = manifest["files"]
    yield table(
        ("file", "rows", "what"),
        [
            *([code(file["name"]), f"{file['rows']:,}", _what(file["name"], manifest)] for file in files),
            ["`manifest.json`", "", "protocol, counts, agreement, and the SHA-256 of each file"],
        ],
        numbers=(1,),
    )
    format = Format(manifest["options"]["format"])
    if format is Format.SEMEVAL:
        yield (
            "The layout is that of SemEval-2014 Task 3: line by line the same pairs in both files of a type, "
            "UTF-8, tabs between the columns, no header, no quotes."
        )
    elif format is Format.CSV:
        yield (
            "UTF-8 with a header. Cells that a spreadsheet would take for a formula begin with an "
            "apostrophe: take it off where `=`, `+`, `-`, `@`, a tab or a line break comes next, also after "
            "further apostrophes."
        )
    columns = dict.fromkeys(name for file in files for name in file["columns"])
    yield table(("column", "what"), ([code(name), meaning] for name, meaning in meanings(list(columns))))
    if "cause" in columns:
        yield "`cause` is one of these:"
        yield table(("cause", "meaning"), ([code(cause), meaning] for cause, (_, meaning) in CAUSES.items()))


def _what(name: str, manifest: Mapping[str, Any]) -> str:
    if is_unfinished(name, manifest):
        return "pairs without a gold grade"
    if Format(manifest["options"]["format"]) is not Format.SEMEVAL:
        return "the gold set"
    columns = next(file["columns"] for file in manifest["files"] if file["name"] == name)
    return f"columns {', '.join(code(column) for column in columns)}"


def _without_gold(manifest: Mapping[str, Any]) -> Iterator[str]:
    counts, unfinished = manifest["counts"], Unfinished(manifest["options"]["unfinished"])
    few, undecided = (counts[reason.value] for reason in Reason)
    where = "listed in a file of their own" if unfinished is Unfinished.LIST else "left out"
    told = [
        f"{number_of(few, 'pair')} with too few ratings, {where}" if few else "",
        f"{number_of(undecided, 'pair')} flagged and without a decision, {where}" if undecided else "",
        *(
            f"{number_of(counts[name], 'pair')} {what}" if counts.get(name) else ""
            for name, what in (
                ("withdrawn", "withdrawn from the project, in no file and no other count"),
                ("marked_as_problem", "with a gold grade, but marked as a problem by a rater"),
                (
                    "reopened",
                    "graded again after the decision, which remains in force until a new one is made",
                ),
            )
        ),
    ]
    yield "## Pairs without a gold grade, and doubtful ones"
    yield bullets(filter(None, told)) or "None: every pair of the project has a gold grade."


def _use(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Use"
    yield "Check the files, in their folder:"
    sums = "\n".join(f"{file['sha256']}  {file['name']}" for file in manifest["files"])
    yield fenced(f"sha256sum --check <<'SUMS'\n{sums}\nSUMS", "bash")
    if not _graded(manifest["counts"]):
        return
    yield "Read it with `datasets`; FOLDER is this folder, or its name on the Hub:"
    yield fenced(_loading(manifest), "python")
    by_type = Format(manifest["options"]["format"]) is Format.SEMEVAL
    scores, has = ("scores", "a file `TYPE.output.tsv` for each type, with ") if by_type else ("run.txt", "")
    yield (
        f"Score a system with kpdemo, by Pearson's and Spearman's correlation with the gold grades; "
        f"`{scores}` has {has}a score a line in the order of the gold set:"
    )
    yield fenced(f"python -m annotation score --gold FOLDER --system {scores}", "bash")


def _loading(manifest: Mapping[str, Any]) -> str:
    if Format(manifest["options"]["format"]) is not Format.SEMEVAL:
        return f'from datasets import load_dataset\n\ngold = load_dataset("FOLDER", split="{SPLIT}")'
    stems = dict.fromkeys(stem_of(file["name"]) for file in gold_files(manifest) if file["rows"])
    return f"""from datasets import concatenate_datasets, load_dataset

gold = {{}}
for type in {list(stems)}:
    parts = [load_dataset("FOLDER", name, split="{SPLIT}") for name in (type, type + "{GRADES}")]
    gold[type] = concatenate_datasets(parts, axis=1)"""


def _citation(software: Mapping[str, Any]) -> Iterator[str]:
    yield "## Citation"
    yield (
        "The task and the scale are those of SemEval-2014 Task 3; the software is "
        f"{plain(software['name'])} {plain(software['version'])}."
    )
    yield fenced(TASK_BIBTEX, "bibtex")
