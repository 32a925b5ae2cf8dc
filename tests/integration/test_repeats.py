"""Repeat pairs: they come back unmarked, and their second grade counts nowhere but in self-agreement."""

from __future__ import annotations

from collections import Counter
from csv import DictReader
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import func, select

from annotation.errors import AssignmentError
from annotation.files.gold_files import RatingFormat
from annotation.quality import LEAST_APART, repeats_due
from annotation.reliability.report import agreement_to_json
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingExportService, RatingService, RemarkService
from annotation.types import SkipReason
from db.models import Assignment, Rating, RatingChange, Repeat, RepeatChange
from tests.databases import row_problems
from tests.people import MovableClock, at_once
from tests.raters import check, check_finished, new_world

PAIRS = 60
PERCENT = 20


class Desk:
    """One rater's work in a project of 60 pairs, a fifth of which come back."""

    def __init__(self, database, **settings: object) -> None:
        self.world = new_world(
            database, pairs=PAIRS, raters=2, k=1, **{"repeat_percent": PERCENT, **settings}
        )
        self.rater = self.world.raters[0]
        self.clock = MovableClock()
        self.assignments = AssignmentService(database, self.clock)
        self.ratings = RatingService(database, self.clock, self.assignments)

    def queue(self):
        return self.assignments.queue(self.world.project, self.rater)

    def answer(self, pair, grade: str = "2"):
        self.clock.forward(seconds=5)
        keep = self.ratings.rate_again if pair.is_repeat else self.ratings.rate
        return keep(pair.id, self.rater, Decimal(grade), 3.0).queue

    def work(self, until_repeat: bool = False):
        """All answers, in order, or those before the first repeat."""
        seen, queue = [], self.queue()
        while queue.pairs and not (until_repeat and queue.pairs[0].is_repeat):
            seen.append(queue.pairs[0])
            # The second time three quarters of a point more.
            queue = self.answer(queue.pairs[0], "2.75" if queue.pairs[0].is_repeat else "2")
        return seen, queue

    def count(self, table) -> int:
        with self.world.database.reading() as session:
            return session.scalar(
                select(func.count()).select_from(table).where(table.project_id == self.world.project)
            )


def test_a_share_of_the_pairs_comes_back_far_enough_apart_and_counts_nowhere(database):
    desk = Desk(database)
    seen, queue = desk.work()
    repeats = [place for place, pair in enumerate(seen) if pair.is_repeat]
    assert len(repeats) == repeats_due(PAIRS, PERCENT) == 12
    for place in repeats:
        first = next(at for at, pair in enumerate(seen) if pair.id == seen[place].id)
        between = sum(not pair.is_repeat for pair in seen[first + 1 : place])
        assert first < place
        assert between >= LEAST_APART
        assert seen[place].grade is None
    assert queue.progress.rated == queue.progress.total == PAIRS + 12
    assert desk.count(Rating) == desk.count(RatingChange) == PAIRS
    assert max(Counter(pair.id for pair in seen).values()) == 2
    check(desk.world)
    check_finished(desk.world)
    assert row_problems(database) == []

    report = AgreementService(database).report(desk.world.project)
    assert report.whole.ratings == PAIRS
    twice = agreement_to_json(report)["self_agreement"]
    assert (twice["pairs"], twice["mean_absolute_difference"], twice["identical"]) == (12, 0.75, 0)
    assert [row["pairs"] for row in twice["raters"]] == [12]
    assert twice["alpha"]["value"] == pytest.approx(1 - 23 / 12)  # all pairs (2, 2.75): 24 values


def test_the_progress_never_tells_that_a_pair_came_back(database):
    desk = Desk(database)
    queue, rated = desk.queue(), 0
    total = queue.progress.total
    while queue.pairs:
        queue, rated = desk.answer(queue.pairs[0]), rated + 1
        assert (queue.progress.rated, queue.progress.total) == (rated, total)
    assert rated == total


