"""Projects on both databases: what can be set, what may change later, and who works in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import event, func, select

from annotation.assignment import position_of
from annotation.authoring import NewItem
from annotation.errors import NotFoundError, SettingsError
from annotation.services.accounts import AccountService
from annotation.services.assignment import AssignmentService
from annotation.services.bundle import open_services
from annotation.services.imports import ImportService
from annotation.services.larger_items import ItemService
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.ratings import RatingService
from annotation.types import NewPair, ProjectSettings, Role
from db import Database
from db.models import Assignment, AuditEvent, LargerItem, Membership, Pair, Rating, RatingChange

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
SETTINGS = ProjectSettings("News", types=("sentence2phrase",), raters_per_pair=2)


def pair(number: int, *grades: str, **changes) -> NewPair:
    ratings = tuple((f"rater-{place}", Decimal(grade)) for place, grade in enumerate(grades))
    values = {"id": f"p{number}", "type": "sentence2phrase", "left": f"left {number}", "right": f"{number}"}
    return NewPair(**{**values, **changes}, ratings=ratings)


def project_with(database: Database, *pairs: NewPair, **changes):
    project = ProjectService(database).create(replace(SETTINGS, **changes))
    ImportService(database).import_pairs(project.id, pairs)
    return project


def column(database: Database, values, project_id: int) -> list:
    with database.reading() as session:
        return list(session.scalars(select(values).where(Pair.project_id == project_id).order_by(Pair.id)))


def refused(database: Database, project, **changes) -> str:
    service = ProjectService(database)
    with pytest.raises(SettingsError) as caught:
        service.update(project.id, replace(project.settings, **changes))
    assert service.get(project.id) == project
    return str(caught.value)


class Meanwhile:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._future = self._pool.submit(call)
        self._pool.shutdown(wait=False)

    def is_done_within(self, seconds: float) -> bool:
        return bool(wait([self._future], seconds).done)

    def result(self) -> object:
        return self._future.result(10)


def held_by_ana(database: Database, project) -> tuple[int, int]:
    """Ana's id, and that of the pair that she holds."""
    ana = AccountService(database).add_user("Ana")
    ProjectService(database).add_member(project.id, "Ana", Role.RATER)
    [held] = AssignmentService(database).queue(project.id, ana.id).pairs
    return ana.id, held.id


@contextmanager
def saving_slowly(database: Database, rater: int, pair_id: int) -> Iterator[Meanwhile]:
    """The rater grades the pair 2.75; the pair is locked, and nothing written before the block ends."""
    times, is_locked, go_on = iter(range(9)), threading.Event(), threading.Event()

    def clock() -> datetime:
        if next(times) == 1:  # asked for again once the pair is locked
            is_locked.set()
            assert go_on.wait(10)
        return datetime.now(UTC)

    saving = Meanwhile(lambda: RatingService(database, clock).rate(pair_id, rater, Decimal("2.75")))
    try:
        assert is_locked.wait(10)
        yield saving
    finally:
        go_on.set()


# Creating


def test_a_project_is_found_by_id_and_by_name_however_it_is_written(database):
    service = ProjectService(database, clock=lambda: NOON)
    made = service.create(
        replace(
            SETTINGS,
            name="  Straße　１ ",
            threshold=Decimal("1.50"),
            guidelines="# Read *all*",
            is_random=False,
        )
    )
    assert made.settings == replace(
        SETTINGS, name="Straße １", threshold=Decimal("1.5"), guidelines="# Read *all*", is_random=False
    )
    assert made.created_at == NOON
    assert service.get(made.id) == service.get("STRASSE 1") == made


def test_a_name_is_given_once_however_it_is_written(database):
    service = ProjectService(database)
    service.create(replace(SETTINGS, name="Café"))
    with pytest.raises(SettingsError, match="A project named 'CAFÉ' already exists: choose another name"):
        service.create(replace(SETTINGS, name="CAFÉ"))


