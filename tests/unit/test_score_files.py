"""Reading gold grades and scores: the layouts, and a sentence for whatever is wrong."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from annotation.errors import ImportFileError, ScoreFileError
from annotation.files.gold_files import open_gold, open_unfinished
from annotation.files.scores import GoldPair, Scores, read_gold, read_scores, read_ungraded
from annotation.gold import Format, GoldRow, GoldSource, Reason
from tests.workbooks import workbook

PAIRS = [
    GoldPair("phrase2word", "News-1", "a small boat ", "canoe", 3.25, "News"),
    GoldPair("phrase2word", "News-2", "a | \"bar", "tab", 0.0, "News"),
    GoldPair("word2sense", "w2s-1", "mouse#n", "touchpad%1:06:00::", 2.6667),
]  # fmt: skip


def bare(pairs: list[GoldPair]) -> list[tuple[object, ...]]:
    """All but the place, which the caller knows."""
    return [(pair.type, pair.id, pair.left, pair.right, pair.gold, pair.genre) for pair in pairs]


def jsonl(folder: Path, name: str = "gold.jsonl", pairs: list[GoldPair] = PAIRS) -> Path:
    fields = ("type", "id", "left", "right", "gold", "genre")
    lines = [json.dumps({name: getattr(pair, name) for name in fields}) + "\n" for pair in pairs]
    (folder / name).write_text("".join(lines))
    return folder / name


def task_files(folder: Path) -> Path:
    (folder / "phrase2word.test.input.tsv").write_text(
        'a small boat \tcanoe\tNews-1\na | "bar\ttab\tNews-2\n'
    )
    (folder / "phrase2word.test.gs.tsv").write_text("3.25\n0.00\n")
    (folder / "word2sense.test.input.tsv").write_text("mouse#n\ttouchpad%1:06:00::\ttouchpad#n#1\tw2s-1\n")
    (folder / "word2sense.test.gs.tsv").write_text("2.6667\r\n")
    return folder


# Gold


def test_json_lines_and_the_files_of_the_task_are_the_same_gold(tmp_path):
    task_files(tmp_path)
    assert bare(read_gold([jsonl(tmp_path)])) == bare(PAIRS)
    (tmp_path / "gold.jsonl").unlink()
    assert bare(read_gold([tmp_path])) == bare(PAIRS)
    files = [tmp_path / "word2sense.test.gs.tsv", tmp_path / "phrase2word.test.input.tsv"]
    assert bare(read_gold(files)) == bare([PAIRS[2], *PAIRS[:2]])


def test_grades_of_the_task_may_lie_in_another_folder(tmp_path):
    task_files(tmp_path)
    keys = tmp_path / "keys"
    keys.mkdir()
    grades = shutil.move(tmp_path / "phrase2word.test.gs.tsv", keys)
    texts = tmp_path / "phrase2word.test.input.tsv"
    assert bare(read_gold([Path(grades), texts])) == bare(PAIRS[:2])
    with pytest.raises(ScoreFileError, match=r"needs phrase2word.test.gs.tsv: put it beside it"):
        read_gold([texts])


@pytest.mark.parametrize("format", Format)
def test_an_export_is_gold(tmp_path, format):
    with open_gold(format, tmp_path, ["phrase2word", "word2sense"], None) as writer:
        for pair in PAIRS:
            writer.add(exported(pair, Decimal(str(pair.gold))))
    assert bare(read_gold([tmp_path])) == bare(PAIRS)


def exported(pair: GoldPair, gold: Decimal | None) -> GoldRow:
    source = None if gold is None else GoldSource.MEAN
    reason = Reason.TOO_FEW_RATINGS if gold is None else None
    return GoldRow(
        pair.id, pair.type, pair.genre, pair.left, pair.right, gold, source, gold,
        Decimal(0), 2, (), None, None, None, reason,
    )  # fmt: skip


def name_in_manifest(folder: Path, *names: str) -> None:
    """As an export into the folder that wrote these files."""
    files = [{"name": name} for name in names]
    (folder / "manifest.json").write_text(json.dumps({"manifest_format": 1, "files": files}))


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("unfinished", [0, 2])
def test_pairs_that_an_export_lists_as_unfinished_may_have_scores_which_are_left_out(
    tmp_path, format, unfinished
):
    others = [
        GoldPair("phrase2word", "News-3", "a red boat", "=cmd", 0),
        GoldPair("document2keyphrase", "w2s-1", "A document.", "a phrase", 0),
    ][:unfinished]
    with open_gold(format, tmp_path, ["phrase2word", "word2sense"], None) as writer:
        for pair in PAIRS:
            writer.add(exported(pair, Decimal(str(pair.gold))))
    with open_unfinished(format, tmp_path, None) as writer:
        for pair in others:
            writer.add(exported(pair, None))
    assert read_ungraded([tmp_path]) == frozenset()  # the list is of no export that the folder knows
    name_in_manifest(tmp_path, *(path.name for path in tmp_path.iterdir()))
    assert read_ungraded([tmp_path]) == {pair.key for pair in others}
    assert bare(read_gold([tmp_path])) == bare(PAIRS)

    rows = [{"id": pair.id, "type": pair.type, "score": n} for n, pair in enumerate([*PAIRS, *others])]
    run = tmp_path / "run.jsonl"
    run.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert read_scores(run, PAIRS, read_ungraded([tmp_path])) == Scores((0, 1, 2), unfinished)
    if others:
        with pytest.raises(ScoreFileError, match="line 4: the gold grades have no 'News-3'"):
            read_scores(run, PAIRS)


UNGRADED = frozenset({("phrase2word", "News-3"), ("sentence2phrase", "News-1")})


def test_a_score_without_a_type_is_that_of_the_pair_with_a_gold_grade(tmp_path):
    run = tmp_path / "run.csv"
    run.write_text("id,score\nNews-1,1\nNews-2,2\nNews-3,3\n")
    assert read_scores(run, PAIRS, UNGRADED) == Scores((1, 2, None), 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,score\nNews-1,1\nNews-2,2\nNews-4,3\n", "line 4: the gold grades have no 'News-4'"),
        ("id,score\nNews-1,1\nNews-3,2\n", "no score for phrase2word 'News-2'"),
        ("id,score\nNews-1,1\nNews-2,2\nNews-3,x\n", "line 4, field 'score': 'x' is not a number"),
        ("id,score\nNews-1,1\nNews-2,2\nNews-3,3\nNews-3,3\n", "line 5: phrase2word 'News-3' has a score"),
        ("id,score\nNews-3,3\n", "has scores of pairs without a gold grade only"),
        ("1\n2\n3\n4\n", "line 4: one score too many, the gold grades have 3 pairs"),
    ],
)
def test_beside_those_that_are_left_out_scores_are_checked_as_ever(tmp_path, content, message):
    run = tmp_path / "run.csv"
    run.write_text(content)
    with pytest.raises(ScoreFileError) as caught:
        read_scores(run, PAIRS, UNGRADED)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", ["todo\nwater the plants\n", "id,type\nNews-3,phrase2word\n"])
def test_a_list_that_the_manifest_does_not_name_is_passed_over(tmp_path, content):
    jsonl(tmp_path)
    (tmp_path / "unfinished.csv").write_text(content)
    assert read_ungraded([tmp_path]) == frozenset()
    name_in_manifest(tmp_path, "gold.jsonl")
    assert read_ungraded([tmp_path, tmp_path / "gold.jsonl"]) == frozenset()


def test_a_list_of_unfinished_pairs_that_is_broken_is_named(tmp_path):
    jsonl(tmp_path)
    (tmp_path / "unfinished.tsv").write_text("phrase2word\tNews-3\ttoo_few_ratings\nphrase2word\n")
    name_in_manifest(tmp_path, "gold.jsonl", "unfinished.tsv")
    with pytest.raises(ScoreFileError, match=r"unfinished.tsv, line 2, field 'id': is empty"):
        read_ungraded([tmp_path / "gold.jsonl"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": None}, "line 2, field 'gold': None is not a number; write a grade such as 2.75."),
        ({"gold": "high"}, "line 2, field 'gold': 'high' is not a number; write a grade such as 2.75."),
        ({"gold": float("nan")}, "line 2, field 'gold': NaN is not finite; write a grade such as 2.75."),
        ({"left": " "}, "line 2, field 'left': is empty; fill it in or delete the row."),
        ({"type": None}, "line 2, field 'type': is empty; fill it in or delete the row."),
        ({"left": "\ud800"}, "line 2, field 'left': holds half a character, U+D800; write it as UTF-8."),
        ({"id": "News-1"}, "line 2: phrase2word 'News-1' is also in {file}, line 1; delete one."),
    ],
)
def test_a_wrong_row_is_named(tmp_path, change, message):
    file = jsonl(tmp_path)
    rows = file.read_text().splitlines()
    rows[1] = json.dumps({**json.loads(rows[1]), **change})
    file.write_text("\n".join(rows))
    with pytest.raises(ScoreFileError) as caught:
        read_gold([file])
    assert str(caught.value) == f"{file}, {message.format(file=file)}"


def test_a_file_without_grades_is_explained(tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"id": "a", "type": "phrase2word", "left": "x", "right": "y"}\n')
    with pytest.raises(ScoreFileError, match=r"line 1: no field 'gold'; add the grade of each pair\."):
        read_gold([tmp_path / "pairs.jsonl"])
    with pytest.raises(ScoreFileError, match="has no gold set; name a file of gold grades"):
        read_gold([tmp_path])


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ("1\n", "line 2: no grade, the file ends after 1 and phrase2word.test.input.tsv has 2 pairs; add"),
        ("1\n2\n3\n", "line 3: one grade too many, phrase2word.test.input.tsv has 2 pairs; delete"),
        ("1\n\n3\n", "line 2: is empty; write the grade of its pair."),
    ],
)
def test_grades_of_the_task_fit_its_pairs(tmp_path, grades, message):
    task_files(tmp_path)
    (tmp_path / "phrase2word.test.gs.tsv").write_text(grades)
    with pytest.raises(ScoreFileError) as caught:
        read_gold([tmp_path])
    assert f"phrase2word.test.gs.tsv, {message}" in str(caught.value)


# Scores


def read(tmp_path: Path, content: str, name: str = "run.tsv") -> list[float | None]:
    (tmp_path / name).write_text(content)
    return list(read_scores(tmp_path / name, PAIRS).values)


def test_a_score_a_line_in_the_order_of_the_gold(tmp_path):
    assert read(tmp_path, "1.5\n-.25\t0.9\n1e-3\n\n") == [1.5, -0.25, 0.001]


def test_scores_of_one_type_or_of_a_folder(tmp_path):
    assert read(tmp_path, "1\n2\n", "phrase2word.test.output.tsv") == [1, 2, None]
    assert read(tmp_path, "3\n", "word2sense.txt") == [None, None, 3]
    assert read(tmp_path, "3\n", "word2sense") == [None, None, 3]
    (tmp_path / "word2sense").unlink()
    assert list(read_scores(tmp_path, PAIRS).values) == [1, 2, 3]


def test_scores_by_id(tmp_path):
    lines = '{"id": "News-2", "score": 0}\n{"id": "News-1", "type": "phrase2word", "score": "4"}\n'
    assert read(tmp_path, lines, "run.jsonl") == [4, 0, None]


def test_scores_by_id_in_a_table(tmp_path):
    assert read(tmp_path, "id\tscore\nNews-2\t0\nNews-1\t4\n") == [4, 0, None]
    assert read(tmp_path, 'Type,"id",Score\nword2sense,w2s-1,1.5\n', "run.csv") == [None, None, 1.5]
    assert read(tmp_path, 'id,note,score\nNews-2,"a, ""b""",0\n"News-1",,4\n', "run.csv") == [4, 0, None]
    assert read(tmp_path, "id,score\nNews-2,0\n\nNews-1,4\n", "phrase2word.csv") == [4, 0, None]


