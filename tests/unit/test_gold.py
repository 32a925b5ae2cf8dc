"""The gold grade, the rows of each format, and folders that are written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import annotation
import kpdemo
from annotation.errors import ExportError
from annotation.files.gold_files import open_gold, open_unfinished
from annotation.files.gold_folder import (
    CARD,
    MANIFEST,
    GoldFolder,
    describe_files,
    manifest,
    scale_text,
    write_archive,
    write_card,
    write_manifest,
)
from annotation.gold import (
    ExportOptions,
    Format,
    GoldSource,
    Reason,
    Tally,
    gold_row,
    rater_numbers,
    standing_of,
)
from annotation.scale import CLSS_POINTS
from annotation.types import Average, Cause, ProjectSettings, RatedPair
from kpdemo.io.tables import escape_formula, open_source, unescape_formula
from tests.reading import read_items

SETTINGS = ProjectSettings("harbour", raters_per_pair=2)
QUARTER = Decimal("0.25")
quarters = st.integers(0, 16)
NASTY = (
    "=1+1",
    "+x",
    "-x",
    "@x",
    "\tx",
    "\rx",
    "\nx",
    "'=x",
    "''-x",
    "'x",
    "",
    '"',
    'a"b',
    "a,b\r\nc",
    "'",
    "= ",
)


def rated(*grades, **fields):
    ratings = tuple((f"r{number}", Decimal(grade)) for number, grade in enumerate(grades))
    plain = {"id": 1, "external_id": "n-1", "type": "sentence2phrase", "left": "L", "right": "R"}
    none = {"genre": None, "intended": None, "source": None}
    return RatedPair(**{**plain, **none, "ratings": ratings, **fields})


def row(*grades, **fields):
    pair = rated(*grades, **fields)
    return gold_row(pair, SETTINGS, {name: name for name, _ in pair.ratings})


@given(st.lists(quarters, min_size=1, max_size=9))
def test_the_mean_is_the_exact_one_rounded_half_to_even(found):
    exact = Fraction(sum(found), 4 * len(found))
    assert standing_of([number * QUARTER for number in found]).mean == Decimal(round(exact * 10_000)) / 10_000


def test_the_mean_has_no_noise():
    assert [
        float(standing_of([Decimal(g) for g in grades]).mean) for grades in ("22", "112", "11111112")
    ] == [
        2,
        1.3333,
        1.125,
    ]


def test_gold_is_the_mean_where_raters_agree_and_the_decision_where_there_is_one():
    assert (row("2", "2.75").gold, row("2", "2.75").gold_source) == (Decimal("2.375"), GoldSource.MEAN)
    decided = row("0", "4", adjudicated=Decimal(0), cause=Cause.SCALE)
    assert (decided.gold, decided.gold_source, decided.mean) == (
        Decimal(0),
        GoldSource.ADJUDICATED,
        Decimal(2),
    )


@pytest.mark.parametrize(
    ("grades", "decided", "gold", "source"),
    [
        (["0", "1", "3"], None, "1", GoldSource.MEDIAN),
        (["0", "0.25", "0.5", "3"], None, "0.375", GoldSource.MEDIAN),
        (["0", "1", "3"], "2", "2", GoldSource.ADJUDICATED),
    ],
)
def test_a_project_may_have_the_median_where_there_is_no_decision(grades, decided, gold, source):
    settings = replace(SETTINGS, threshold=None, average=Average.MEDIAN)
    found = gold_row(rated(*grades, adjudicated=decided and Decimal(decided)), settings, None)
    assert (found.gold, found.gold_source) == (Decimal(gold), source)
    tally = Tally()
    tally.add(found)
    assert tally.as_json()[source] == 1


@pytest.mark.parametrize(
    ("grades", "decided", "reason"),
    [
        ([], None, Reason.TOO_FEW_RATINGS),
        (["0"], None, Reason.TOO_FEW_RATINGS),
        (["0", "1"], None, Reason.NOT_ADJUDICATED),
        (["0", "0.75"], None, None),
        (["0", "0"], None, None),
        (["0", "4"], Decimal(0), None),
    ],
)
def test_a_pair_is_unfinished_without_enough_ratings_or_the_decision_it_needs(grades, decided, reason):
    found = row(*grades, adjudicated=decided)
    assert found.reason == reason
    assert (found.gold is None) == (reason is not None)


@given(st.text(alphabet="=+-@|%＝＋－＠\t\r\n' aé😀", max_size=8))
def test_a_protected_cell_runs_nothing_and_is_restored_exactly(cell):
    assert not escape_formula(cell).startswith(tuple("=+-@|%＝＋－＠\t\r\n"))
    assert unescape_formula(escape_formula(cell)) == cell


@pytest.mark.parametrize("cell", ["plain", "'quoted'", "", "2.75", "'"])
def test_harmless_cells_stay_as_they_are(cell):
    assert escape_formula(cell) == cell


def write(folder, format, rows, labels=(), types=("sentence2phrase",)):
    folder.mkdir(exist_ok=True)
    with open_gold(format, folder, types, labels) as files:
        for one in rows:
            files.add(one)
    return files.rows


@pytest.mark.parametrize("text", NASTY)
def test_json_lines_keep_every_character_and_csv_protects_it(tmp_path, text):
    found = row("2", "2.5", left=text, right=f"{text}\u2028\u0085", source=text)
    write(tmp_path / "j", Format.JSONL, [found], ["r0", "r1"])
    [line] = (tmp_path / "j" / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    value = json.loads(line)
    assert (value["left"], value["right"], value["source"]) == (text, f"{text}\u2028\u0085", text)
    assert value["ratings"] == [{"rater": "r0", "grade": 2.0}, {"rater": "r1", "grade": 2.5}]
    write(tmp_path / "c", Format.SPREADSHEET, [found], ["r0", "r1"])
    content = (tmp_path / "c" / "gold.csv").read_bytes().decode("utf-8-sig")
    [header, cells] = csv.reader(io.StringIO(content, newline=""))
    fields = dict(zip(header, cells, strict=True))
    assert not fields["left"].startswith(tuple("=+-@\t\r\n"))
    assert unescape_formula(fields["left"]) == text
    assert (fields["gold"], fields["rating:r0"], fields["rating:r1"]) == ("2.25", "2", "2.5")


@given(st.lists(st.text(alphabet="=+-@|%＝＋－＠\t\r\n', \"aé😀", min_size=1, max_size=8), max_size=4))
def test_pandas_reads_the_texts_of_csv_as_they_are_and_an_import_reads_both_forms(texts):
    rows = [
        row("2", "2", left=f"{text}a", right=f"{text}b", external_id=f"p{n}") for n, text in enumerate(texts)
    ]
    with TemporaryDirectory() as folder:
        for format in (Format.CSV, Format.SPREADSHEET):
            write(Path(folder, format), format, rows)
        path = Path(folder, "csv", "gold.csv")
        table = pd.read_csv(path, dtype=str, keep_default_na=False, lineterminator="\n")
        assert list(table["left"]) == [one.left for one in rows]
        for format in (Format.CSV, Format.SPREADSHEET):
            with open_source(Path(folder, format, "gold.csv")) as source:
                pairs = list(read_items(source)) if rows else []
            assert [(pair.left, pair.right) for pair in pairs] == [(one.left, one.right) for one in rows]


def test_a_rater_who_did_not_rate_has_an_empty_cell_and_nought_is_a_grade(tmp_path):
    write(tmp_path / "c", Format.CSV, [row("0", "0")], ["r0", "r1", "r2"])
    header, cells = csv.reader((tmp_path / "c" / "gold.csv").read_text(encoding="utf-8").splitlines())
    assert (
        dict(zip(header, cells, strict=True)).items()
        >= {"gold": "0", "rating:r1": "0", "rating:r2": ""}.items()
    )


def test_the_tasks_layout_has_line_by_line_the_same_pairs(tmp_path):
    rows = [
        row("2", "2.5", external_id="News-1", left="a\tb\r\nc\u2028d\x0be", right="x\ny"),
        row(
            "0",
            "0",
            external_id="a-1",
            type="word2sense",
            left="cook",
            right="cook%1:18:00::",
            source="cook#n#1",
        ),
        row(
            "4",
            "4",
            external_id="b-2",
            type="word2sense",
            left="bake",
            right="bake%2:30:00::",
            source="a list",
        ),
    ]
    counted = write(
        tmp_path / "s", Format.SEMEVAL, rows, None, ("sentence2phrase", "word2sense", "phrase2word")
    )
    folder = tmp_path / "s"
    assert (folder / "sentence2phrase.input.tsv").read_bytes() == b"a b  c d e\tx y\tNews-1\n"
    assert (folder / "sentence2phrase.gs.tsv").read_bytes() == b"2.25\n"
    assert (folder / "word2sense.input.tsv").read_text() == (
        "cook\tcook%1:18:00::\tcook#n#1\ta-1\nbake\tbake%2:30:00::\t\tb-2\n"
    )
    assert (folder / "word2sense.gs.tsv").read_text() == "0\n4\n"
    assert (folder / "phrase2word.gs.tsv").read_bytes() == b""
    assert counted["word2sense.gs.tsv"] == 2


def test_a_type_with_a_strange_name_stays_in_the_folder(tmp_path):
    found = [row("1", "1", type="../up"), row("2", "2", type=".._up")]
    counted = write(tmp_path / "s", Format.SEMEVAL, found, None, ())
    assert {path.name for path in (tmp_path / "s").iterdir()} == set(counted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]
    assert len(counted) == 4


def test_parquet_holds_what_json_lines_hold(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [row("2", "2.5", left=text, external_id=str(number)) for number, text in enumerate(NASTY)]
    write(tmp_path / "p", Format.PARQUET, rows, ["r0", "r1"])
    write(tmp_path / "j", Format.JSONL, rows, ["r0", "r1"])
    lines = (tmp_path / "j" / "gold.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert pq.read_table(tmp_path / "p" / "gold.parquet").to_pylist() == [json.loads(line) for line in lines]


@pytest.mark.parametrize("format", list(Format))
def test_the_same_rows_give_the_same_bytes_and_the_listed_hashes(tmp_path, format):
    rows = [row("2", "2.5", external_id=str(number)) for number in range(30)]
    described = []
    for name in ("one", "two"):
        counted = write(tmp_path / name, format, rows, ["r0", "r1"])
        described.append(describe_files(tmp_path / name, counted, {file: ["id"] for file in counted}))
    assert described[0] == described[1]
    for file in described[0]:
        content = (tmp_path / "one" / file["name"]).read_bytes()
        assert file["sha256"] == sha256(content).hexdigest()
        assert file["rows"] == 30
        assert file["bytes"] == len(content)
        assert file["lines"] == (None if format is Format.PARQUET else content.count(b"\n"))


@pytest.mark.parametrize("format", list(Format))
def test_unfinished_pairs_are_listed_with_their_reason(tmp_path, format):
    with open_unfinished(format, tmp_path, ["r0"]) as files:
        files.add(row("2", external_id="n\t7"))
    [name] = files.rows
    if format is Format.PARQUET:
        pq = pytest.importorskip("pyarrow.parquet")
        assert pq.read_table(tmp_path / name).to_pylist()[0]["reason"] == "too_few_ratings"
    else:
        assert "too_few_ratings" in (tmp_path / name).read_text()
        assert ("n\t7" in (tmp_path / name).read_text()) is (format.ending == "csv")


@given(st.sets(st.integers(1, 50)), st.sets(st.integers(1, 50)), st.binary(min_size=1, max_size=64))
def test_numbers_of_raters_are_1_to_n_and_stay_when_others_join(first, later, key):
    numbers = rater_numbers(first, key, {})
    assert sorted(numbers.values()) == list(range(1, len(first) + 1))
    grown = rater_numbers(first | later, key, numbers)
    assert grown.items() >= numbers.items()
    assert sorted(grown.values()) == list(range(1, len(first | later) + 1))


def test_numbers_of_raters_do_not_follow_their_accounts():
    first = {rater_numbers(range(1, 6), bytes([key]), {})[1] for key in range(50)}
    assert first == {1, 2, 3, 4, 5}


def test_the_manifest_names_protocol_options_counts_and_no_time():
    tally = Tally()
    for found in (
        row("2", "2"),
        row("0", "4", genre="news"),
        row("1"),
        row("0", "4", adjudicated=Decimal(3)),
    ):
        tally.add(found)
    written = manifest(
        replace(SETTINGS, guidelines="Grade *meaning*."),
        ExportOptions(),
        version=annotation.__version__,
        counts=tally.as_json(),
        agreement=None,
        files=[],
    )
    counts = written["counts"]
    assert {name: counts[name] for name in ("pairs", "ratings", "mean", "adjudicated")} == {
        "pairs": 4,
        "ratings": 7,
        "mean": 1,
        "adjudicated": 1,
    }
    assert (counts["too_few_ratings"], counts["not_adjudicated"]) == (1, 1)
    assert counts["by_type"]["sentence2phrase"]["by_genre"]["news"]["not_adjudicated"] == 1
    assert written["protocol"]["guidelines"] == "Grade *meaning*."
    assert written["protocol"]["scale_sha256"] == sha256(scale_text(CLSS_POINTS).encode()).hexdigest()
    assert written["software"]["version"] == kpdemo.__version__
    assert "most_per_rater" not in written["protocol"]
    assert "20" not in str([key for key in written if "time" in key or "date" in key])


def test_the_manifest_names_the_limit_of_pairs_per_rater_where_there_is_one():
    limited = replace(SETTINGS, most_per_rater=40)
    written = manifest(limited, ExportOptions(), version="1", counts={}, agreement=None, files=[])
    assert written["protocol"]["most_per_rater"] == 40


def fill(folder, name="gold.csv", content=b"x\n"):
    (folder.partial / name).write_bytes(content)
    files = describe_files(folder.partial, {name: 1}, {name: ["id"]})
    told = {"manifest_format": 1, "files": files, "card": write_card(folder.partial, f"# {name}\n")}
    write_manifest(folder.partial, told)


def test_a_folder_appears_whole(tmp_path):
    with GoldFolder(tmp_path / "new" / "gold") as folder:
        fill(folder)
        folder.publish()
    assert {path.name for path in (tmp_path / "new" / "gold").iterdir()} == {"gold.csv", CARD, MANIFEST}


def test_a_failure_leaves_nothing(tmp_path):
    def stopped():
        with GoldFolder(tmp_path / "new" / "gold") as folder:
            fill(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_files_are_put_in_place_brings_the_earlier_ones_back(tmp_path, monkeypatch):
    with GoldFolder(tmp_path) as folder:
        fill(folder, content=b"old\n")
        folder.publish()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    import annotation.files.gold_folder as module

    def refuse(old, new, moved):
        if old.name == MANIFEST and old.parent.name.startswith(".export-"):
            raise OSError("disk full")
        old.rename(new)
        moved.append((old, new))

    monkeypatch.setattr(module, "_move", refuse)

    def replace_it():
        with GoldFolder(tmp_path, force=True) as folder:
            fill(folder, content=b"new\n")
            folder.publish()

    with pytest.raises(OSError, match="disk full"):
        replace_it()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_with_anything_in_it_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="not empty"):
        GoldFolder(tmp_path)
    with pytest.raises(ExportError, match=r"letter\.txt"):
        GoldFolder(tmp_path, force=True)
    with pytest.raises(ExportError, match="is a file"):
        GoldFolder(tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_force_replaces_an_earlier_export_and_leaves_no_file_of_it(tmp_path):
    for name, force in (("gold.jsonl", False), ("gold.csv", True)):
        with GoldFolder(tmp_path, force=force) as folder:
            fill(folder, name)
            folder.publish()
    assert {path.name for path in tmp_path.iterdir()} == {"gold.csv", CARD, MANIFEST}
    assert (tmp_path / CARD).read_text() == "# gold.csv\n"


def test_force_never_replaces_a_card_that_somebody_wrote_in(tmp_path):
    with GoldFolder(tmp_path) as folder:
        fill(folder)
        folder.publish()
    card = tmp_path / CARD
    card.write_text(f"{card.read_text()}Licence: CC BY 4.0.\n")
    with pytest.raises(ExportError, match=r"README\.md that was changed after the export: --force would"):
        GoldFolder(tmp_path, force=True)
    card.unlink()
    GoldFolder(tmp_path, force=True)


@pytest.mark.parametrize("manifest", [{}, {"card": None}, {"card": []}, {"files": None}, []])
def test_a_readme_that_no_manifest_names_is_somebody_elses(tmp_path, manifest):
    write_manifest(tmp_path, manifest)
    (tmp_path / CARD).write_text("# Mine\n")
    with pytest.raises(ExportError, match=r"no export wrote \(README\.md\)"):
        GoldFolder(tmp_path, force=True)


def test_an_archive_of_the_same_files_has_the_same_bytes(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "gold.csv").write_text("x\n")
    for name in ("a.zip", "b.zip"):
        write_archive(tmp_path / "in", tmp_path / name, "harbour-csv")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == ["harbour-csv/gold.csv"]
        assert archive.read("harbour-csv/gold.csv") == b"x\n"