@pytest.mark.both_databases
def test_of_many_who_make_a_project_of_one_name_at_once_one_does(database):
    service = ProjectService(database)
    outcomes: list[str] = []

    def make() -> None:
        try:
            outcomes.append(service.create(SETTINGS).name)
        except SettingsError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes, key=len)[0] == "News"
    assert sum("already" in outcome for outcome in outcomes) == 7


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"name": ""}, "name is empty"),
        ({"name": "​"}, "invisible character U+200B"),
        ({"name": "a\nb"}, "invisible character U+000A"),
        ({"name": "x" * 121}, "121 characters: give 1 to 120"),
        ({"name": "ﷺ" * 100}, "without ligatures"),
        ({"name": "\ud800"}, "U+D800"),
        ({"types": ()}, "no comparison types"),
        ({"types": ("a b",)}, "'a b' is not a valid name for a comparison type"),
        ({"raters_per_pair": 0}, "from 1 to 20, not 0"),
        ({"raters_per_pair": 21}, "from 1 to 20, not 21"),
        ({"threshold": Decimal(0)}, "0.25 to 4 in steps of 0.25, or none, not 0"),
        ({"threshold": Decimal("4.25")}, "not 4.25"),
        ({"threshold": Decimal("0.3")}, "not 0.3"),
        ({"threshold": Decimal("NaN")}, "not NaN"),
        ({"step": Decimal("0.75")}, "The step is 0.25, 0.5 or 1, not 0.75"),
        ({"seed": -1}, "The seed is a whole number"),
        ({"seed": 2**63}, "The seed is a whole number"),
        ({"lease_minutes": 0}, "The lease is a whole number from 1 to 10080 minutes, not 0"),
        ({"most_per_rater": 0}, "The limit of pairs per rater is a whole number from 1 to 1000000, not 0"),
        ({"guidelines": "a\0"}, "guidelines hold a NUL"),
        ({"guidelines": "x" * 100_001}, "100,001 characters"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_told_in_a_sentence(sqlite_database, changes, part):
    with pytest.raises(SettingsError) as caught:
        ProjectService(sqlite_database).create(replace(SETTINGS, **changes))
    assert part in str(caught.value)
    assert str(caught.value).endswith(".")
    assert ProjectService(sqlite_database).list() == []


@pytest.mark.parametrize("name", ["x" * 120, "新闻 📰", "اخبار", "<b>News</b>", "O'Brien; --", "7"])
def test_awkward_names_are_kept(database, name):
    assert ProjectService(database).create(replace(SETTINGS, name=name)).name == name
    assert ProjectService(database).get(name).name == name


@pytest.mark.parametrize("name", ["nothing", "", "a\0b", 12345])
def test_a_project_that_is_not_there_is_told(database, name):
    with pytest.raises(NotFoundError, match="There is no project"):
        ProjectService(database).get(name)


# Members


def test_who_makes_a_project_administers_it_and_sees_it(database):
    accounts, service = AccountService(database), ProjectService(database)
    ana, ben = accounts.add_user("Ana"), accounts.add_user("Ben")
    mine = service.create(SETTINGS, created_by=ana)
    service.create(replace(SETTINGS, name="Another"))
    assert accounts.roles("ana", mine.id) == {Role.ADMINISTRATOR}
    overview = OverviewService(database)
    assert [line.name for line in overview.projects(ana)] == ["News"]
    assert overview.projects(ben) == []
    assert [project.name for project in service.list()] == ["Another", "News"]


def test_roles_are_given_once_and_taken_one_by_one_or_all(database):
    accounts, service = AccountService(database), ProjectService(database)
    accounts.add_user("Ana")
    project = service.create(SETTINGS)
    for role in (Role.RATER, Role.RATER, Role.ADJUDICATOR):
        service.add_member(project.id, "ANA", role)
    [member] = service.members(project.id)
    assert (member.user.name, member.roles) == ("Ana", {Role.RATER, Role.ADJUDICATOR})
    service.remove_member(project.id, "ana", Role.RATER)
    assert service.members(project.id)[0].roles == {Role.ADJUDICATOR}
    service.remove_member(project.id, "ana")
    assert service.members(project.id) == ()
    with pytest.raises(NotFoundError, match="'Ana' has no role in 'News'"):
        service.remove_member(project.id, "ana")
    with pytest.raises(NotFoundError, match="no account named 'Cy'"):
        service.add_member(project.id, "Cy", Role.RATER)


def told(name: str, before: object, after: object) -> dict[str, object]:
    return {"settings": [name], "before": {name: before}, "after": {name: after}}


def test_changes_are_written_down_with_who_made_them(database):
    service = ProjectService(database)
    ana = AccountService(database).add_user("Ana")
    project = service.create(SETTINGS, created_by=ana)
    service.update(project.id, replace(SETTINGS, lease_minutes=5), by=ana)
    service.update(project.id, replace(SETTINGS, lease_minutes=5), by=ana)  # changes nothing
    service.update(project.id, replace(SETTINGS, lease_minutes=5, most_per_rater=40))
    service.update(project.id, replace(SETTINGS, lease_minutes=5))
    service.add_member(project.id, "Ana", Role.RATER)
    with database.reading() as session:
        rows = session.execute(
            select(AuditEvent.action, AuditEvent.user_id, AuditEvent.detail)
            .where(AuditEvent.project_id == project.id)
            .order_by(AuditEvent.id)
        )
        events = [tuple(row) for row in rows]
    assert events == [
        ("project created", ana.id, {"name": "News"}),
        ("project changed", ana.id, told("lease_minutes", 30, 5)),
        ("project changed", None, told("most_per_rater", None, 40)),
        ("project changed", None, told("most_per_rater", 40, None)),
        ("member added", None, {"member": "Ana", "role": "rater"}),
    ]


# Changing


def test_what_falsifies_nothing_may_change_at_any_time(database):
    project = project_with(database, pair(1, "0.25", "4"))
    changed = replace(
        project.settings,
        name="Old news",
        guidelines="anew",
        threshold=Decimal(4),
        may_revise=False,
        lease_minutes=1,
        most_per_rater=1,
        types=("sentence2phrase", "own2type"),
    )
    assert ProjectService(database).update(project.id, changed).settings == changed
    assert ProjectService(database).counts(project.id).flagged == 0
    with pytest.raises(NotFoundError):
        ProjectService(database).get("News")


def test_a_name_that_is_taken_is_refused_and_nothing_changes(database):
    project = project_with(database)
    ProjectService(database).create(replace(SETTINGS, name="Other"))
    assert "'other' already" in refused(database, project, name="other", lease_minutes=3)


def test_a_taken_name_is_told_also_when_the_order_changes_with_it(database):
    project_with(database, name="Taken")
    project = project_with(database, pair(1), pair(2))
    message = refused(database, project, name="TAKEN", seed=project.settings.seed + 1)
    assert message == "A project named 'TAKEN' already exists: choose another name."


def test_open_slots_follow_the_number_of_raters(database):
    project = project_with(database, pair(1), pair(2, "1"), pair(3, "1", "2"))
    service = ProjectService(database)
    service.update(project.id, replace(project.settings, raters_per_pair=5))
    assert column(database, Pair.open_slots, project.id) == [5, 4, 3]
    service.update(project.id, replace(project.settings, raters_per_pair=2))
    assert column(database, Pair.open_slots, project.id) == [2, 1, 0]


def test_fewer_raters_than_a_pair_has_are_refused(database):
    project = project_with(database, pair(1), pair(2, "1", "2"))
    assert "2 raters have graded or hold: 1 for each pair is too few" in refused(
        database, project, raters_per_pair=1
    )
    assert column(database, Pair.open_slots, project.id) == [2, 0]


def test_a_pair_that_is_held_counts_as_a_raters(database):
    project = project_with(database, pair(1))
    ana = AccountService(database).add_user("Ana")
    with database.session() as session:
        [held] = session.scalars(select(Pair))
        held.open_slots -= 1
        session.add(
            Assignment(
                project_id=project.id,
                pair_id=held.id,
                rater_id=ana.id,
                state="held",
                position=held.position,
                claimed_at=NOON,
                lease_expires_at=NOON + timedelta(minutes=30),
            )
        )
    ProjectService(database).update(project.id, replace(project.settings, raters_per_pair=1))
    assert column(database, Pair.open_slots, project.id) == [0]


def test_a_coarser_step_is_refused_only_when_a_grade_would_fall_off(database):
    project = project_with(database, pair(1, "0.5", "4"))
    assert "a grade of 0.5 already, which steps of 1 have not: keep 0.25" in refused(
        database, project, step=Decimal(1)
    )
    service = ProjectService(database)
    coarser = service.update(project.id, replace(project.settings, step=Decimal("0.5")))
    assert coarser.settings.step == Decimal("0.5")
    assert service.update(project.id, project.settings).settings.step == Decimal("0.25")


def test_a_coarser_step_waits_for_the_rater_who_is_saving(database):
    """The grade is checked against the step in one transaction, the step against the grades in another."""
    project = project_with(database, pair(1))
    rater, pair_id = held_by_ana(database, project)
    with saving_slowly(database, rater, pair_id) as saving:
        changed = Meanwhile(lambda: refused(database, project, step=Decimal(1)))
        assert not changed.is_done_within(0.3)
    saving.result()
    assert str(changed.result()).startswith("There is a grade of 2.75 already")


def test_a_type_with_pairs_stays(database):
    project = project_with(database, pair(1))
    assert "The type 'sentence2phrase' has 1 pairs: keep it" in refused(database, project, types=("a2b",))


def places_of_items(database: Database, project_id: int) -> list[int]:
    with database.reading() as session:
        here = select(LargerItem.position).where(LargerItem.project_id == project_id)
        return list(session.scalars(here.order_by(LargerItem.import_order)))


def test_another_order_moves_every_pair_and_larger_item_until_one_is_graded(database):
    project = project_with(database, *map(pair, range(20)), is_random=False)
    service = ProjectService(database)
    items = [NewItem(f"i{number}", "sentence2phrase", f"Gull {number} follows it.") for number in range(20)]
    ItemService(database).import_items(project.id, items)
    assert column(database, Pair.position, project.id) == list(range(20))
    assert places_of_items(database, project.id) == list(range(20))
    shuffled = service.update(project.id, replace(project.settings, is_random=True, seed=7))
    expected = [position_of(7, "sentence2phrase", f"p{number}") for number in range(20)]
    assert column(database, Pair.position, project.id) == expected
    assert places_of_items(database, project.id) == [
        position_of(7, "sentence2phrase", f"i{number}") for number in range(20)
    ]
    ImportService(database).import_pairs(project.id, [pair(99, "1")])
    assert "stay as they are once a pair is graded" in refused(database, shuffled, seed=8)
    assert "stay as they are" in refused(database, shuffled, is_random=False)
    assert column(database, Pair.position, project.id)[:20] == expected


# Counting


def test_counts_are_what_counting_the_ratings_gives(database):
    project = project_with(
        database,
        pair(1, "0", "1", genre="Travel"),
        pair(2, "0", "0.75", genre="Travel"),
        pair(3, "4", genre="News"),
        pair(4),
        pair(5, "1", "3", type="a2b"),
        types=("sentence2phrase", "a2b"),
    )
    counts = ProjectService(database).counts(project.id)
    assert (counts.pairs, counts.ratings, counts.finished, counts.flagged) == (5, 7, 3, 2)
    assert [(g.type, g.genre, g.pairs, g.ratings, g.finished, g.flagged) for g in counts.groups] == [
        ("sentence2phrase", None, 1, 0, 0, 0),
        ("sentence2phrase", "News", 1, 1, 0, 0),
        ("sentence2phrase", "Travel", 2, 4, 2, 1),
        ("a2b", None, 1, 2, 1, 1),
    ]


def test_counting_reads_the_index_and_no_text(sqlite_database):
    project = project_with(sqlite_database, pair(1, "1"))
    statements = []

    @event.listens_for(sqlite_database.engine, "before_cursor_execute")
    def keep(connection, cursor, statement, parameters, context, many):
        statements.append((statement, parameters))

    ProjectService(sqlite_database).counts(project.id)
    counting, waiting = [told for told in statements if "GROUP BY" in told[0]]
    with sqlite_database.engine.connect() as connection:
        plans = [
            str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall())
            for statement, parameters in (counting, waiting)
        ]
    assert "USING COVERING INDEX ix_pairs_type" in plans[0]
    assert "USING INDEX ix_pairs_spread" in plans[1].replace("COVERING ", "")  # of flagged pairs alone