def test_scores_and_gold_may_be_workbooks(tmp_path):
    header = ("id", "type", "left", "right", "gold")
    (tmp_path / "gold.xlsx").write_bytes(
        workbook([header, *((p.id, p.type, p.left, p.right, p.gold) for p in PAIRS)])
    )
    gold = read_gold([tmp_path / "gold.xlsx"])
    assert [(pair.key, pair.gold) for pair in gold] == [(pair.key, pair.gold) for pair in PAIRS]
    run = tmp_path / "run.xlsx"
    run.write_bytes(
        workbook([("ID", "Score"), *((pair.id, place + 0.5) for place, pair in enumerate(PAIRS))])
    )
    assert read_scores(run, gold).values == tuple(place + 0.5 for place in range(len(PAIRS)))
    run.write_bytes(workbook([("pair", "score"), ("a", 1)]))
    with pytest.raises(ImportFileError, match=r"row 1: the header has pair, score; it needs id and score\."):
        read_scores(run, gold)


def test_ids_are_never_measured_as_scores(tmp_path):
    gold = [GoldPair("phrase2word", str(number), "x", "y", 1.0) for number in range(1, 4)]
    (tmp_path / "run.tsv").write_text("1\t3.5\n2\t0\n3\t2\n")
    with pytest.raises(ScoreFileError, match="the first column, where scores are read, has the ids"):
        read_scores(tmp_path / "run.tsv", gold)
    (tmp_path / "run.tsv").write_text("1\tsure\n2\tsure\n3\tguessed\n")
    assert list(read_scores(tmp_path / "run.tsv", gold).values) == [1, 2, 3]


