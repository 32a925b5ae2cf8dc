"""Writing pairs on both systems: items, balance, leases, drafts, editors, and who may grade them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import event, select, text, update
from sqlalchemy.exc import DBAPIError

from annotation.authoring import NewItem
from annotation.comparison import Bounds, PairBounds
from annotation.errors import (
    AccessError,
    AssignmentError,
    ImportFileError,
    NotFoundError,
    SettingsError,
    StaleTextError,
    WritingError,
)
from annotation.services import writing as writing_tasks
from annotation.services.accounts import AccountService
from annotation.services.editing import WritingReportService, Zeros
from annotation.services.known_pairs import KnownPairService
from annotation.services.larger_items import ItemService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.services.writing import remember_viewer
from annotation.types import KnownPair, NewPair, NewRating, Role
from db.models import LargerItem, Pair, Writing, WritingChange
from tests.databases import row_problems
from tests.people import at_once
from tests.writers import PEOPLE, TYPE, new_items, open_office, sentence


@pytest.fixture
def office(database):
    return open_office(database, items=10)


def grades_of(office) -> Counter:
    with office.database.reading() as session:
        return Counter(session.scalars(select(LargerItem.grade).order_by(LargerItem.id)))


def test_items_are_imported_all_or_none_and_never_twice(database):
    office = open_office(database)
    again = [*new_items(3), NewItem("other id", TYPE, f" {sentence(1)}\n"), *new_items(3, first=2)]
    summary = office.items.import_items(office.project.id, again)
    assert (summary.items, summary.duplicates) == (5, ("other id", "item 2"))
    assert office.items.import_items(office.project.id, again).items == 0
    for item, problem in (
        (
            NewItem("x", TYPE, "Too short.", place="a.tsv, line 3"),
            "a.tsv, line 3, field 'text': the sentence has 2 words, not 4 to 80; fix it",
        ),
        (NewItem("x", "word2sense", "mouse"), "'word2sense' is not a type of the project"),
        (NewItem("item 1", TYPE, sentence(99)), "'item 1' already exists with another text"),
    ):
        with pytest.raises(ImportFileError, match=problem):
            office.items.import_items(office.project.id, [*new_items(1, first=50), item])
    assert office.items.count(office.project.id) == 5
    assert [line.state for line in office.items.items(office.project.id)] == ["unwritten"] * 5


def test_every_larger_item_that_cannot_be_used_is_counted(database):
    office = open_office(database, items=600)
    clashing = [replace(item, text=sentence(2_000)) for item in new_items(600)]
    items = [*clashing, NewItem("x", TYPE, sentence(3_000)), NewItem("x", TYPE, sentence(3_001))]
    with pytest.raises(
        ImportFileError, match=r"^601 lines cannot be imported; the first 5 are: \(1\) Item 'item 0'"
    ):
        office.items.import_items(office.project.id, items)
    assert office.items.count(office.project.id) == 600


def test_a_type_with_larger_items_stays(office):
    settings = replace(office.project.settings, types=("phrase2word",))
    with pytest.raises(SettingsError, match="has 10 larger items: keep it"):
        office.projects.update(office.project.id, settings)


def test_a_project_may_have_bounds_of_its_own(database):
    office = open_office(database)
    bounds = PairBounds(Bounds((1, 3), (1, 1)), Bounds((1, 2), (1, 1)))
    office.items.change_plan(office.project.id, type=TYPE, bounds=bounds, has_zeros=False)
    office.items.import_items(office.project.id, [NewItem("1", TYPE, "Gulls cry.")])
    task = office.task("wim")
    with pytest.raises(WritingError, match=r"The text has 3 words, not 1 to 2\."):
        office.writing.submit(task.id, office.id("wim"), "noise of gulls", task.version)
    office.writing.submit(task.id, office.id("wim"), "bird noise", task.version)


def test_grades_are_balanced_and_a_share_is_reserved_also_when_writers_stop_midway(office):
    for name in ("wim", "wes"):  # both begin, and one goes home
        office.task(name)
    office.clock.forward(minutes=31)
    written = []
    while (desk := office.writing.desk(office.project.id, office.id("wim"))).task:
        written.append(office.submit("wim").grade)
    assert not desk.is_waiting
    assert Counter(written) == {1: 2, 2: 2, 3: 2, 4: 2}
    assert grades_of(office) == {0: 2, 1: 2, 2: 2, 3: 2, 4: 2}
    assert row_problems(office.database) == []


@pytest.mark.both_databases
def test_writers_at_once_never_have_the_same_item_and_stay_balanced(database):
    office = open_office(database, items=20)
    for person in range(6):
        name = f"writer {person}"
        office.users[name] = AccountService(database).add_user(name)
        office.projects.add_member(office.project.id, name, Role.WRITER)

    def write(name: str):
        def work() -> list[int]:
            done = []
            while (task := office.writing.desk(office.project.id, office.id(name)).task) is not None:
                if len(done) % 3 == 1 and task.state == "held" and not task.text:
                    office.writing.leave_blank(task.id, office.id(name))
                    done.append(0)
                    continue
                office.writing.submit(task.id, office.id(name), f"ferry of {name} {task.id}", task.version)
                done.append(task.id)
            return done

        return work

    answers = at_once([write(f"writer {person}") for person in range(6)])
    assert all(isinstance(answer, list) for answer in answers), answers
    while (task := office.writing.desk(office.project.id, office.id("wim")).task) is not None:
        office.writing.submit(task.id, office.id("wim"), f"last ferry {task.id}", task.version)
    assert grades_of(office) == {0: 4, 1: 4, 2: 4, 3: 4, 4: 4}
    with database.reading() as session:
        submitted = session.scalars(select(Writing.item_id).where(Writing.state == "submitted")).all()
    assert len(submitted) == len(set(submitted)) == 16
    assert row_problems(database) == []


def test_an_item_left_blank_goes_to_another_writer_and_never_back(database):
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    task = office.task("wim")
    desk = office.writing.leave_blank(task.id, office.id("wim"), "What is a ferry?")
    assert (desk.task, desk.is_waiting, desk.unwritten) == (None, False, 0)  # none is open to him
    office.writing.leave_blank(task.id, office.id("wim"))  # once more changes nothing
    assert office.task("wes").left == task.left
    assert [each.state for each in office.writing.recent(office.project.id, office.id("wim"))] == ["blank"]
    with pytest.raises(WritingError, match="You left this item to somebody else"):
        office.writing.submit(task.id, office.id("wim"), "a boat after all", 0)


@pytest.mark.both_databases
def test_a_draft_is_kept_and_found_again_also_after_the_lease(database):
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    task = office.task("wim")
    draft = office.writing.keep(task.id, office.id("wim"), "a boat \0 ", 0, 12.5)
    assert (draft.version, draft.lost, draft.check.size.words) == (1, "", 2)
    again = office.task("wim")
    assert (again.text, again.version, again.seconds) == ("a boat \N{REPLACEMENT CHARACTER} ", 1, 12.5)
    with pytest.raises(StaleTextError):
        office.writing.keep(task.id, office.id("wim"), "typed in an old window", 0)
    office.clock.forward(minutes=31)
    assert office.task("wes").left == task.left
    lost = office.writing.keep(task.id, office.id("wim"), "a boat of mine", 1)
    assert "it went to somebody else" in lost.lost
    with pytest.raises(WritingError, match="it went to somebody else"):
        office.writing.submit(task.id, office.id("wim"), "a boat of mine", 2)
    office.clock.forward(minutes=31)
    assert office.task("wim").text == "a boat of mine"


@pytest.mark.both_databases
def test_texts_are_compared_while_others_can_save(office, monkeypatch):
    task = office.submit("wim")
    office.editing.send_back(office.project.id, task.id, office.id("eda"), "Shorter.", version=1)
    compare = writing_tasks.check_text
    waited = []

    def compare_while_others_save(*args):
        saving = threading.Thread(target=office.items.change_plan, args=(office.project.id,))
        saving.start()
        saving.join(2)
        waited.append(saving.is_alive())
        return compare(*args)

    monkeypatch.setattr(writing_tasks, "check_text", compare_while_others_save)
    desk = office.writing.desk(office.project.id, office.id("wim"))
    office.writing.keep(desk.task.id, office.id("wim"), "ferry at noon", desk.task.version)
    office.writing.submit(desk.task.id, office.id("wim"), "a ferry at noon", desk.task.version + 1)
    assert waited
    assert not any(waited)


@pytest.mark.both_databases
def test_many_items_are_withdrawn_and_restored_with_few_statements(database):
    office = open_office(database, items=600)
    withdrawal, project = ItemService(database, office.clock), office.project.id
    ids = [line.id for line in office.items.items(project, 600)]
    asked: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *arguments: asked.append(arguments[2]))
    assert withdrawal.withdraw(project, ids) == 600
    assert withdrawal.restore(project, ids) == 600
    assert len(asked) < 40
    with pytest.raises(NotFoundError, match=r"no larger item '\\udcff'"):
        withdrawal.withdraw(project, ["\udcff"])


def test_a_withdrawn_item_goes_to_no_writer_and_its_draft_is_kept(office):
    withdrawal = ItemService(office.database, office.clock)
    office.items.change_plan(office.project.id, has_zeros=False)
    project, wim, wes = office.project.id, office.id("wim"), office.id("wes")
    accepted, _ = office.submit("wim"), office.accept_all()
    submitted, drafted = office.submit("wim"), office.task("wim")
    office.writing.keep(drafted.id, wim, "a draft of mine", drafted.version)
    lines = {line.text: line.id for line in office.items.items(project)}
    ids = [lines[task.left] for task in (submitted, drafted)]
    with pytest.raises(WritingError, match="is a pair already, which stays"):
        withdrawal.withdraw(project, [*ids, lines[accepted.left]])
    with pytest.raises(NotFoundError, match="no larger item 'item 99'"):
        withdrawal.withdraw(project, [*ids, "item 99"])
    assert office.task("wim").id == drafted.id  # all or none
    rest = {line.id for line in office.items.items(project)} - {*ids, lines[accepted.left]}
    assert withdrawal.withdraw(project, [*ids, ids[0]]) == 2
    assert withdrawal.withdraw(project, ids) == 0
    lost = office.writing.keep(drafted.id, wim, "a draft of mine, longer", drafted.version + 1)
    assert lost.lost.startswith("This item was withdrawn")
    with pytest.raises(WritingError, match="This item was withdrawn"):
        office.writing.submit(drafted.id, wim, "a draft of mine", lost.version)
    assert office.editing.queue(project, office.id("eda")) == ()
    assert office.writing.desk(project, wes).unwritten == len(rest) - 1
    assert [text.state for text in office.writing.recent(project, wim)].count("withdrawn") == 2
    while (task := office.writing.desk(project, wes).task) is not None:
        assert task.left not in (submitted.left, drafted.left)
        office.submit("wes")
    assert row_problems(office.database) == []
    assert withdrawal.restore(project, ids) == 2
    again = {office.task("wim").left: office.task("wim").text}
    office.writing.leave_blank(office.task("wim").id, wim)
    again[office.task("wim").left] = office.task("wim").text
    assert again[drafted.left] == "a draft of mine, longer"
    assert row_problems(office.database) == []


@pytest.mark.both_databases
def test_a_lease_that_nobody_missed_is_taken_up_again_by_typing(database):
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    task = office.task("wim")
    office.clock.forward(minutes=31)
    assert office.task("wes").left == task.left
    office.projects.remove_member(office.project.id, "wes", Role.WRITER)
    assert office.writing.keep(task.id, office.id("wim"), "here again", 0).lost == ""
    assert row_problems(database) == []


@pytest.fixture
def sent_back(database):
    """The only item of an office, whose text was sent back to wim."""
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    task = office.submit("wim")
    office.editing.send_back(office.project.id, task.id, office.id("eda"), "Shorter.", version=1)
    return office


def test_a_text_that_was_sent_back_goes_to_others_a_week_after_its_writer_was_last_at_it(sent_back):
    office, wes = sent_back, sent_back.id("wes")
    office.clock.forward(days=6)
    desk = office.writing.desk(office.project.id, wes)
    assert (desk.task, desk.is_waiting) == (None, True)
    task = office.task("wim")
    office.writing.keep(task.id, office.id("wim"), "a boat", task.version)
    office.clock.forward(days=6)
    assert office.writing.desk(office.project.id, wes).task is None
    office.clock.forward(days=1)
    assert office.task("wes").left == task.left
    assert "went to somebody else" in office.writing.keep(task.id, office.id("wim"), "a ship", 2).lost
    assert row_problems(office.database) == []


def test_what_a_disabled_account_had_to_write_goes_to_others_at_once(sent_back):
    office = sent_back
    AccountService(office.database, clock=office.clock).disable("wim")
    assert office.task("wes").left == sentence(0)
    assert row_problems(office.database) == []


def test_only_writers_write_and_only_their_own(office):
    task = office.task("wim")
    for name, error in (("wes", NotFoundError), ("ana", NotFoundError)):
        with pytest.raises(error):
            office.writing.keep(task.id, office.id(name), "x", 0)
        with pytest.raises(error):
            office.writing.task(task.id, office.id(name))
    with pytest.raises(AccessError, match="You do not have the role writer in this project: ask"):
        office.writing.desk(office.project.id, office.id("ana"))
    office.submit("wim")
    with pytest.raises(AccessError, match="the role editor or administrator"):
        office.editing.queue(office.project.id, office.id("wim"))
    office.projects.remove_member(office.project.id, "wim", Role.WRITER)
    with pytest.raises(AccessError):
        office.writing.keep(task.id, office.id("wim"), "x", 1)


def test_an_accepted_text_becomes_a_pair_that_its_writer_and_editor_never_grade(office):
    office.submit("wim", "a ferry and its gulls")
    [waiting] = office.editing.queue(office.project.id, office.id("eda"))
    assert (waiting.writer, waiting.text) == ("wim", "a ferry and its gulls")
    [pair_id] = office.accept_all()
    with office.database.reading() as session:
        pair = session.get_one(Pair, pair_id)
        assert (pair.intended_quarters, pair.genre, pair.source) == (waiting.grade * 4, "news", "harbour log")
        assert (pair.external_id, pair.right, pair.open_slots) == (waiting.item_id, waiting.text, 2)
    assert [office.queue(name) for name in ("wim", "eda", "ana", "ben")] == [[], [], [pair_id], [pair_id]]
    for name in ("wim", "eda"):
        assert office.ratings.progress(office.project.id, office.id(name)).total == 0
        with pytest.raises(AssignmentError, match="You wrote this pair, saw its requested grade"):
            office.ratings.rate(pair_id, office.id(name), Decimal(3))
        with pytest.raises(ImportFileError, match=f"'{name}' wrote the pair"):
            office.importing.import_pairs(
                office.project.id, [NewRating(waiting.item_id, name, Decimal(3), TYPE)]
            )
    for name in ("ana", "ben"):
        office.ratings.rate(pair_id, office.id(name), Decimal(3))
    assert row_problems(office.database) == []


def test_whoever_saw_the_requested_grade_never_grades_the_pair(database):
    office = open_office(database, items=1)
    office.items.change_plan(office.project.id, has_zeros=False)
    for name, role in (("wes", Role.RATER), ("ben", Role.EDITOR), ("ana", Role.EDITOR)):
        office.projects.add_member(office.project.id, name, role)
    office.writing.leave_blank(office.task("wes").id, office.id("wes"))  # was shown the item and its grade
    task = office.submit("wim")
    office.editing.queue(office.project.id, office.id("ana"))  # tells no grade
    for _ in range(2):
        shown = office.editing.text(office.project.id, task.id, office.id("ben"))
    assert [step.action for step in shown.steps] == ["blank", "submitted"]
    [pair_id] = office.accept_all("eda")
    assert {name: office.queue(name) for name in ("wim", "wes", "eda", "ben", "ana")} == {
        "wim": [],
        "wes": [],
        "eda": [],
        "ben": [],
        "ana": [pair_id],
    }
    with pytest.raises(NotFoundError, match="is no longer waiting"):
        office.editing.text(office.project.id, task.id, office.id("ana"))
    assert office.queue("ana") == [pair_id]


@pytest.mark.parametrize("how", ["removed", "disabled"])
def test_a_text_is_not_sent_back_to_a_writer_who_has_left(office, how):
    task, eda, project = office.submit("wim"), office.id("eda"), office.project.id
    if how == "removed":
        ProjectService(office.database).remove_member(project, "wim")
    else:
        AccountService(office.database).disable("wim")
    with pytest.raises(WritingError, match="wim is no longer a writer in this project"):
        office.editing.send_back(project, task.id, eda, "Shorter.", version=1)
    assert len(office.editing.queue(project, eda)) == 1
    office.editing.hand_on(project, task.id, eda, "Shorter.", version=1)


def test_an_editor_edits_sends_back_and_hands_on_and_all_is_remembered(office):
    task, eda = office.submit("wim", "a bote at noon"), office.id("eda")
    project = office.project.id
    with pytest.raises(WritingError, match="The note is empty"):
        office.editing.send_back(project, task.id, eda, "  ", version=1)
    office.editing.send_back(project, task.id, eda, "Mend the spelling.", version=1)
    desk = office.writing.desk(project, office.id("wim"))
    assert desk.task.state != "sent_back" or desk.sent_back == 1
    back = office.writing.task(task.id, office.id("wim"))
    assert (back.note, back.text, back.state) == ("Mend the spelling.", "a bote at noon", "sent_back")
    office.writing.submit(task.id, office.id("wim"), "a boat at noon", back.version)
    office.editing.accept(project, task.id, eda, version=2, text="a ferry at noon")
    with pytest.raises(WritingError, match="Another editor was faster"):
        office.editing.accept(project, task.id, eda, version=2)
    other = office.submit("wes", "a gull")
    office.editing.hand_on(project, other.id, eda, "Off topic.", version=1)
    with office.database.reading() as session:
        rows = session.scalars(select(WritingChange).order_by(WritingChange.id)).all()
        assert [(row.action, row.text) for row in rows] == [
            ("submitted", "a bote at noon"),
            ("sent_back", "a bote at noon"),
            ("submitted", "a boat at noon"),
            ("edited", "a ferry at noon"),
            ("accepted", "a ferry at noon"),
            ("submitted", "a gull"),
            ("handed_on", "a gull"),
        ]
        assert session.scalar(select(LargerItem.grade).where(LargerItem.text == other.left)) is None
    with pytest.raises(DBAPIError, match="append-only"), office.database.session() as session:
        session.execute(text("UPDATE writing_history SET text = ''"))
    assert row_problems(office.database) == []


@pytest.mark.both_databases
def test_two_editors_at_once_make_one_pair(office):
    office.projects.add_member(office.project.id, "ben", Role.EDITOR)
    task = office.submit("wim")
    calls = [
        lambda name=name: office.editing.accept(office.project.id, task.id, office.id(name), version=1)
        for name in ("eda", "ben")
    ]
    answers = at_once(calls)
    assert sorted(type(answer).__name__ for answer in answers) == ["WritingError", "int"]


def test_zeros_are_paired_with_other_items_texts_and_always_the_same(database):
    made = []
    for name in ("first", "second"):
        office = open_office(database, items=10, name=name) if not made else open_second(database, name)
        while office.writing.desk(office.project.id, office.id("wim")).task:
            task = office.task("wim")
            office.submit("wim", f"what ferry {task.left.split()[2]} does")
        assert office.editing.make_zeros(office.project.id) == Zeros(0, 2)
        office.accept_all()
        assert office.editing.make_zeros(office.project.id) == Zeros(2, 0)
        assert office.editing.make_zeros(office.project.id) == Zeros(0, 0)
        with database.reading() as session:
            zeros = session.execute(
                select(Pair.id, Pair.left, Pair.right)
                .where(Pair.project_id == office.project.id, Pair.intended_quarters == 0)
                .order_by(Pair.left)
            ).all()
        made.append([(left, right) for _, left, right in zeros])
        assert all(left.split()[2] != right.split()[2] for _, left, right in zeros)
        assert not {pair for pair, _, _ in zeros} & set(office.queue("wim"))
        assert {pair for pair, _, _ in zeros} <= set(office.queue("ana"))
    assert made[0] == made[1]
    assert row_problems(database) == []


def test_whoever_saw_a_grade_requested_for_either_item_never_grades_their_pair_of_grade_0(database):
    office = open_office(database, items=5)
    office.projects.add_member(office.project.id, "wes", Role.RATER)
    office.projects.add_member(office.project.id, "ben", Role.EDITOR)
    while office.writing.desk(office.project.id, office.id("wim")).task:
        task = office.submit("wim")
    office.editing.text(office.project.id, task.id, office.id("ben"))
    office.editing.accept(office.project.id, task.id, office.id("eda"), version=1)
    with database.session() as session:
        zero = session.scalars(select(LargerItem).where(LargerItem.grade == 0)).one()
        remember_viewer(session, zero.id, office.id("wes"), office.clock())  # before it was reserved
    assert office.editing.make_zeros(office.project.id) == Zeros(1, 0)
    with database.reading() as session:
        pair = session.scalars(select(Pair.id).where(Pair.intended_quarters == 0)).one()
    assert [name for name in PEOPLE if pair in office.queue(name)] == ["ana"]


def test_a_larger_item_whose_pair_of_grade_0_is_there_already_gets_the_next_best_partner(office):
    while office.writing.desk(office.project.id, office.id("wes")).task:
        office.submit("wes")
    office.accept_all()
    assert office.editing.make_zeros(office.project.id) == Zeros(2, 0)
    with office.database.session() as session:  # the same pairs, as if they had been imported
        session.execute(update(LargerItem).where(LargerItem.grade == 0).values(pair_id=None))
    assert office.editing.make_zeros(office.project.id) == Zeros(2, 0)
    with office.database.reading() as session:
        zeros = session.execute(select(Pair.left, Pair.right).where(Pair.intended_quarters == 0)).all()
    lefts = Counter(left for left, _ in zeros)
    assert (len(set(zeros)), sorted(lefts.values())) == (4, [2, 2])


def test_partners_that_are_pairs_already_are_passed_over_without_a_query_for_each(office):
    while office.writing.desk(office.project.id, office.id("wes")).task:
        office.submit("wes")
    office.accept_all()
    said: list[str] = []
    engine = office.database.engine
    event.listen(engine, "before_cursor_execute", lambda *arguments: said.append(arguments[2]))
    for _ in range(3):  # each time one more candidate of either item is a pair
        said.clear()
        assert office.editing.make_zeros(office.project.id) == Zeros(2, 0)
        looked_up = [each for each in said if each.startswith("SELECT") and "pairs.fingerprint" in each]
        assert len(looked_up) == 1 + 2  # all at once, and each of the two that are added
        with office.database.session() as session:
            session.execute(update(LargerItem).where(LargerItem.grade == 0).values(pair_id=None))


def test_a_written_text_that_makes_a_training_pair_is_not_accepted(office):
    task = office.submit("wim", "a ferry at noon")
    known = KnownPair(NewPair("t", TYPE, task.left, "a ferry at noon"), Decimal(4))
    KnownPairService(office.database).import_training(office.project.id, [known])
    with pytest.raises(WritingError, match="This is a training pair of the project"):
        office.editing.accept(office.project.id, task.id, office.id("eda"), version=1)


def test_zeros_take_no_text_of_a_withdrawn_pair(database):
    office = open_office(database, items=10, name="first")
    while office.writing.desk(office.project.id, office.id("wim")).task:
        office.submit("wim", f"what ferry {office.task('wim').left.split()[2]} does")
    pairs = office.accept_all()
    with database.reading() as session:
        names = session.scalars(select(Pair.external_id).where(Pair.id.in_(pairs))).all()
    withdrawal = PairService(database, office.clock)
    withdrawal.withdraw(office.project.id, names)
    assert office.editing.make_zeros(office.project.id) == Zeros(0, 2)
    withdrawal.restore(office.project.id, names)
    assert office.editing.make_zeros(office.project.id) == Zeros(2, 0)


def open_second(database, name):
    with database.session() as session:
        session.execute(text("UPDATE users SET name = name || '!', name_key = name_key || '!'"))
    return open_office(database, items=10, name=name)


def test_what_a_writer_held_is_free_again_when_he_leaves(office):
    office.submit("wim")
    held = office.task("wim")
    office.projects.remove_member(office.project.id, "wim", Role.WRITER)
    with office.database.reading() as session:
        item = session.scalar(select(LargerItem.grade).where(LargerItem.text == held.left))
    assert item is None
    assert len(office.editing.queue(office.project.id, office.id("eda"))) == 1
    assert row_problems(office.database) == []


def test_a_project_with_written_pairs_can_be_deleted(office):
    office.submit("wim")
    office.accept_all()
    office.projects.delete(office.project.id, "ferries")
    with office.database.reading() as session:
        assert session.scalars(select(LargerItem)).all() == []
    assert row_problems(office.database) == []


def test_the_report_counts_what_was_written_accepted_and_graded(office):
    office.submit("wim")
    office.submit("wes")
    office.writing.leave_blank(office.task("wes").id, office.id("wes"))
    office.accept_all()
    first, second = office.queue("ana")
    assert first in office.queue("ben")
    for name in ("ana", "ben"):
        office.ratings.rate(first, office.id(name), Decimal("2.5"))
    office.ratings.rate(second, office.id("ana"), Decimal(4))  # one rating of two
    assert WritingReportService(office.database).report(office.project.id).whole.pairs == 1
    office.ratings.rate(second, office.id("ben"), Decimal(3))  # flagged: no gold grade without a decision
    report = WritingReportService(office.database).report(office.project.id)
    assert report.whole.pairs == 1
    assert {each.counts.writer: (each.counts.accepted, each.counts.blank) for each in report.writers} == {
        "wes": (1, 1),
        "wim": (1, 0),
    }
    [judged] = [each.drift for each in report.writers if each.drift.pairs]
    assert judged == report.whole
    assert sum(map(sum, report.matrix)) == 1
    assert report.distribution == ((TYPE, (0, 0, 0, 0, 0, 1, 0, 0, 0)),)
