"""The dataset card of a gold set, from its manifest alone, as the Hugging Face Hub and people read it.

Its text is `templates/gold_card.md.jinja`. By the YAML at its head the Hub lists the set, and `datasets`
reads it. Licence and language are not in it: kpdemo knows neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from annotation.adjudication import CAUSES
from annotation.agreement import PartSize, few_pairs_text
from annotation.changes import LONG_TEXTS
from annotation.comparison import comparison_type, types_in_order
from annotation.exchange import GOLD_COLUMN, RATING_COLUMN
from annotation.gold import Format, GoldSource
from annotation.reliability.upper_bound import mean_of_text
from annotation.scale import STS_POINTS
from annotation.wording import figure_text, range_text
from kpdemo.text import number_of

_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~$&!@]|(?<=:)(?=//)|(?<=www)\.")
"""What begins markup, formulas, mentions or links within a line."""
_TICKS = re.compile("`+")


def plain(text: str) -> str:
    r"""A text on one line that is read as it stands, within a paragraph or a table.

    >>> print(plain("a | b\n<b>*c*</b>"))
    a \| b \<b\>\*c\*\</b\>
    """
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def fence(text: str, language: str = "") -> str:
    """A block of lines, whatever fences these have themselves."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """A name of a file or column within a line."""
    ticks = "`" * (_longest(text) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _longest(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, _TICKS.findall(text)), default=0)


def gold_files(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the manifest says of them; in the layout of SemEval the texts of a type, then its grades."""
    files = [file for file in manifest["files"] if not is_unfinished(file["name"], manifest)]
    return sorted(files, key=lambda file: (stem_of(file["name"]), ".gs." in file["name"]))


def is_unfinished(name: str, manifest: Mapping[str, Any]) -> bool:
    """Whether it lists the pairs without a gold grade; a type may be called "unfinished" too."""
    format = Format(manifest["options"]["format"])
    return name == f"unfinished.{format.ending}"


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


def meanings(columns: Sequence[str], average: str = "mean") -> list[tuple[str, str]]:
    """Of each column its name and meaning; those of single raters together.

    Args:
        columns: in their order.
        average: of the ratings, the gold grade where there is no decision.
    """
    found = [(name, COLUMNS[name][1]) for name in columns if name in COLUMNS]
    found = [(name, what.replace("`mean`", f"`{average}`")) for name, what in found]
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
            case Format.CSV | Format.SPREADSHEET:  # "NA" and "null" are words
                empty = {"keep_default_na": False, "na_values": [""]}
                yield {"config_name": "default", **read, **empty, **typed}
            case Format.JSONL:
                yield {"config_name": "default", **read, **typed}
            case Format.PARQUET:  # tells the kinds of its columns itself
                yield {"config_name": "default", **read}


MOST_GENRES = 30
"""More are only counted."""
TASK_BIBTEX = """@inproceedings{jurgens-etal-2014-semeval,
    title = "{S}em{E}val-2014 Task 3: Cross-Level Semantic Similarity",
    author = "Jurgens, David and Pilehvar, Mohammad Taher and Navigli, Roberto",
    booktitle = "Proceedings of the 8th International Workshop on Semantic Evaluation ({S}em{E}val 2014)",
    year = "2014",
    url = "https://aclanthology.org/S14-2003",
}"""
_HASH_LENGTH = 12


def _scale_name(grades: Mapping[str, Any] | None, points: Sequence[int]) -> str:
    """What the scale is; `grades` are those of a manifest, which has none for the usual scale."""
    if grades is None:
        return "the scale of SemEval-2014 Task 3"
    if points == [point.value for point in STS_POINTS]:
        return "the points of semantic textual similarity (STS)"
    return f"a scale in steps of {grades['step']:g}"


_HASH_OF_NOTHING = sha256(b"").hexdigest()


