"""The dataset card of a gold set, from its manifest alone, as the Hugging Face Hub and people read it.

The YAML at the head of a gold set's card: by it the Hub lists the set, and `datasets` reads it.
Licence and language are not in it: kpdemo knows neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import yaml  # type: ignore[import-untyped]

from annotation.adjudication import CAUSES
from annotation.agreement import PartSize, few_pairs_text
from annotation.changes import LONG_TEXTS
from annotation.comparison import comparison_type, types_in_order
from annotation.files.tables import GOLD_COLUMN, RATING_COLUMN
from annotation.gold import Format, GoldSource, RaterColumns, Reason, Unfinished
from annotation.predictions import QueueOrder
from annotation.reliability.upper_bound import mean_of_text
from annotation.wording import figure_text, number_of, range_text

_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~$&!@]|(?<=:)(?=//)|(?<=www)\.")
"""What begins markup, formulas, mentions or links within a line."""
_TICKS = re.compile("`+")


def plain(text: str) -> str:
    r"""A text on one line that is read as it stands, within a paragraph or a table.

    >>> print(plain("a | b\n<b>*c*</b>"))
    a \| b \<b\>\*c\*\</b\>
    """
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def fenced(text: str, language: str = "") -> str:
    """A block of lines, whatever fences these have themselves."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """A name of a file or column within a line."""
    ticks = "`" * (_longest(text) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown; the columns in `numbers` stand to the right."""
    rule = ["---:" if place in numbers else "---" for place in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _longest(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, _TICKS.findall(text)), default=0)


_UNFINISHED = "unfinished."