def test_ids_of_two_types_need_the_type(tmp_path):
    twice = [*PAIRS[:2], GoldPair("sentence2phrase", "News-1", "x", "y", 1.0)]
    (tmp_path / "run.jsonl").write_text('{"id": "News-1", "score": 0}\n')
    with pytest.raises(
        ScoreFileError, match="line 1: 'News-1' is a pair of phrase2word and of sentence2phrase"
    ):
        read_scores(tmp_path / "run.jsonl", twice)
    (tmp_path / "sentence2phrase.jsonl").write_text('{"id": "News-1", "score": 2}\n')
    assert list(read_scores(tmp_path / "sentence2phrase.jsonl", twice).values) == [None, None, 2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.tsv", "1\nx\n3\n", "run.tsv, line 2: 'x' is not a number; write a score such as 2.75."),
        ("run.tsv", "1\n2,5\n3\n", "run.tsv, line 2: '2,5' is not a number; write a score such as 2.5."),
        (
            "run.csv", "id,Similarity\nNews-1,2.5\n",
            "run.csv, line 1: 'id,Similarity' is neither a score nor a header with id and score; begin the "
            "file with a line that names these columns.",
        ),
        ("run.tsv", "1\nnan\n3\n", "run.tsv, line 2: 'nan' is not a number; write a score such as 2.75."),
        ("run.tsv", "1\n1e999\n3\n", "run.tsv, line 2: '1e999' is not finite; write a score such as 2.75."),
        (
            "run.tsv", "1\n1e99999999999999999999\n3\n",
            "run.tsv, line 2: '1e99999999999999999999' is not finite; write a score such as 2.75.",
        ),
        (
            "run.csv", "id,score\nNews-1,1e99999999999999999999\n",
            "run.csv, line 2, field 'score': '1e99999999999999999999' is not finite; write a score such as "
            "2.75.",
        ),
        (
            "run.jsonl", '{"id": "News-1", "score": "1e99999999999999999999"}\n',
            "run.jsonl, line 1, field 'score': '1e99999999999999999999' is not finite; write a score such as "
            "2.75.",
        ),
        (
            "run.jsonl", '{"id": "News-1", "score": 1e99999999999999999999}\n',
            "run.jsonl, line 1: not JSON (a number with too many digits); fix or empty the line.",
        ),
        ("run.tsv", "1\n\n3\n", "run.tsv, line 2: is empty; write the score of its pair."),
        (
            "run.tsv", "1\n2\n",
            "run.tsv, line 3: no score, the file ends after 2 and the gold grades have 3 pairs; add what is "
            "missing.",
        ),
        (
            "run.tsv", "1\n2\n3\n\n",
            None,
        ),
        (
            "run.tsv", "1\n2\n3\n4\n",
            "run.tsv, line 4: one score too many, the gold grades have 3 pairs; delete what is too much.",
        ),
        ("run.tsv", "id\tscore\n", "run.tsv: there is no score under the header; add those of all pairs."),
        (
            "run.csv", "id,score\nNews-1\n",
            "run.csv, line 2: no field 'score'; add the score of 'News-1'.",
        ),
        (
            "phrase2word.txt", "1\n",
            "phrase2word.txt, line 2: no score, the file ends after 1 and the gold grades of phrase2word "
            "have 2 pairs; add what is missing.",
        ),
        (
            "sentence2phrase.txt", "1\n",
            "sentence2phrase.txt: the gold grades have no sentence2phrase, only phrase2word, word2sense; "
            "leave the file out or rename it.",
        ),
        (
            "run.jsonl", '{"id": "News-1", "score": 1}\n',
            "run.jsonl has no score for phrase2word 'News-2' (g, line 2); add it, or leave out all of "
            "phrase2word.",
        ),
        (
            "run.jsonl", '{"id": "News-7", "score": 1}\n',
            "run.jsonl, line 1: the gold grades have no 'News-7'; correct the id or delete the line, or, if "
            "the pair was unfinished when they were exported, export them again with --unfinished list.",
        ),
        (
            "run.jsonl", '{"id": "News-1", "type": "word2sense", "score": 1}\n',
            "run.jsonl, line 1: the gold grades have no 'News-1' of type 'word2sense'; correct the id or "
            "delete the line, or, if the pair was unfinished when they were exported, export them again with "
            "--unfinished list.",
        ),
        (
            "run.jsonl", '{"id": "w2s-1", "score": 1}\n{"id": "w2s-1", "score": 1}\n',
            "run.jsonl, line 2: word2sense 'w2s-1' has a score already in line 1; delete one.",
        ),
        (
            "run.jsonl", '{"id": "w2s-1", "score": true}\n',
            "run.jsonl, line 1, field 'score': True is not a number; write a score such as 2.75.",
        ),
        (
            "run.jsonl", '{"id": "w2s-1", "grade": 1}\n',
            "run.jsonl, line 1: no field 'score'; add the score of 'w2s-1'.",
        ),
    ],
)  # fmt: skip
def test_a_score_that_is_missing_too_much_or_no_number_is_refused(
    tmp_path, monkeypatch, name, content, message
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(content)
    gold = [
        GoldPair(pair.type, pair.id, pair.left, pair.right, pair.gold, pair.genre, f"g, line {number}")
        for number, pair in enumerate(PAIRS, 1)
    ]
    if message is None:
        assert list(read_scores(Path(name), gold).values) == [1, 2, 3]
        return
    with pytest.raises((ScoreFileError, ImportFileError)) as caught:
        read_scores(Path(name), gold)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,score\nNews-1,1,5\n", "line 2: 3 fields under a header of 2"),
        ("id,score,Score\nNews-1,1,9\n", "line 1: the column 'score' occurs twice"),
        ('id,score\n"News-1,1\n', "is never closed"),
        (
            f"id,score,note\nNews-1,1,{'x' * 200_000}\nNews-2,x,\n",
            "line 3, field 'score': 'x' is not a number",
        ),
    ],
)
def test_a_table_of_scores_is_read_as_tables_of_pairs_are(tmp_path, content, message):
    (tmp_path / "run.csv").write_text(content)
    with pytest.raises((ScoreFileError, ImportFileError), match=message):
        read_scores(tmp_path / "run.csv", PAIRS)


