"""What the command line shows of one document."""

from __future__ import annotations

from kpdemo.cli.tables import show_prediction
from kpdemo.terminal import ProgressLine
from kpdemo.types import Document, Keyphrase, Kind, Origin, Prediction

DOCUMENT = Document("Neural networks sort.")
PRESENT = (Keyphrase("Neural networks", 0.9, ((0, 15),)),)


def shown(capsys, *absent: Keyphrase) -> str:
    show_prediction(DOCUMENT, Prediction(PRESENT, absent), "fake on cpu")
    return capsys.readouterr().out


def test_absent_keyphrases_have_their_kind_source_and_evidence(capsys):
    out = shown(
        capsys,
        Keyphrase("sorting networks", 0.5, source=Origin.BOTH, kind=Kind.MIXED, evidence=("sort", "gates")),
        Keyphrase("hardware", 0.25, source=Origin.RETRIEVED, kind=Kind.UNSEEN),
    )
    [first] = [line for line in out.splitlines() if "sorting networks" in line]
    assert [cell.strip() for cell in first.strip("│").split("│")] == [
        "0.500", "sorting networks", "mixed", "both", "sort, gates",
    ]  # fmt: skip
    assert "retrieved" in out


def test_what_no_absent_keyphrase_tells_has_no_column(capsys):
    out = shown(capsys, Keyphrase("hardware", 0.25, kind=Kind.UNSEEN))
    assert "Kind" in out
    assert "Source" not in out
    assert "Evidence" not in out
    assert "Absent" not in shown(capsys)


def test_fillers_are_told_where_there_are_any(capsys):
    assert "Filler" not in shown(capsys, Keyphrase("hardware", 0.25))
    out = shown(capsys, Keyphrase("gates", 0.5), Keyphrase("hardware", 0.25, filler=True))
    assert [
        line.split("│")[-2].strip() for line in out.splitlines() if "0.500" in line or "0.250" in line
    ] == [
        "",
        "yes",
    ]


def test_evidence_moves_no_cursor(capsys):
    out = shown(capsys, Keyphrase("hardware", 0.25, evidence=("gates\x1b[2Jand\r[bold]",)))
    assert "\x1b" not in out
    assert "[bold]" in out


def test_a_further_part_of_the_work_is_told_at_once_only_where_the_work_is_long(capsys, monkeypatch):
    progress = ProgressLine("Evaluating", 2)
    progress.show(1)
    progress.turn_to("Comparing", 1, "comparisons")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("kpdemo.terminal._SECONDS_BETWEEN_LINES", -1.0)
    progress.show(0)
    monkeypatch.undo()
    progress.turn_to("Writing", 3, "files")
    assert capsys.readouterr().err.splitlines()[1:] == ["Writing: 0 of 3 files"]
