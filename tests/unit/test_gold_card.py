"""The dataset card of a gold set: what the Hub and `datasets` read, and what people read."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas
import pytest
import yaml
from huggingface_hub import DatasetCard
from huggingface_hub.repocard import REGEX_YAML_BLOCK
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from annotation.files.gold_files import Extras, open_gold, open_unfinished, safe_stem
from annotation.files.gold_folder import describe_files, manifest
from annotation.gold import ExportOptions, Format, RaterColumns, Tally, Unfinished, gold_row
from annotation.gold_card import COLUMNS, GRADES, MOST_GENRES, TASK_BIBTEX, front_matter, gold_card
from annotation.reliability.report import AgreementTally
from annotation.senses import PairSenses, SenseText
from annotation.types import Average, Cause, ProjectSettings, RatedPair, RaterComment
from kpdemo.io.tables import escape_formula

ROOT = Path(__file__).parent.parent.parent
SETTINGS = ProjectSettings("harbour", raters_per_pair=2)
SENSES = PairSenses(None, "cook%1:18:00::", "", SenseText("cook", "who cooks"), (SenseText("a", "b"),), (), 0)


def rated(id, *grades, **fields):
    plain = {"id": 1, "external_id": id, "type": "sentence2phrase", "left": "L", "right": "R"}
    none = dict.fromkeys(("genre", "intended", "source"))
    ratings = tuple((f"r{number}", Decimal(grade)) for number, grade in enumerate(grades))
    return RatedPair(**{**plain, **none, "ratings": ratings, **fields})


PAIRS = (
    rated("001", "2", "2.75", left="NA", right="null", intended=Decimal(3)),
    rated(
        "2026-01-01", "0", "4", left='"no" end', right="None", adjudicated=Decimal("0.5"), cause=Cause.SCALE
    ),
    rated("003", "1", "1", left="=1+1", right="true", comments=(RaterComment("r0", "why?", True),)),
    rated(
        "a",
        "3",
        "3",
        type="word2sense",
        left="cook",
        right="cook%1:18:00::",
        source="cook#n#1",
        senses=SENSES,
    ),
    rated("b", "3"),
    rated("c", "0", "4"),
)


def export(folder, pairs=PAIRS, project=SETTINGS, more=None, **options):
    """The manifest of these pairs, whose files are in `folder`; `more` is added to it part by part."""
    chosen = ExportOptions(**options).written
    labels = {f"r{n}": f"rater {n + 1}" for n in range(2)}
    named = labels if chosen.raters is not RaterColumns.NONE else None
    extras = Extras(has_senses=True, has_comments=chosen.comments)
    tally, agreement = Tally(), AgreementTally(project)
    columns = named and list(named.values())
    with (
        open_gold(chosen.format, folder, project.types, columns, extras) as gold,
        open_unfinished(chosen.format, folder, columns, extras) as rest,
    ):
        for pair in pairs:
            row = gold_row(pair, project, named)
            tally.add(row)
            agreement.add(pair)
            (rest if row.reason else gold).add(row)
    files = describe_files(folder, {**gold.rows, **rest.rows}, {**gold.columns, **rest.columns})
    counts = {**tally.as_json(), "raters": 2}
    said = {"counts": counts, "agreement": agreement.as_json(), "files": files}
    written = manifest(project, chosen, version="0.1.0", **said)
    for part, told in (more or {}).items():
        written[part] = {**written[part], **told} if isinstance(told, dict) else told
    return written


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return export(tmp_path_factory.mktemp("gold"), unfinished=Unfinished.LIST)


def head(card):
    return DatasetCard(card).data.to_dict()


@pytest.mark.parametrize("format", Format)
def test_the_hub_finds_the_gold_files_alone_and_no_claim_of_licence_or_language(tmp_path, format):
    found = head(gold_card(export(tmp_path, format=format, unfinished=Unfinished.LIST)))
    assert set(found) == {"pretty_name", "task_categories", "tags", "size_categories", "configs"}
    assert (found["pretty_name"], found["size_categories"]) == ("harbour", ["n<1K"])
    read = [file["path"] for config in found["configs"] for file in config["data_files"]]
    if format is Format.SEMEVAL:  # types without pairs have empty files, which cannot be read
        assert read == [f"{t}.{f}.tsv" for t in ("sentence2phrase", "word2sense") for f in ("input", "gs")]
    else:
        assert read == [f"gold.{format.ending}"]
        assert [config["config_name"] for config in found["configs"]] == ["default"]


@pytest.mark.parametrize(
    ("pairs", "size"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (250_000, "100K<n<1M"), (20_000_000, "10M<n<100M")],
)
def test_the_size_is_that_of_the_pairs_with_gold(told, pairs, size):
    counts = {**told["counts"], "mean": pairs, "adjudicated": 0, "pairs": 10 * pairs}
    assert head(gold_card({**told, "counts": counts}))["size_categories"] == [size]


def as_datasets_reads(folder, config):
    """Rows by what `datasets` hands to pandas of a configuration: all of it but these keys, and the kinds."""
    options = {
        key: value for key, value in config.items() if key not in ("config_name", "data_files", "features")
    }
    kinds = {
        each["name"]: {"string": object}.get(each["dtype"], each["dtype"]) for each in config["features"]
    }
    [file] = config["data_files"]
    table = pandas.read_csv(folder / file["path"], dtype=kinds, **options)
    assert list(table.columns) == list(kinds)
    return table.astype(object).where(table.notna(), None).to_dict("records")


def test_a_card_of_medians_says_so_and_how_many_there_are(tmp_path):
    project = replace(SETTINGS, average=Average.MEDIAN)
    written = export(tmp_path, project=project, unfinished=Unfinished.LIST)
    card = gold_card(written)
    assert written["protocol"]["gold"].startswith("the adjudicated grade, else the median of the ratings")
    assert "| pairs | by decision | by median |" in card
    assert "Otherwise it is the median of the ratings" in card
    assert "or the `median` of the ratings" in card
    assert written["counts"]["median"] == written["counts"]["pairs"] - sum(
        written["counts"][other] for other in ("adjudicated", "too_few_ratings", "not_adjudicated")
    )


@pytest.mark.parametrize(("format", "kept"), [(Format.CSV, str), (Format.SPREADSHEET, escape_formula)])
def test_csv_is_read_as_it_was_written(tmp_path, format, kept):
    written = export(tmp_path, format=format, comments=True, unfinished=Unfinished.LIST)
    [config] = head(gold_card(written))["configs"]
    rows = as_datasets_reads(tmp_path, config)
    assert [(row["id"], row["left"], row["right"], row["gold"]) for row in rows] == [
        (pair.external_id, kept(pair.left), pair.right, gold)
        for pair, gold in zip(PAIRS, (2.375, 0.5, 1, 3), strict=False)
    ]
    assert [(row["genre"], row["intended"], row["rating:rater 2"]) for row in rows[:2]] == [
        (None, 3, 2.75),
        (None, None, 4),
    ]
    assert json.loads(rows[2]["comments"]) == [{"rater": "rater 1", "text": "why?", "problem": True}]
    with (tmp_path / "gold.csv").open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.reader(file)) == [each["name"] for each in config["features"]]


def test_the_tasks_layout_is_read_line_by_line(tmp_path):
    configs = head(gold_card(export(tmp_path, format=Format.SEMEVAL)))["configs"]
    read = {config["config_name"]: as_datasets_reads(tmp_path, config) for config in configs}
    assert read["sentence2phrase"] == [
        {"left": pair.left, "right": pair.right, "id": pair.external_id} for pair in PAIRS[:3]
    ]
    assert [row["gold"] for row in read[f"sentence2phrase{GRADES}"]] == [2.375, 0.5, 1]
    assert read["word2sense"] == [
        {"left": "cook", "right": "cook%1:18:00::", "source": "cook#n#1", "id": "a"}
    ]


KINDS = {"string": str, "float64": float, "int64": int, "bool": bool}


@pytest.mark.parametrize("raters", [RaterColumns.NONE, RaterColumns.ANONYMOUS])
def test_json_lines_have_the_fields_that_the_card_tells(tmp_path, raters):
    [config] = head(gold_card(export(tmp_path, comments=True, raters=raters)))["configs"]
    for line in (tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert list(row) == [each["name"] for each in config["features"]]
        for each in config["features"]:
            assert_kind(row[each["name"]], each)


def assert_kind(value, feature):
    if "list" in feature:
        for entry in value:
            assert list(entry) == [each["name"] for each in feature["list"]]
            for each in feature["list"]:
                assert_kind(entry[each["name"]], each)
    else:
        assert value is None or type(value) is KINDS[feature["dtype"]]


def test_every_column_that_a_gold_set_can_have_is_explained():
    every = Extras(True, True, True, True).all_columns
    assert set(every) == set(COLUMNS)


@pytest.mark.parametrize("format", Format)
def test_every_cause_is_explained_where_there_is_the_column(tmp_path, format):
    lines = gold_card(export(tmp_path, format=format)).splitlines()
    told = {line.split("`")[1] for line in lines if line.startswith("| `") and "|" in line[3:]}
    causes = {cause.value for cause in Cause}
    assert causes & told == (set() if format is Format.SEMEVAL else causes)


def test_the_same_manifest_gives_the_same_card_also_when_it_names_it(told):
    assert gold_card({**told, "card": {"name": "README.md", "sha256": "0"}}) == gold_card(told)
    assert gold_card(json.loads(json.dumps(told))) == gold_card(told)


NASTY = (
    "```",
    "~~~~",
    "<b>",
    "</details>",
    "<!--",
    "**",
    "_a_",
    "[x](http://a.b)",
    "![x](y)",
    "|",
    "---",
    "\\",
)
NASTY += (
    "# ",
    "\n",
    "\r",
    "\u2028",
    "\x85",
    "{{",
    "&lt;",
    "$$",
    "`",
    ": ",
    "'",
    '"',
    "%",
    "- ",
    "yes",
    "語",
    "é 😀",
)
nasty = st.lists(st.sampled_from(NASTY) | st.text("abc 1.", min_size=1, max_size=4), min_size=1, max_size=12)


def tokens(card):
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    flat = []
    for token in reader.parse(card[REGEX_YAML_BLOCK.match(card).end() :]):
        flat += [token, *(token.children or ())]
    return flat


def shape(found):
    """What is markup."""
    return [each.type for each in found if each.type not in ("text", "text_special")]


def with_texts(told, text):
    named = replace(SETTINGS, name=text, guidelines=text)
    protocol = {**told["protocol"], "guidelines": named.guidelines}
    by_type = {text: {**told["counts"]["by_type"]["sentence2phrase"], "by_genre": {text: told["counts"]}}}
    undefined = {"value": None, "reason": text, "pairs": 0, "ratings": 0, "low": None, "high": None}
    alphas = {"all": undefined, "unadjudicated": undefined}
    change = {"at": "2026-03-01", "setting": "types", "before": [text], "after": None, "ratings_before": 3}
    return {
        **told,
        "project": named.name,
        "protocol": protocol,
        "counts": {**told["counts"], "by_type": by_type},
        "agreement": {**told["agreement"], "by_type": {text: alphas}},
        "set_aside": [{"rater": text, "grades": 2, "reason": text, "at": "2026-03-01T09:00:00+00:00"}],
        "protocol_changes": [change],
    }


@settings(max_examples=50)
@given(nasty.map("".join).filter(str.strip))
def test_no_text_of_users_becomes_markup_or_yaml(told, text):
    card = gold_card(with_texts(told, text))
    line = " ".join(text.split())
    front = yaml.safe_load(REGEX_YAML_BLOCK.match(card)[2])
    assert front == {**yaml.safe_load(front_matter(told, 4).strip("-")), "pretty_name": line}
    found = tokens(card)
    assert shape(found) == shape(tokens(gold_card(with_texts(told, "harmless"))))
    [fence] = [each for each in found if each.type == "fence" and each.info == "markdown"]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    assert fence.content.rstrip() == lines
    heading = next(each for each in found if each.type == "inline")
    assert "".join(each.content for each in heading.children) == line


def test_steps_are_those_of_people_and_not_of_means(told):
    card = gold_card(told)
    assert "4 pairs of texts, each with a gold grade: how much" in card
    assert "carries, 0 to 4, the scale of" in card
    assert "## Scale\n\nPeople grade 0 to 4 in steps of 0.25; these points have names:" in card


def test_pairs_that_nobody_graded_are_not_told_as_graded(told, tmp_path):
    made = (
        "- The project has 6 pairs, with or without a gold grade, and 11 grades of 2 raters; it asks for "
        "grades of 2 raters a pair."
    )
    assert made in gold_card(told).splitlines()
    card = gold_card(export(tmp_path, [rated("a")], more={"counts": {"raters": 0}}))
    assert "- The project has 1 pair, with or without a gold grade, and no grades yet; it asks" in card


class HubLoader(yaml.SafeLoader):
    """Takes for numbers also what js-yaml 4 does, by which the Hub reads front matter."""


for pattern in (
    r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)",
    r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?",
):
    HubLoader.add_implicit_resolver("!number", re.compile(f"^(?:{pattern})$"), list("-+.0123456789"))
HubLoader.add_constructor("!number", lambda _, node: complex(0))


@pytest.mark.parametrize("name", ["1e5", "0o17", "-1E3", ".5e1", "2026", "1_000", "0b1", "+7", "1.5", "="])
def test_names_that_the_hub_would_take_for_numbers_are_quoted(tmp_path, name):
    project = replace(SETTINGS, name=name, types=(name,))
    card = gold_card(export(tmp_path, [rated("a", "1", "1", type=name)], project, format=Format.SEMEVAL))
    front = yaml.load(REGEX_YAML_BLOCK.match(card)[2], HubLoader)
    assert front["pretty_name"] == name
    stem = safe_stem(name)
    assert [config["config_name"] for config in front["configs"]] == [stem, f"{stem}{GRADES}"]


def test_agreement_is_told_to_be_also_of_pairs_without_a_gold_grade(tmp_path):
    card = gold_card(export(tmp_path, [*PAIRS[:3], rated("c", "0", "4")], unfinished=Unfinished.LEAVE_OUT))
    assert "3 pairs of texts, each with a gold grade" in card
    assert "all pairs with two ratings or more, also those without a gold grade; “unadjudicated”" in card
    assert "; 4 pairs, 8 ratings) |" in card


def test_the_card_tells_where_the_intervals_are_of_too_few_pairs(told):
    def card(whole, unadjudicated, of_type, low=0.5):
        def alphas(pairs, kept):
            figures = {"value": 0.7, "low": low, "high": 0.8, "ratings": 200}
            return {"all": {**figures, "pairs": pairs}, "unadjudicated": {**figures, "pairs": kept}}

        by_type = {"a|b": alphas(of_type, of_type)}
        found = {**told["agreement"], "alpha": alphas(whole, unadjudicated), "by_type": by_type}
        return gold_card({**told, "agreement": found})

    said = (
        "\n\nToo few pairs to tell: 49 pairs with two grades or more, and with fewer than 50 the interval is "
    )
    assert f"{said}often narrower than it should be.\n\nWhat people reach" in card(49, 49, 49)
    parts = (
        "\n\nFewer than 50 pairs with two grades, so that the interval is often narrower than it should be: "
    )
    assert f"{parts}all types (unadjudicated), a\\|b.\n\nWhat people reach" in card(50, 49, 49)
    for pairs, low in ((50, 0.5), (49, None)):
        assert "narrower than it should be" not in card(pairs, pairs, pairs, low)


def test_undefined_agreement_is_said_in_words(tmp_path):
    card = gold_card(export(tmp_path, [rated("a", "2", "2")]))
    assert "| all types | undefined. Only one pair has two ratings; it takes two. |" in card
    assert not {"nan", "None", "null"} & set(DatasetCard(card).text.replace("|", " ").split())


def test_grades_from_files_claim_no_order_training_or_checks(told):
    protocol = {
        **told["protocol"],
        "most_per_rater": 40,
        "order_of_predictions": "document",
        "training": {"pairs": 12, "pass_percent": 80, "distance": 0.5},
        "checks": {"pairs": 1, "every": 20, "distance": 1.0},
    }
    claims = (
        "All raters met the pairs in one random order (seed 20140301); all pairs of predicted keyphrases of "
        "a document came one after the other, at a random place of the document's own.",
        "A rater was given 40 pairs at most.",
        "raters first grade 12 training pairs, unless excused, and pass with 80 % of these grades within 0.5 "
        "point of the known ones.",
        "one pair in 20 that a rater meets has a known grade (1 check pair; accepted within 1 point).",
    )
    for imported, origin in ((0, ""), (4, "4 of these grades came from"), (11, "All grades came from files")):
        counts = {**told["counts"], **({"imported_ratings": imported} if imported else {})}
        card = gold_card({**told, "protocol": protocol, "counts": counts})
        assert origin in card
        assert ("came from files" in card) is bool(imported)
        assert [claim in card for claim in claims] == [imported < 11] * len(claims)
    assert "Training" not in gold_card(told)


def test_what_was_changed_and_set_aside_is_told_as_the_manifest_tells_it(told):
    changes = [
        {
            "at": "2026-03-01T09:00",
            "setting": "guidelines",
            "before": "a" * 64,
            "after": "b" * 64,
            "ratings_before": 1,
        },
        {
            "at": "2026-03-02T09:00",
            "setting": "most_per_rater",
            "before": None,
            "after": 40,
            "ratings_before": 2,
        },
        {
            "at": "2026-03-03T09:00",
            "setting": "may_revise",
            "before": True,
            "after": False,
            "ratings_before": 3,
        },
        {
            "at": "2026-03-03T10:00",
            "setting": "consent",
            "before": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",  # of an empty text
            "after": "c" * 64,
            "ratings_before": 4,
        },
        {"at": "2026-03-04T09:00", "setting": "step", "before": None, "after": None, "ratings_before": 4000},
    ]
    aside = [{"grades": 1, "reason": "one grade\nonly", "at": "2026-03-05T09:00:00+00:00"}]
    card = gold_card({**told, "protocol_changes": changes, "set_aside": aside})
    for line in (
        "| 2026-03-01 | `guidelines` | `aaaaaaaaaaaa` | `bbbbbbbbbbbb` | 1 |",
        "| 2026-03-02 | `most_per_rater` | none | 40 | 2 |",
        "| 2026-03-03 | `may_revise` | yes | no | 3 |",
        "| 2026-03-03 | `consent` | none | `cccccccccccc` | 4 |",
        "| 2026-03-04 | `step` | not kept | not kept | 4,000 |",
        "- 1 grade of one rater, on 2026-03-05: one grade only",
    ):
        assert line in card.splitlines()


def test_what_raters_agreed_to_is_told_without_names(told):
    assert "Consent" not in gold_card(told)
    counts = {"agreed": 1, "agreed_to_earlier_text": 2, "not_agreed": 3}
    text = "I agree.\n```\n# All of it"
    card = gold_card({**told, "consent": {"text": text, "sha256": "0" * 64, "raters": counts}})
    assert (
        "### Consent\n\nThe text was changed on the way. Raters must agree to it as it reads now before they "
        f"go on:\n\n````markdown\n{text}\n````" in card
    )
    for before, not_here, begin in ((0, 0, "before their first pair"), (0, 3, "before they go on")):
        counted = {"agreed": 1, "agreed_to_earlier_text": before, "not_agreed": not_here}
        unchanged = gold_card({**told, "consent": {"text": text, "sha256": "0" * 64, "raters": counted}})
        assert f"### Consent\n\nRaters must agree to it as it reads now {begin}:" in unchanged
    assert (
        "- 1 rater agreed to this text\n- 2 raters agreed to an earlier text\n- 3 raters agreed to none "
        "here: they graded while there was no text, or their grades came from files" in card
    )

    ended = gold_card({**told, "consent": {"text": None, "sha256": None, "raters": counts}})
    assert "no longer asked to agree to a text.\n\n- 2 raters agreed to an earlier" in ended
    changes = [
        {
            "at": "2026-03-01T09:00",
            "setting": "consent",
            "before": None,
            "after": "b" * 64,
            "ratings_before": 1,
        }
    ]
    assert "| `consent` | none | `bbbbbbbbbbbb` | 1 |" in gold_card({**told, "protocol_changes": changes})


@pytest.mark.parametrize("unfinished", [Unfinished.LEAVE_OUT, Unfinished.LIST])
def test_unfinished_and_doubtful_pairs_are_counted(tmp_path, unfinished):
    more = {"counts": {"withdrawn": 3, "reopened": 1}}
    card = gold_card(export(tmp_path, unfinished=unfinished, more=more)).splitlines()
    where = {"list": "listed in a file of their own", "leave-out": "left out"}[unfinished]
    assert f"- 1 pair with too few ratings, {where}" in card
    assert f"- 1 pair flagged and without a decision, {where}" in card
    assert "- 3 pairs withdrawn from the project, in no file and no other count" in card
    assert "- 1 pair graded again after the decision, which remains in force until a new one is made" in card
    complete = {"counts": dict.fromkeys(("too_few_ratings", "not_adjudicated"), 0)}
    (tmp_path / "new").mkdir()
    assert "None: every pair" in gold_card(export(tmp_path / "new", more=complete))


def with_genres(told, genres):
    """The card of a gold set whose pairs by genre are these."""
    of_type = told["counts"]["by_type"]["sentence2phrase"]
    by_genre = {genre: {"pairs": 9, "mean": pairs, "adjudicated": 0} for genre, pairs in genres.items()}
    by_type = {"sentence2phrase": {**of_type, "by_genre": by_genre}}
    return gold_card({**told, "counts": {**told["counts"], "by_type": by_type}})


def test_many_genres_are_only_counted(told):
    for many in (MOST_GENRES, MOST_GENRES + 1):
        genres = {"": 2, "without gold": 0} | {f"genre {number}": 3 for number in range(many)}
        card = with_genres(told, genres)
        assert ("| genre 7 | 3 |" in card) is (many == MOST_GENRES)
    assert f"They are of {MOST_GENRES + 1} genres or of none (2); `manifest.json`" in card
    assert f"They are of {MOST_GENRES + 1} genres; `manifest" in with_genres(told, {**genres, "": 0})


def test_genres_are_those_of_pairs_with_a_gold_grade(told):
    rows = with_genres(told, {"": 2, "*no genre*": 1, "News": 0, "none": 4}).splitlines()
    place = rows.index("| genre | pairs |")
    assert rows[place + 2 : place + 6] == [
        "| *no genre* | 2 |",
        r"| \*no genre\* | 1 |",
        "| none | 4 |",
        "",
    ]
    for genres in ({"": 2, "News": 0}, {"": 2}, {}):
        assert "| genre | pairs |" not in with_genres(told, genres)


def test_the_card_cites_as_the_documentation_does():
    assert TASK_BIBTEX in (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("format", Format)
def test_an_empty_gold_set_is_called_so_and_has_nothing_to_read_or_to_score_on(tmp_path, format):
    card = gold_card(export(tmp_path, [rated("b", "3")], format=format, unfinished=Unfinished.LIST))
    assert "This gold set is empty" in card
    assert "sha256sum --check" in card
    assert not [call for call in ("load_dataset", "annotation score") if call in card]
    found = head(card)
    assert "configs" not in found
    assert found["viewer"] is False  # else the Hub shows the list of unfinished pairs


@pytest.mark.parametrize(
    ("types", "told"),
    [
        (["s2s"], "how similar in meaning its two items are, 0 to 4"),
        (["similarity"], "how similar in meaning its two items are, 0 to 4"),
        (
            ["s2s", "s2t"],
            "how much of the larger item's meaning the smaller item carries or, where neither item is "
            "larger, how similar they are, 0 to 4",
        ),
        (
            ["similarity", "s2t"],
            "how much of the larger item's meaning the smaller item carries or, where neither item is "
            "larger, how similar they are, 0 to 4",
        ),
        (["s2t"], "how much of the larger item's meaning the smaller item carries, 0 to 4"),
    ],
)
def test_no_item_is_called_larger_where_neither_is(tmp_path, types, told):
    pairs = [rated(type, "2", "2", type=type) for type in types]
    card = gold_card(export(tmp_path, pairs, ProjectSettings("x", types=tuple(types))))
    beginning = " ".join(card.split())
    assert f"each with a gold grade: {told}, the scale of SemEval-2014 Task 3" in beginning
    assert ("larger text" in card) is ("s2t" in types)
    assert (", adapted where neither item is larger." in beginning) is (types != ["s2t"])
    assert "the larger item," not in beginning  # left is not where it is phrase2paragraph


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        ({}, "rounded half to even to 4 decimals."),
        (
            {"adjudicated": Decimal(1), "cause": Cause.SCALE},
            "decimals, except where an adjudicator decided before: 1 pair has one.",
        ),
    ],
)
def test_a_project_without_adjudication_is_told_as_one(tmp_path, decided, told):
    pairs = [rated("a", "0", "4", **decided), rated("b", "1", "4")]
    manifest = export(tmp_path, pairs, replace(SETTINGS, threshold=None))
    assert manifest["protocol"]["adjudication_threshold"] is None
    card = " ".join(gold_card(manifest).split())
    assert "The project does without adjudication: the gold grade is the mean of the ratings, " in card
    assert told in card


def test_the_table_of_grades_is_the_projects_own(told, tmp_path):
    def card(scale_words: str) -> str:
        folder = tmp_path / str(len(scale_words))
        folder.mkdir()
        return gold_card(export(folder, project=replace(SETTINGS, scale_words=scale_words)))

    plain = gold_card(told)
    assert "the scale of SemEval-2014 Task 3." in plain
    assert "| 4 | Very similar | The two items have very similar meanings" in plain
    words = "0 Wrong: a\n1 Poor: b\n2 <b>Fair</b>: c | d\n3 Good: e\n4 Right: f"
    own = card(words)
    assert "the scale of SemEval-2014 Task 3 in the project's own words." in " ".join(own.split())
    assert "| 4 | Right | f |" in own
    assert "Very similar" not in own
    assert "<b>" not in own
    both = card(f"[document2keyphrase]\n{words}")
    assert both.index("Very similar") < both.index("document2keyphrase are graded by other words")
    assert both.index("graded by other words") < both.index("| 4 | Right | f |")