def test_the_second_grade_is_an_answer_of_its_own(database):
    desk = Desk(database)
    _, queue = desk.work(until_repeat=True)
    pair = queue.pairs[0]
    with pytest.raises(AssignmentError, match="not given to you"):
        desk.ratings.rate_again(queue.pairs[1].id, desk.rater, Decimal(1))
    desk.ratings.comment(pair.id, desk.rater, "first")
    desk.ratings.comment_again(pair.id, desk.rater, "second", is_flagged=True)
    desk.answer(pair, "3")
    desk.answer(pair, "3")
    desk.answer(replace(pair, is_repeat=False), "1")  # a change of the first grade, after the second
    again, first = desk.ratings.pair_again(pair.id, desk.rater), desk.ratings.pair(pair.id, desk.rater)
    assert (again.grade, again.comment, first.grade, first.comment) == (3, "second", 1, "first")
    with database.reading() as session:
        row = session.scalars(select(Repeat).where(Repeat.pair_id == pair.id)).one()
        assert (row.first_quarters, row.quarters, row.seconds) == (8, 12, 3.0)
    recent = desk.ratings.recent(desk.world.project, desk.rater)
    assert [each.grade for each in recent if each.id == pair.id and each.is_repeat] == [3]
    said = {item.text for item in RemarkService(database).remarks(desk.world.project).items}
    assert said == {"first", "second"}
    twice = AgreementService(database).report(desk.world.project).twice
    assert (twice.pairs, twice.difference) == (1, 1.0)
    desk.answer(pair, "2")
    assert AgreementService(database).report(desk.world.project).twice.identical == 1
    with database.reading() as session:
        history = session.scalars(select(RepeatChange).order_by(RepeatChange.id)).all()
    assert [(each.previous_quarters, each.quarters, each.seconds) for each in history] == [
        (None, 12, 3.0),
        (12, 8, 3.0),
    ]
    assert row_problems(database) == []


def test_a_repeat_that_was_skipped_keeps_the_rating_and_can_be_graded_after_all(database):
    desk = Desk(database)
    _, queue = desk.work(until_repeat=True)
    pair = queue.pairs[0]
    for _ in range(2):
        queue = desk.ratings.skip_again(pair.id, desk.rater, SkipReason.OTHER, "again?").queue
    assert all(each.id != pair.id for each in queue.pairs)
    assert desk.ratings.pair(pair.id, desk.rater).grade == 2
    assert len(RemarkService(database).remarks(desk.world.project).items) == 1
    desk.answer(pair, "2")
    with pytest.raises(AssignmentError, match="graded this pair already"):
        desk.ratings.skip_again(pair.id, desk.rater, SkipReason.OTHER)
    with database.reading() as session:
        states = session.scalars(select(Assignment.state).where(Assignment.pair_id == pair.id)).all()
    assert states == ["rated"]


def test_first_grades_stay_where_the_project_keeps_them(database):
    desk = Desk(database, may_revise=False)
    _, queue = desk.work(until_repeat=True)
    desk.answer(queue.pairs[0], "2")
    with pytest.raises(AssignmentError, match="keeps the first grade"):
        desk.answer(queue.pairs[0], "3")


def test_two_tabs_and_a_lease_that_ran_out_bring_one_repeat(database):
    desk = Desk(database)
    _, queue = desk.work(until_repeat=True)
    both = at_once([desk.queue] * 4)
    assert len({tuple(pair.id for pair in each.pairs) for each in both}) == 1
    assert desk.count(Repeat) == 1
    seen, _ = desk.work()
    assert seen[0] == queue.pairs[0]
    assert sum(pair.is_repeat for pair in seen) == 12
    check(desk.world)


def test_a_project_without_repeats_gives_none_and_another_percentage_is_taken_up(database):
    desk = Desk(database, repeat_percent=0)
    queue = desk.queue()
    for _ in range(PAIRS - 5):
        queue = desk.answer(queue.pairs[0])
    projects = ProjectService(database)
    settings = projects.get(desk.world.project).settings
    projects.update(desk.world.project, replace(settings, repeat_percent=50))
    seen, _ = desk.work()
    assert sum(pair.is_repeat for pair in seen) == 30
    assert len(seen) == 35


def test_both_grades_are_exported_as_a_table_of_their_own(database, tmp_path):
    desk = Desk(database)
    desk.work()
    file = tmp_path / "second.csv"
    service = RatingExportService(database)
    assert service.export(desk.world.project, file, RatingFormat.CSV, named=False, second=True) == 12
    rows = list(DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert {(row["rater"][:6], row["first"], row["second"]) for row in rows} == {("rater ", "2", "2.75")}
    assert len({row["id"] for row in rows}) == 12
    assert service.export(desk.world.project, file, RatingFormat.CSV, named=False) == PAIRS