# Deleting


def test_a_deleted_project_takes_its_pairs_and_ratings_and_leaves_the_rest(database):
    kept = project_with(database, pair(1, "1", "2"), name="Kept")
    project = project_with(database, pair(1, "1", "2"), pair(2, "4"))
    service = ProjectService(database)
    service.delete(project.id, "NEWS")
    with pytest.raises(NotFoundError):
        service.get("News")
    assert service.counts(kept.id).ratings == 2
    with database.reading() as session:
        for table in (Pair, Rating, Assignment, RatingChange, Membership):
            assert set(session.scalars(select(table.project_id))) == {kept.id}
        assert session.scalar(select(func.count()).where(AuditEvent.action == "project deleted")) == 1
    assert [user.name for user in AccountService(database).users()] == ["rater-0", "rater-1"]


def test_who_deletes_a_project_deletes_no_other_that_has_its_name_by_then(database):
    asked, other = project_with(database, name="News"), project_with(database, name="Other")
    service = ProjectService(database)
    service.update(asked.id, replace(asked.settings, name="News of 2014"))
    service.update(other.id, replace(other.settings, name="News"))
    with pytest.raises(SettingsError, match=r"“News” is not the name of the project: type News of 2014 to"):
        service.delete(asked.id, "News")
    assert [project.id for project in service.list()] == [other.id, asked.id]