def gold_card(manifest: Mapping[str, Any]) -> str:
    """README.md of a gold set: all that its manifest says, and nothing that it does not.

    Args:
        manifest: as it is written. What it says of the card itself is not looked at, so that the card is the
            same before and after it is named there.
    """
    counts, protocol, files = manifest["counts"], manifest["protocol"], manifest["files"]
    of_equals = {comparison_type(type).is_of_equals for type in counts["by_type"]}
    whose_words = ", adapted where neither item is larger" if True in of_equals else ""
    if "scale_words" in protocol:
        whose_words = " in the project's own words"
    grades = [point["value"] for point in protocol["scale"]]
    columns = list(dict.fromkeys(name for file in files for name in file["columns"]))
    graded = _count_graded(counts)
    return _template().render(
        **{"consent": None, "set_aside": (), "protocol_changes": (), **manifest},
        **_agreement(manifest["agreement"]),
        front_matter=front_matter(manifest, graded),
        graded=graded,
        meaning=_meaning(of_equals),
        whose_words=whose_words,
        scale_name=_scale_name(protocol.get("grades"), grades),
        low=min(grades),
        high=max(grades),
        genres=_genres(counts["by_type"]),
        most_genres=MOST_GENRES,
        is_unfinished=lambda name: is_unfinished(name, manifest),
        meanings=meanings(columns, protocol.get("average", "mean")),
        causes={cause.value: words for cause, words in CAUSES.items()} if "cause" in columns else {},
        stems=list(dict.fromkeys(stem_of(file["name"]) for file in gold_files(manifest) if file["rows"])),
        split=SPLIT,
        ending_of_grades=GRADES,
        bibtex=TASK_BIBTEX,
    )


@cache
def _template() -> Template:
    """The text of the card: Markdown, so nothing is escaped but by `plain`, `code` and `fenced`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "plain": plain,
        "code": code,
        "fenced": lambda text, language: fence(text, language) + "\n",
        "line": lambda text: " ".join(text.split()) + "\n",
        "number_of": number_of,
        "thousands": "{:,}".format,
        "g": "{:g}".format,
        "points": lambda distance: f"{distance:g} {'point' if distance <= 1 else 'points'}",
        "figure": _figure,
        "alpha": _alpha,
        "value": _value,
    }
    environment.globals |= {
        "types_in_order": types_in_order,
        "comparison_type": comparison_type,
        "mean_of_text": mean_of_text,
    }
    return environment.get_template("gold_card.md.jinja")


def _count_graded(counts: Mapping[str, Any]) -> int:
    return sum(counts.get(source.value, 0) for source in GoldSource)


def _meaning(of_equals: Collection[bool]) -> str:
    """What the grades say of a pair."""
    if set(of_equals) == {True}:
        return "how similar in meaning its two items are"
    among = " or, where neither item is larger, how similar they are" if True in of_equals else ""
    return f"how much of the larger item's meaning the smaller item carries{among}"


def _genres(by_type: Mapping[str, Any]) -> dict[str, int]:
    """Pairs with a gold grade by genre, of those that have any; unknown genres under an empty name."""
    found: Counter[str] = Counter()
    for counts in by_type.values():
        found.update({genre: _count_graded(of_genre) for genre, of_genre in counts["by_genre"].items()})
    return {genre: pairs for genre, pairs in found.items() if pairs}


def _agreement(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """The alphas of all types and of each, and the warning that some are of too few pairs."""
    if found is None:
        return {}
    parts = {"all types": found["alpha"]}
    parts |= {plain(type): found["by_type"][type] for type in types_in_order(found["by_type"])}
    whole, *others = (
        PartSize(
            name,
            *(
                None if part[among]["low"] is None else part[among]["pairs"]
                for among in ("all", "unadjudicated")
            ),
        )
        for name, part in parts.items()
    )
    return {"agreement_parts": parts, "few_pairs": few_pairs_text(whole, others)}


def _alpha(alpha: Mapping[str, Any]) -> str:
    return _figure(alpha, f"; {number_of(alpha['pairs'], 'pair')}, {number_of(alpha['ratings'], 'rating')}")


def _figure(found: Mapping[str, Any], of: str = "") -> str:
    """A value with its interval, and what these are of; or why there is none."""
    if found["value"] is None:
        return f"undefined. {plain(found['reason'])}"
    low, high = found["low"], found["high"]
    sure = plain(found.get("reason", "no interval").rstrip(".")) if low is None else range_text(low, high)
    return f"{figure_text(found['value'])} ({sure}{of})"


def _value(change: Mapping[str, Any], side: str) -> str:
    """A setting before or after it was changed."""
    value = change[side]
    if value is None:  # of the limit of pairs per rater it is a value
        return "not kept" if change["before"] == change["after"] else "none"
    if change["setting"] in LONG_TEXTS:
        return "none" if value == _HASH_OF_NOTHING else f"`{value[:_HASH_LENGTH]}`"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(", ".join(value) if isinstance(value, list) else str(value))
