"""Projects with a scale of their own, from a file to gold through the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean

import pytest

from tests.commands import main
from tests.databases import migrated_file

WORDS = [(f"word{number}", f"other{number}") for number in range(12)]
RATERS = [str(number) for number in range(1, 14)]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command line on a database of its own, which has to end well; gives its output."""
    (tmp_path / "kpdemo.db").write_bytes(migrated_file())
    monkeypatch.setenv("KPDEMO_DATABASE_URL", f"sqlite:///{tmp_path / 'kpdemo.db'}")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, status: int = 0) -> str:
        found = main(arguments)
        captured = capsys.readouterr()
        assert found == status, captured.err
        return captured.err if status else captured.out

    return run


def related_words() -> list[list[str]]:
    """Pairs of words, thirteen grades from 0 to 10 each, some of them halves and quarters."""
    draw = random.Random(353)
    rows = []
    for left, right in WORDS:
        middle = draw.uniform(1, 9)
        parts = [4, 10] * len(RATERS)  # quarters and tenths, as there
        grades = [
            round(part * min(10, max(0, draw.gauss(middle, 1)))) / part
            for part, _ in zip(parts, RATERS, strict=False)
        ]
        rows.append([left, right, f"{mean(grades):.2f}", *(f"{grade:g}" for grade in grades)])
    return rows


def test_a_table_like_wordsim_353_becomes_a_gold_set(call, tmp_path):
    rows = related_words()
    header = ["Word 1", "Word 2", "Human (mean)", *RATERS]
    (tmp_path / "words.csv").write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    made = json.loads(
        call(
            "project",
            "create",
            "Words",
            "--types",
            "word2word",
            "--raters",
            "13",
            "--grades",
            "0-10",
            "--step",
            "0.05",
            "--json",
        )
    )
    assert made["grades"] == {"lowest": 0, "highest": 10, "step": 0.05}
    assert (made["step"], made["threshold"]) == (0.05, 6.25)
    assert "ratings is 1 to 13. Not imported: human (mean)." in call("import", "Words", "words.csv")
    figures = json.loads(call("agreement", "Words", "--json"))
    assert figures["ratings"] == 12 * 13
    assert figures["histogram"]["buckets"][:2] == ["0 to 0.95", "1 to 1.95"]
    assert figures["histogram"]["buckets"][-1] == "10"
    assert sum(figures["histogram"]["counts"]) == 12 * 13
    call("export", "Words", "--format", "jsonl", "--output", "gold")
    manifest = json.loads((tmp_path / "gold" / "manifest.json").read_text())
    assert manifest["protocol"]["grades"] == {"lowest": 0, "highest": 10, "step": 0.05}
    assert "0 to 10,\na scale in steps of 0.05" in (tmp_path / "gold" / "README.md").read_text().replace(
        " a scale", "\na scale"
    )
    [file] = (tmp_path / "gold").glob("*.jsonl")
    gold = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["left"], row["gold"]) for row in gold] == [
        (left, round(mean(float(grade) for grade in grades), 4)) for left, _, _, *grades in rows
    ]
    (tmp_path / "scores.tsv").write_text(
        "type\tid\tscore\n" + "".join(f"word2word\t{row['id']}\t{row['gold'] / 10}\n" for row in gold)
    )
    scored = json.loads(call("score", "--gold", "gold", "--system", "scores.tsv", "--as-raters", "--json"))
    assert scored["types"]["word2word"]["pearson"] == pytest.approx(1)


def test_a_grade_off_the_scale_is_named_by_its_line(call, tmp_path):
    call("project", "create", "Words", "--types", "word2word", "--raters", "3", "--grades", "1-7")
    head = "id,left,right,rating:ana"
    (tmp_path / "words.csv").write_text(f"{head}\na,cat,dog,7\nb,sun,sea,0\nc,tea,cup,2.5\nd,ink,pen,good\n")
    said = call("import", "Words", "words.csv", status=1)
    assert (
        "words.csv, line 3, field 'rating:ana': 0 is not 1 to 7 in steps of 1; fix it or delete the row"
        in said
    )
    assert "line 4, field 'rating:ana': 2.5 is not 1 to 7 in steps of 1" in said
    assert "line 5, field 'rating:ana': 'good' is not a grade; write 1 to 7 such as 5" in said
    assert json.loads(call("project", "show", "Words", "--json"))["counts"]["pairs"] == 0


def test_a_file_like_the_sts_benchmark_is_graded_0_to_5_and_becomes_a_gold_set(call, tmp_path):
    sts = [
        f"main-captions\tMSRvid\t2012test\t{number:04}\t{number / 4:.3f}\tA man runs {number}.\tA boy ran."
        for number in range(1, 9)
    ]
    (tmp_path / "sts-dev.csv").write_text("\n".join(sts) + "\n")
    made = json.loads(
        call(
            "project",
            "create",
            "STS",
            "--types",
            "sentence2sentence",
            "--raters",
            "2",
            "--grades",
            "sts",
            "--json",
        )
    )
    assert (made["grades"]["step"], made["step"], made["threshold"]) == (0.05, 1, 1.25)
    assert "its scores, means of several people, were not imported" in call("import", "STS", "sts-dev.csv")
    grades = ["id,rater,grade"]
    for number in range(1, 9):
        id = f"MSRvid-2012test-{number:04}"
        grades += [f"{id},ana,{number % 6}", f"{id},ben,{min(5, number % 6 + 1)}"]
    (tmp_path / "grades.csv").write_text("\n".join(grades) + "\n")
    call("import", "STS", "grades.csv")
    call("export", "STS", "--format", "jsonl", "--output", "gold")
    [file] = (tmp_path / "gold").glob("*.jsonl")
    gold = {row["id"]: row["gold"] for row in map(json.loads, file.read_text().splitlines())}
    assert gold["MSRvid-2012test-0005"] == 5
    assert gold["MSRvid-2012test-0001"] == 1.5
    card = (tmp_path / "gold" / "README.md").read_text()
    assert "the points of semantic textual similarity (STS)" in card
    assert "| 5 | Completely equivalent |" in card


def test_the_scale_of_a_project_cannot_change(call):
    call("project", "create", "News")
    said = call("project", "change", "News", "--grades", "sts", status=2)
    assert "cannot change: make another project for other grades" in said
