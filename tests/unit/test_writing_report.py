"""Requested against obtained grades."""

from __future__ import annotations

from decimal import Decimal

from annotation.authoring import (
    GradeGap,
    GroupBalance,
    JudgedPair,
    WriterCounts,
    cumulative,
    report_json,
    writing_report,
)


def pair(requested, obtained, type="phrase2word", writer="wim") -> JudgedPair:
    return JudgedPair(
        type,
        None if requested is None else Decimal(requested),
        None if obtained is None else Decimal(obtained),
        writer,
    )


PAIRS = [
    pair("4", "3.5"),  # counts as 4
    pair("4", "3.25", writer="wes"),
    pair("1", "2.1667"),
    pair("0", "0", "word2sense", None),
    pair("2", None),
    pair(None, "1.25", writer=None),
]


def build():
    counts = [WriterCounts(name, 1, 2, 0, 0, 0, None) for name in ("wes", "wim", "xenia")]
    return writing_report(
        "p",
        ("phrase2word", "word2sense", "title2text"),
        PAIRS,
        [GroupBalance("phrase2word", None, (0, 1, 1, 0, 2), 3)],
        counts,
        reserved=1,
        waiting=2,
        not_understood=3,
    )


def test_requested_grades_stand_against_those_obtained():
    report = build()
    assert report.matrix == ((1, 0, 0, 0, 0), (0, 0, 1, 0, 0), (0,) * 5, (0,) * 5, (0, 0, 0, 1, 1))
    assert report.whole.pairs == 4
    assert round(report.whole.drift, 4) == round((-0.5 - 0.75 + 1.1667 + 0) / 4, 4)
    assert report.by_grade[4] == GradeGap(2, 3.375, -0.625, 0.625)
    assert report.by_grade[2] == GradeGap(0, None, None, None)
    assert [name for name, _ in report.by_type] == ["phrase2word", "word2sense"]


def test_each_writer_has_the_drift_of_his_own_pairs():
    wes, wim, xenia = build().writers
    assert (wes.drift.pairs, wes.drift.drift) == (1, -0.75)
    assert (wim.drift.pairs, round(wim.drift.distance, 4)) == (2, 0.8334)
    assert xenia.drift.pairs == 0


def test_the_distribution_has_every_graded_pair_in_the_nearest_half():
    assert build().distribution == (
        ("phrase2word", (0, 0, 0, 1, 1, 0, 0, 2, 0)),
        ("word2sense", (1, 0, 0, 0, 0, 0, 0, 0, 0)),
    )
    assert cumulative([1, 0, 3]) == [0.25, 0.25, 1.0]
    assert cumulative([0, 0]) == [0.0, 0.0]


def test_the_report_is_plain_data_for_programs():
    found = report_json(build())
    assert found["balance"][0]["requested"] == {"0": 0, "1": 1, "2": 1, "3": 0, "4": 2}
    assert found["drift"]["by_grade"]["4"]["drift"] == -0.625
    assert found["distribution"]["types"]["phrase2word"]["cumulative"][-1] == 1.0
    assert found["writers"][1]["writer"] == "wim"