def gold_files(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the manifest says of them; in the layout of SemEval the texts of a type, then its grades."""
    files = [file for file in manifest["files"] if not is_unfinished(file["name"], manifest)]
    return sorted(files, key=lambda file: (stem_of(file["name"]), ".gs." in file["name"]))


def is_unfinished(name: str, manifest: Mapping[str, Any]) -> bool:
    """Whether it lists the pairs without a gold grade; a type may be called "unfinished" too."""
    format = Format(manifest["options"]["format"])
    return name == f"{_UNFINISHED}{'tsv' if format is Format.SEMEVAL else format.value}"


def stem_of(name: str) -> str:
    """What the files of a type have in common: phrase2word of phrase2word.gs.tsv."""
    return name.removesuffix(".input.tsv").removesuffix(".gs.tsv")


_TEXT, _NUMBER, _COUNT, _TRUTH = "string", "float64", "int64", "bool"

COLUMNS = {
    "id": (_TEXT, "names the pair within its type"),
    "type": (_TEXT, "comparison type: which kinds of text are compared"),
    "genre": (_TEXT, "kind of source, where it is known"),
    "left": (_TEXT, "the first item; of the kind before the 2 where the name of `type` has one"),
    "right": (_TEXT, "the second item; of the kind after the 2 where the name of `type` has one"),
    "gold": (_NUMBER, "the gold grade"),
    GOLD_COLUMN: (_TEXT, "whether the gold grade is a decision (`adjudicated`) or the `mean` of the ratings"),
    "mean": (_NUMBER, "mean of the ratings, rounded half to even to 4 decimals"),
    "spread": (_NUMBER, "highest minus lowest rating"),
    "rating_count": (_COUNT, "number of ratings"),
    "cause": (_TEXT, "why raters differed, as the adjudicator saw it; empty without a decision"),
    "intended": (_NUMBER, "the grade that the right item was written or chosen for"),
    "source": (_TEXT, "what came with the pair as its source"),
    "word_flag": (_TEXT, "`oov`: the word is not in WordNet; `oos`: its meaning is not"),
    "word_key": (_TEXT, "sense key of the word's meaning or, with a flag, of the closest sense"),
    "word_definition": (_TEXT, "definition of the word's meaning"),
    "sense_words": (_TEXT, "the words of the sense whose key is `right`"),
    "sense_definition": (_TEXT, "its definition"),
    "sense_parents": (("words", "definition"), "more general senses"),
    "sense_siblings": (("words", "definition"), "other senses below these, or the first of them"),
    "sense_sibling_count": (_COUNT, "how many there are"),
    "reason": (
        _TEXT,
        "why there is no gold grade, `too_few_ratings` or `not_adjudicated`; only in the file of unfinished "
        "pairs",
    ),
    "comments": (("rater", "text", "problem"), "what raters wrote, and whether they told a problem"),
    "ratings": (("rater", "grade"), "the single ratings"),
}
"""Of each column the kind of its values, or the fields of its lists, and what they mean."""
_FIELDS = {"grade": _NUMBER, "problem": _TRUTH}


def meanings(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Of each column its name and meaning; those of single raters together."""
    found = [(name, COLUMNS[name][1]) for name in columns if name in COLUMNS]
    if any(name.startswith(RATING_COLUMN) for name in columns):
        found.append((f"{RATING_COLUMN}…", "the ratings of one rater; empty where they gave none"))
    return found


def features(columns: Sequence[str], *, with_lists: bool) -> list[dict[str, Any]]:
    """The columns as the front matter of a dataset card describes them.

    Args:
        columns: in their order.
        with_lists: whether lists are lists; else they are JSON text, as in CSV.
    """
    return [_feature(name, with_lists) for name in columns]


def _feature(name: str, with_lists: bool) -> dict[str, Any]:
    kind = _NUMBER if name.startswith(RATING_COLUMN) else COLUMNS[name][0]
    if isinstance(kind, str):
        return {"name": name, "dtype": kind}
    if not with_lists:
        return {"name": name, "dtype": _TEXT}
    return {"name": name, "list": [{"name": field, "dtype": _FIELDS.get(field, _TEXT)} for field in kind]}


SPLIT = "gold"
"""What `datasets` calls the rows: whether they are to train on or to test with is not known."""
GRADES = ".grades"
"""How the configuration with the grades of a type ends, in the layout of SemEval."""
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
_LARGEST = "10M<n<100M"
_WIDTH = 2**31
"""No line is broken."""
_LIKE_A_NUMBER = re.compile(r"[-+]?\.?\d[\w.+-]*")
"""In YAML 1.2, as the Hub reads it, more texts are numbers than in PyYAML's 1.1: "1e5", "0o17"."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Quotes also what only YAML 1.2 takes for a number."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        style = "'" if _LIKE_A_NUMBER.fullmatch(text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def front_matter(manifest: Mapping[str, Any], pairs: int) -> str:
    """Between two lines of dashes.

    Args:
        manifest: of the gold set.
        pairs: with a gold grade.
    """
    known = {
        "pretty_name": " ".join(manifest["project"].split()),
        "task_categories": ["sentence-similarity"],
        "tags": ["semantic-similarity", "graded-similarity", "human-annotation", "kpdemo"],
        "size_categories": [next((name for limit, name in _SIZES if pairs < limit), _LARGEST)],
        **({"configs": list(_configs(manifest))} if pairs else {"viewer": False}),
    }
    written = yaml.dump(known, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return f"---\n{written}---"


def _configs(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    format = Format(manifest["options"]["format"])
    for file in gold_files(manifest):
        name = file["name"]
        read = {"data_files": [{"split": SPLIT, "path": name}]}
        typed = {"features": features(file["columns"], with_lists=format is Format.JSONL)}
        match format:
            case Format.SEMEVAL:
                if file["rows"]:  # of an empty file nothing can be read
                    ending = "" if ".input." in name else GRADES
                    tabs = {"sep": "\t", "quoting": 3, "na_filter": False, "names": file["columns"]}
                    yield {"config_name": stem_of(name) + ending, **read, **tabs, **typed}
            case Format.CSV:  # "NA" and "null" are words
                empty = {"keep_default_na": False, "na_values": [""]}
                yield {"config_name": "default", **read, **empty, **typed}
            case Format.JSONL:
                yield {"config_name": "default", **read, **typed}
            case Format.PARQUET:  # tells the kinds of its columns itself
                yield {"config_name": "default", **read}


def agreement(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The paragraphs of the card."""
    yield "## Agreement"
    found = manifest["agreement"]
    if found is None:
        yield "It was not computed."
        return
    yield (
        f"{plain(found['coefficient'])}: {found['resamples']:,} resamples, seed {found['seed']}, intervals "
        f"of {found['confidence']:.0%}. It is of all pairs with two ratings or more, also those without a "
        "gold grade; “unadjudicated” leaves out those that are flagged or decided."
    )
    parts = {"all types": found["alpha"]}
    parts |= {plain(type): found["by_type"][type] for type in types_in_order(found["by_type"])}
    rows = (
        [name, *(_alpha(part[among]) for among in ("all", "unadjudicated"))] for name, part in parts.items()
    )
    yield table(("", "α, all pairs", "α, unadjudicated"), rows)
    whole, *others = (_comparable(name, part) for name, part in parts.items())
    if said := few_pairs_text(whole, others):
        yield said
    if bounds := found["upper_bound"]:
        yield from _upper_bounds(bounds)


def _upper_bounds(bounds: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "What people reach as systems are measured, to be set beside systems: the correlation of each "
        "rater's grades with the mean of the others' on the same pairs, as a mean over raters; of the same "
        "pairs and from the same number of resamples."
    )
    rows = (
        [
            plain(type),
            *(_figure(bounds[type][name]) for name in ("pearson", "spearman")),
            f"{bounds[type]['pairs']:,}",
            mean_of_text(bounds[type]["raters"]) if bounds[type]["raters"] else "",
        ]
        for type in types_in_order(bounds)
    )
    yield table(("", "Pearson", "Spearman", "pairs", ""), rows, numbers=(3,))


def _comparable(name: str, part: Mapping[str, Any]) -> PartSize:
    both = (part[among] for among in ("all", "unadjudicated"))
    return PartSize(name, *(None if alpha["low"] is None else alpha["pairs"] for alpha in both))


def _alpha(alpha: Mapping[str, Any]) -> str:
    of = f"{number_of(alpha['pairs'], 'pair')}, {number_of(alpha['ratings'], 'rating')}"
    return _figure(alpha, f"; {of}")


def _figure(found: Mapping[str, Any], of: str = "") -> str:
    """A value with its interval, and what these are of; or why there is none."""
    if found["value"] is None:
        return f"undefined. {plain(found['reason'])}"
    low, high = found["low"], found["high"]
    sure = plain(found.get("reason", "no interval").rstrip(".")) if low is None else range_text(low, high)
    return f"{figure_text(found['value'])} ({sure}{of})"


_HASH_LENGTH = 12
_HASH_OF_NOTHING = sha256(b"").hexdigest()
_ORDERS = {
    "random": "All raters met the pairs in one random order (seed {seed})",
    "import": "All raters met the pairs in the order of import",
}
_PLACES_OF_DOCUMENTS = {"random": "a random place of the document's own", "import": "the place of its first"}
_ORDERS_OF_PREDICTIONS = {
    QueueOrder.DOCUMENT: "all pairs of predicted keyphrases of a document came one after the other, "
    "at {place}",
    QueueOrder.UNCERTAIN: "pairs of predicted keyphrases changed places among themselves: "
    "those first that the models' scores decided least",
    QueueOrder.MIXED: "pairs of predicted keyphrases changed places among themselves: "
    "in turns what the models' scores decided least and the next of the project's order",
}
_RATERS = {
    RaterColumns.NONE: "Single ratings are not in the files.",
    RaterColumns.ANONYMOUS: "Single ratings are in the files; raters have numbers there, not names.",
    RaterColumns.NAMED: "Single ratings are in the files, with the raters' account names.",
}


def making(manifest: Mapping[str, Any]) -> str:
    protocol = manifest["protocol"]
    parts = ["## How it was made", bullets(_steps(manifest)), _guidelines(protocol)]
    if consent := manifest.get("consent"):
        parts.append(_consent(consent))
    if aside := manifest.get("set_aside"):
        parts.append(
            "### Grades that were set aside\n\nThey count nowhere:\n\n" + bullets(map(_excluded, aside))
        )
    if changes := manifest.get("protocol_changes"):
        parts.append(_changes(changes))
    return "\n\n".join(parts)


def _steps(manifest: Mapping[str, Any]) -> Iterator[str]:
    protocol, counts = manifest["protocol"], manifest["counts"]
    each = protocol["raters_per_pair"]
    grades, raters = number_of(counts["ratings"], "grade"), number_of(counts["raters"], "rater")
    given = f"{grades} of {raters}" if counts["ratings"] else "no grades yet"
    yield (
        f"The project has {number_of(counts['pairs'], 'pair')}, with or without a gold grade, and {given}; "
        f"it asks for {'one grade' if each == 1 else f'grades of {each} raters'} a pair."
    )
    imported = counts.get("imported_ratings", 0)
    if imported:
        what = "All grades" if imported == counts["ratings"] else f"{imported:,} of these grades"
        yield f"{what} came from files: how they were given is not known here."
    if imported < counts["ratings"]:
        yield from _at_work(protocol)
    yield _gold_rule(protocol["adjudication_threshold"], counts)
    yield _RATERS[RaterColumns(manifest["options"]["raters"])]


def _gold_rule(threshold: float | None, counts: Mapping[str, Any]) -> str:
    mean = "the mean of the ratings, rounded half to even to 4 decimals"
    decided = counts["adjudicated"]
    have_one = f"{number_of(decided, 'pair')} {'has' if decided == 1 else 'have'} one"
    by_whom = _by_whom(counts.get("adjudicators", 0))
    if threshold is None:
        from_before = f", except where an adjudicator decided before: {have_one}{by_whom}" if decided else ""
        return f"The project does without adjudication: the gold grade is {mean}{from_before}."
    return (
        f"Pairs with grades that differ by {_points_of_scale(threshold)} or more are flagged and go to an "
        f"adjudicator, whose decision is the gold grade: {have_one}{by_whom}. Otherwise it is {mean}."
    )


def _by_whom(adjudicators: int) -> str:
    return f", of {number_of(adjudicators, 'adjudicator')}" if adjudicators else ""


def _at_work(protocol: Mapping[str, Any]) -> Iterator[str]:
    """What holds of grades that were given on the page."""
    yield _order(protocol)
    if limit := protocol.get("most_per_rater"):
        yield f"A rater was given {number_of(limit, 'pair')} at most."
    if training := protocol.get("training"):
        yield (
            "Training, as it was set at the export: raters first grade "
            f"{number_of(training['pairs'], 'training pair')}, unless excused, and pass with "
            f"{training['pass_percent']} % of these grades within {_points_of_scale(training['distance'])} "
            "of the "
            "known ones. These pairs are not in the gold set."
        )
    if checks := protocol.get("checks"):
        yield (
            f"Hidden checks, as they were set at the export: one pair in {checks['every']} that a rater "
            f"meets has a known grade ({number_of(checks['pairs'], 'check pair')}; accepted within "
            f"{_points_of_scale(checks['distance'])}). These pairs are not in the gold set."
        )


def _order(protocol: Mapping[str, Any]) -> str:
    of_all = protocol["order"]
    told = [_ORDERS[of_all].format(seed=protocol["seed"])]
    if of_predictions := protocol.get("order_of_predictions"):
        told.append(_ORDERS_OF_PREDICTIONS[of_predictions].format(place=_PLACES_OF_DOCUMENTS[of_all]))
    return "; ".join(told) + "."


def _points_of_scale(distance: float) -> str:
    return f"{distance:g} {'point' if distance <= 1 else 'points'}"


def _guidelines(protocol: Mapping[str, Any]) -> str:
    if not protocol["guidelines"].strip():
        return "### Guidelines\n\nThe project has none beyond the scale."
    text = fenced(protocol["guidelines"], "markdown")
    return f"### Guidelines\n\nAs they stood when this was exported:\n\n{text}"


def _consent(consent: Mapping[str, Any]) -> str:
    raters, text = consent["raters"], consent["text"]
    before, not_here = raters["agreed_to_earlier_text"], raters["not_agreed"]
    told = [
        f"{number_of(raters['agreed'], 'rater')} agreed to this text" if text else "",
        f"{number_of(before, 'rater')} agreed to an earlier text" if before else "",
        f"{number_of(not_here, 'rater')} agreed to none here: they graded while there was no text, or their "
        "grades came from files"
        if not_here
        else "",
    ]
    # Without such raters it stood as it is from the beginning, for all that is told here.
    begin = "before they go on" if before or not_here else "before their first pair"
    changed = "The text was changed on the way. " if before else ""
    asked = (
        f"{changed}Raters must agree to it as it reads now {begin}:\n\n{fenced(text, 'markdown')}"
        if text
        else ("Raters are no longer asked to agree to a text.")
    )
    return f"### Consent\n\n{asked}\n\n{bullets(filter(None, told))}"


def _excluded(aside: Mapping[str, Any]) -> str:
    whose = f" of {plain(aside['rater'])}" if aside.get("rater") else " of one rater"
    return f"{number_of(aside['grades'], 'grade')}{whose}, on {aside['at'][:10]}: {plain(aside['reason'])}"


def _changes(changes: list[dict[str, Any]]) -> str:
    rows = (
        [
            change["at"][:10],
            f"`{change['setting']}`",
            *(_value(change, side) for side in ("before", "after")),
            f"{change['ratings_before']:,}",
        ]
        for change in changes
    )
    told = table(("date", "setting", "before", "after", "grades given before"), rows, numbers=(4,))
    return (
        "### What was changed while it ran\n\n"
        f"{told}\n\nGuidelines, consent texts and own words of the scale stand here by the beginning of "
        "their SHA-256; `manifest.json` has the earlier ones under `earlier_guidelines`, `earlier_consent` "
        "and `earlier_scale_words`. Grades given before are those still in force."
    )


def _value(change: Mapping[str, Any], side: str) -> str:
    value = change[side]
    if value is None:  # of the limit of pairs per rater it is a value
        return "not kept" if change["before"] == change["after"] else "none"
    if change["setting"] in LONG_TEXTS:
        return "none" if value == _HASH_OF_NOTHING else f"`{value[:_HASH_LENGTH]}`"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(", ".join(value) if isinstance(value, list) else str(value))


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