def test_a_project_is_deleted_while_a_rater_saves(database):
    """On PostgreSQL both would wait for each other: the grade for the project, the project for the pair."""
    project = project_with(database, pair(1))
    rater, pair_id = held_by_ana(database, project)
    with saving_slowly(database, rater, pair_id) as saving:
        deleted = Meanwhile(lambda: ProjectService(database).delete(project.id, "News"))
        assert not deleted.is_done_within(0.3)
    saving.result()
    deleted.result()
    assert ProjectService(database).list() == []


def test_a_rater_who_is_removed_gives_back_what_he_holds(database):
    services = open_services(database)
    project = services.projects.create(replace(SETTINGS, types=("sentence2phrase",), raters_per_pair=1))
    services.importing.import_pairs(project.id, [NewPair("1", "sentence2phrase", "left", "right")])
    ana, ben = (services.accounts.add_user(name) for name in ("Ana", "Ben"))
    for user in (ana, ben):
        services.projects.add_member(project.id, user.name, Role.RATER)
    assert len(services.assignment.queue(project.id, ana.id).pairs) == 1
    assert services.assignment.queue(project.id, ben.id).is_waiting
    services.projects.remove_member(project.id, "Ana")
    assert len(services.assignment.queue(project.id, ben.id).pairs) == 1
