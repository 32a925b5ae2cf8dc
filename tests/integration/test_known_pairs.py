"""Files of training and check pairs: what is new, what is there already, and what raters would meet twice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.errors import GradeError, ImportFileError, SettingsError
from annotation.exchange import WrongLinesError
from annotation.services.bundle import Services, open_services
from annotation.types import KnownPair, NewPair, Project, ProjectSettings
from annotation.ui.quality import known_summary_html

TYPE = "sentence2phrase"


@pytest.fixture
def services(sqlite_database):
    return open_services(sqlite_database)


@pytest.fixture
def project(services):
    return services.projects.create(ProjectSettings(name="ships", types=(TYPE,)))


def known(id: str, grade: str = "3", explanation: str = "", *, text: str = "") -> KnownPair:
    name = text or id
    texts = (f"The {name} ship is in the dock.", f"a docked {name}")
    return KnownPair(NewPair(id, TYPE, *texts, place=f"{id} of the file"), Decimal(grade), explanation)


def bring(services: Services, project: Project, kind: str, *pairs: KnownPair):
    imports = {
        "training": services.known_pairs.import_training,
        "checks": services.known_pairs.import_checks,
    }
    return imports[kind](project.id, pairs)


@pytest.mark.parametrize("kind", ["training", "checks"])
def test_single_ratings_of_a_pair_with_a_known_grade_are_counted_as_left_out(services, project, kind):
    rated = replace(known("a").pair, ratings=(("Ana", Decimal(1)), ("Ben", Decimal(2))))
    summary = bring(services, project, kind, KnownPair(rated, Decimal(3)), known("b"))
    assert (summary.pairs, summary.ratings_left_out) == (2, 2)
    assert "2 ratings in the file were left out" in known_summary_html(summary, "training pair")


@pytest.mark.parametrize("kind", ["training", "checks"])
def test_a_row_is_a_duplicate_only_where_it_says_the_same(services, project, kind):
    assert bring(services, project, kind, known("a"), known("a")).duplicates == ("a",)
    again = replace(known("a").pair, left="The  a ship is in the dock. ")  # other white space only
    assert bring(services, project, kind, KnownPair(again, Decimal("3.00"))).duplicates == ("a",)
    for wrong, told in (
        (known("a", text="b"), "a of the file, field 'id': 'a' is there already with other texts; give"),
        (
            known("a", "2"),
            "a of the file, field 'grade': 'a' is there already with the grade 3, not 2; leave the row out, "
            "and set the known grade on the tab Quality of the project.",
        ),
    ):
        with pytest.raises(ImportFileError) as error:
            bring(services, project, kind, wrong, known("new"))
        assert str(error.value).startswith(told)
    assert [(line.id, line.grade) for line in services.known_pairs.known(project.id)] == [(1, 3)]


def test_two_pairs_with_one_id_in_a_file_are_told(services, project):
    rows = [known("a"), known("a", text="b"), known("a", "1"), known("a", explanation="Because."), known("c")]
    with pytest.raises(WrongLinesError) as error:
        bring(services, project, "training", *rows)
    assert error.value.lines == (
        "3 lines cannot be imported; these are:",
        "a of the file, field 'id': 'a' is further up with other texts; give this pair an id of its own.",
        "a of the file, field 'grade': 'a' is further up with the grade 3, not 1; leave one of them out.",
        "a of the file, field 'explanation': 'a' is further up with another explanation; "
        "leave one of them out.",
    )


def test_another_explanation_is_told_of_training_pairs_and_check_pairs_have_none(services, project):
    for kind in ("training", "checks"):
        bring(services, project, kind, known(kind, explanation="Because."))
    with pytest.raises(ImportFileError, match="is there already with another explanation; leave the row out"):
        bring(services, project, "training", known("training", explanation="Since."))
    assert bring(services, project, "checks", known("checks", explanation="Since.")).duplicates == ("checks",)


@pytest.mark.parametrize("kind", ["training", "checks"])
def test_the_same_texts_under_another_id_are_told(services, project, kind):
    noun = {"training": "training", "checks": "check"}[kind]
    bring(services, project, kind, known("a"))
    with pytest.raises(WrongLinesError) as error:
        bring(services, project, kind, known("b", text="a"), known("c"), known("d", text="c"))
    assert [line.partition(" and ")[0] for line in error.value.lines[1:]] == [
        f"b of the file: the pair 'b' is a {noun} pair of the project too, there called 'a',",
        "d of the file: the pair 'd' is a pair further up too, there called 'c',",
    ]


def test_a_pair_is_met_once_in_training_checks_and_work(services, project):
    bring(services, project, "training", known("t"))
    bring(services, project, "checks", known("c"))
    services.importing.import_pairs(project.id, [known("w").pair])
    for kind, text, told in (
        ("training", "w", r"is a pair of the project too, there called 'w', and training would reveal"),
        ("training", "c", r"is a check pair of the project too, there called 'c', and training would reveal"),
        ("checks", "w", r"is a pair of the project too, there called 'w', and a rater who saw it twice"),
        ("checks", "t", r"is a training pair of the project too, there called 't', and a rater who saw it"),
    ):
        with pytest.raises(ImportFileError, match=told):
            bring(services, project, kind, known("x", text=text))
    with pytest.raises(ImportFileError, match="the pair 'x' is a training pair of the project, and training"):
        services.importing.import_pairs(project.id, [known("x", text="t").pair])
    services.known_pairs.retire_training(project.id)
    assert services.importing.import_pairs(project.id, [known("x", text="t").pair]).pairs == 1


@pytest.mark.parametrize("kind", ["training", "checks"])
def test_a_known_grade_stays_within_reach_of_the_grades_that_raters_can_give(services, project, kind):
    distance = "training_distance" if kind == "training" else "check_distance"
    narrow = replace(services.quality.settings(project.id), **{distance: Decimal("0.25")})
    coarse = replace(project.settings, step=Decimal(1))
    bring(services, project, kind, known("a", "2.5"))
    services.projects.update(project.id, coarse)
    with pytest.raises(SettingsError, match=r"pair of 2.5, and no grade in steps of 1 .*: keep (0.5|1)\.$"):
        services.quality.change(project.id, narrow)
    services.projects.update(project.id, project.settings)
    services.quality.change(project.id, narrow)
    with pytest.raises(SettingsError, match=r"pair of 2.5, and no grade in steps of 1 .*: keep 0.25, or"):
        services.projects.update(project.id, coarse)

    [line] = services.known_pairs.known(project.id)
    services.known_pairs.set_grade(project.id, line.kind, line.id, Decimal("2.25"))
    services.projects.update(project.id, coarse)
    with pytest.raises(GradeError, match=r"No grade in steps of 1 is within the accepted distance of 0.25"):
        services.known_pairs.set_grade(project.id, line.kind, line.id, Decimal("2.5"))
    with pytest.raises(
        ImportFileError, match=r"^b of the file, field 'grade': no grade in steps of 1 .*from 1.5"
    ):
        bring(services, project, kind, known("b", "1.5"))
    assert bring(services, project, kind, known("b", "3.75")).pairs == 1