def test_a_quotation_mark_in_tsv_swallows_no_score(tmp_path):
    rows = [f'{pair.id}\t{pair.type}\t"{pair.left}\t{pair.right}\t{pair.gold}\n' for pair in PAIRS]
    (tmp_path / "gold.tsv").write_text("id\ttype\tleft\tright\tgold\n" + "".join(rows))
    gold = read_gold([tmp_path / "gold.tsv"])
    assert [pair.left for pair in gold] == [f'"{pair.left}' for pair in PAIRS]
    rows = [f'"{pair.left}\t{pair.id}\t{number}\n' for number, pair in enumerate(PAIRS)]
    (tmp_path / "run.tsv").write_text("text\tid\tscore\n" + "".join(rows))
    assert list(read_scores(tmp_path / "run.tsv", gold).values) == [0, 1, 2]


def test_a_folder_of_scores_is_checked(tmp_path):
    with pytest.raises(
        ScoreFileError, match="has no scores of phrase2word, word2sense; name the files after"
    ):
        read_scores(tmp_path, PAIRS)
    (tmp_path / "word2sense.a.txt").write_text("1\n")
    (tmp_path / "word2sense.b.txt").write_text("1\n")
    with pytest.raises(ScoreFileError, match="word2sense 'w2s-1' has a score already in another file"):
        read_scores(tmp_path, PAIRS)


