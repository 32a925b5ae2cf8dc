"""A project's own words for the points of the scale: how they are read, kept, refused and exported."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from annotation.errors import SettingsError
from annotation.files.gold_folder import manifest, scale_text
from annotation.gold import ExportOptions
from annotation.projects import check_settings
from annotation.scale import (
    CLSS_POINTS,
    LONGEST_DESCRIPTION,
    LONGEST_POINT_NAME,
    check_scale_words,
    earlier_words_text,
    scale_points,
)
from annotation.types import ProjectSettings

OWN = "0 Wrong: a\n1 Poor: b\n2 Fair: c\n3 Good: d\n4 Right: e"
CHINESE = "0 无关：不同主题\n1 稍有关系：a\n2 有关：b\n3 相似：c\n4 非常相似：d：e"
ARABIC = "0 غير متعلق: لا علاقة\n1 ضعيف: a\n2 مقبول: b\n3 جيد: c\n4 ممتاز: d"
TYPES = ("sentence2phrase", "document2keyphrase", "own")
SETTINGS = ProjectSettings("News", types=TYPES)


def names(text: str, type: str = "") -> list[str]:
    return [point.name for point in scale_points(text, type)]


def line(grade: int, new: str) -> str:
    """Own words with another line of that grade."""
    return "\n".join(new if at == grade else kept for at, kept in enumerate(OWN.splitlines()))


def test_without_own_words_the_points_are_those_of_table_1():
    for nothing in ("", " \n\n"):
        assert check_scale_words(nothing, TYPES) == ""
        assert scale_points(nothing) == scale_points(nothing, "sentence2phrase") == CLSS_POINTS


def test_five_lines_are_for_all_types_and_those_under_a_type_for_it_alone():
    text = f"{OWN}\n[document2keyphrase]\n{ARABIC}"
    assert names(text, "own") == names(text, "sentence2phrase") == ["Wrong", "Poor", "Fair", "Good", "Right"]
    assert names(text, "document2keyphrase")[0] == "غير متعلق"
    alone = f"[document2keyphrase]\n{CHINESE}"
    assert names(alone, "document2keyphrase")[4] == "非常相似"
    assert scale_points(alone, "document2keyphrase")[4].description == "d：e"
    assert scale_points(alone, "sentence2phrase") == CLSS_POINTS


def test_one_wording_is_kept_alike_however_it_is_written():
    messy = f"\ufeff[ own ]\r\n{CHINESE}\r\n\r\n[document2keyphrase]\n4  Right :  e\n".lstrip("\ufeff")
    messy += "3 Good:d\n\n2 Fair: c\n1 Poor:  b\n  0\u00a0Wrong: a"
    kept = check_scale_words(messy, TYPES)
    assert (
        kept
        == f"[document2keyphrase]\n{OWN}\n\n[own]\n{CHINESE.replace('：', ': ', 4).replace('：d', ': d', 1)}"
    )
    assert check_scale_words(kept, TYPES) == kept


def test_names_are_text_whatever_they_hold():
    kept = check_settings(replace(SETTINGS, scale_words=line(2, "2 <b>F&amp;air</b> ${x}: <img src=x>")))
    point = scale_points(kept.scale_words, "own")[2]
    assert (point.name, point.summary, point.description) == (
        *("<b>F&amp;air</b> ${x}", "<img src=x>"),
        "<img src=x>",
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (line(3, ""), "lack those of 3: give five lines such as “0 Unrelated: Another topic.”"),
        (
            "Very good",
            "line 1: 'Very good' is not a grade from 0 to 4, a name, a colon and a desc",
        ),
        (": a", "line 1: ': a' is not a grade"),
        (line(4, "5 Right: e"), "line 5: '5 Right: e' is not a grade from 0 to 4"),
        (line(4, "4 Right"), "line 5: '4 Right' is not a grade"),
        (line(4, "4: e"), "line 5: '4: e' is not a grade"),
        (line(4, "4 Right:"), "line 5: the description of 4 is empty"),
        (line(4, "4 \u200d: e"), "line 5: the name of 4 is empty"),
        (line(4, "٤ Right: e"), "line 5: '٤ Right: e' is not a grade"),
        (line(4, "3 Right: e"), "line 5: 3 has a line already"),
        (
            line(4, "4 ＷＲＯＮＧ: e"),
            "have one name for 0 and 4, 'ＷＲＯＮＧ': give each point",
        ),
        (
            line(4, f"4 {'x' * (LONGEST_POINT_NAME + 1)}: e"),
            "name of 4 has 41 characters; give at most 40",
        ),
        (
            line(4, f"4 Right: {'x' * (LONGEST_DESCRIPTION + 1)}"),
            "the description of 4 has 121 characters; give at most 120, which a button of a phone can hold",
        ),
        (line(4, "4 Ri\x07ght: e"), r"line 5 holds the invisible character U\+0007"),
        (line(4, "4 Right: \u202ee"), r"line 5 holds the invisible character U\+202E"),
        (
            f"[phrase2word]\n{OWN}",
            "are for 'phrase2word', which is not a comparison type of the project: add",
        ),
        (f"[own]\n{OWN}\n[own]\n{OWN}", r"line 7: '\[own\]' names no type, or one a second time"),
        (f"[]\n{OWN}", r"line 1: '\[\]' names no type"),
        ("[own]", "for own lack those of 0, 1, 2, 3, 4"),
    ],
)
def test_what_is_no_wording_is_refused_in_a_sentence(text, part):
    with pytest.raises(SettingsError, match=part):
        check_settings(replace(SETTINGS, scale_words=text))


def test_the_longest_words_are_taken():
    longest = line(4, f"4 {'x' * LONGEST_POINT_NAME}: {'y' * LONGEST_DESCRIPTION}")
    assert check_scale_words(longest, TYPES) == longest


def test_grades_given_before_are_counted_in_words():
    assert earlier_words_text(0) == ""
    assert earlier_words_text(1).startswith("1 grade was given before")
    assert earlier_words_text(1200).startswith("1,200 grades were given before")


def told(**settings) -> dict:
    chosen = replace(SETTINGS, **{"types": TYPES[:2], **settings})
    return manifest(chosen, ExportOptions(), version="1", counts={}, agreement=None, files=[])["protocol"]


def test_a_manifest_without_own_words_is_as_it_was_before_there_were_any():
    protocol = told()
    assert list(protocol)[:3] == ["scale", "scale_sha256", "guidelines"]
    assert [point["description"] for point in protocol["scale"]] == [each.description for each in CLSS_POINTS]
    assert protocol["scale_sha256"] == "8eaa2cff0ffa5e28b98fa9dfde8e9e4e55500527d11d6242ba20466f6a729cad"


def test_a_manifest_has_the_words_of_the_raters_and_those_of_other_types_apart():
    assert [point["name"] for point in told(scale_words=OWN)["scale"]] == names(OWN)
    assert "scale_by_type" not in told(scale_words=OWN)
    alone = told(types=("own",), scale_words=f"[own]\n{OWN}")
    assert [point["name"] for point in alone["scale"]] == names(OWN)
    assert "scale_by_type" not in alone
    text = f"[document2keyphrase]\n{OWN}"
    protocol = told(scale_words=text)
    assert [point["name"] for point in protocol["scale"]] == names("")
    by_type = {"document2keyphrase": scale_points(OWN)}
    assert {type: [each["name"] for each in told] for type, told in protocol["scale_by_type"].items()} == {
        "document2keyphrase": names(OWN)
    }
    assert protocol["scale_sha256"] == sha256(scale_text(CLSS_POINTS, by_type).encode()).hexdigest()
    assert protocol["scale_words"] == text
    assert protocol["scale_words_sha256"] == sha256(text.encode()).hexdigest()