OWN_TYPES = ["title-abstract", "title", "v1.2", "a/b", "paper abstract", "..", "?!", "摘要", "phrase2word"]


def test_scores_by_type_are_found_under_the_names_that_an_export_gives_its_files(tmp_path):
    gold = [GoldPair(type, "1", "a boat", "canoe", number / 4) for number, type in enumerate(OWN_TYPES)]
    with open_gold(Format.SEMEVAL, tmp_path, OWN_TYPES, None) as writer:
        for pair in gold:
            writer.add(exported(pair, Decimal(str(pair.gold))))
    run = tmp_path / "run"
    run.mkdir()
    for file in tmp_path.glob("*.gs.tsv"):
        shutil.copy(file, run / file.name.replace(".gs.", ".output."))
    (run / "readme.txt").write_text("what is no type is passed over\n")
    wanted = tuple(pair.gold for pair in gold)
    assert read_scores(run, gold) == Scores(wanted)
    for file in run.glob("*.output.tsv"):  # also one by one, and by id
        [score] = [score for score in read_scores(file, gold).values if score is not None]
        file.with_suffix(".csv").write_text(f"id,score\n1,{score}\n")
        file.unlink()
        assert read_scores(run, gold) == Scores(wanted)


def test_of_types_that_files_call_the_same_the_one_that_is_so_called_has_the_file(tmp_path):
    gold = [GoldPair(type, "1", "a boat", "canoe", 1.0) for type in ("a/b", "a_b")]
    (tmp_path / "a_b.output.tsv").write_text("2\n")
    assert read_scores(tmp_path, gold) == Scores((None, 2.0))
    with pytest.raises(ScoreFileError, match="has no scores of a b, a/b; name the files"):  # which is a guess
        read_scores(tmp_path, [replace(gold[1], type="a b"), gold[0]])


def test_a_file_of_bytes_is_explained(tmp_path):
    (tmp_path / "run.tsv").write_bytes(b"1\n\xff\xfe\n")
    with pytest.raises(ImportFileError, match=r"line 2: not UTF-8 text"):
        read_scores(tmp_path / "run.tsv", PAIRS)


@pytest.mark.parametrize("manifest", ["[]", "[" * 100_000])
def test_a_table_with_a_header_alone_is_one_sentence(tmp_path, manifest):
    (tmp_path / "mine.csv").write_text("id,type,left,right,gold\n")
    (tmp_path / "manifest.json").write_text(manifest)  # of something else
    with pytest.raises(
        ScoreFileError, match=r"mine\.csv: there is no pair under the header; give one or more\.$"
    ):
        read_gold([tmp_path / "mine.csv"])
