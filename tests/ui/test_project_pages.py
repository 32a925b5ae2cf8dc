"""The list of projects, their settings and imports, as handlers and as HTML, without a browser."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from annotation.adjudication import Which
from annotation.assignment import Progress
from annotation.changes import describe_changes, print_settings
from annotation.errors import SettingsError
from annotation.projects import GroupCounts, Member, ProjectCounts, sum_counts
from annotation.sense_pairs import Dictionary
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.assignment import AssignmentService
from annotation.services.audit import Event, EventService
from annotation.services.consents import ConsentService
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService
from annotation.services.project_rows import find_project
from annotation.services.projects import OverviewService, ProjectLine, ProjectService
from annotation.services.ratings import RatingService, RemarkService
from annotation.types import Average, Cause, ImportSummary, NewPair, ProjectSettings, Role, SkipReason, User
from annotation.ui.accounts import events_html, members_html
from annotation.ui.figures import table_csv
from annotation.ui.pages import HELP, HeaderHandlers
from annotation.ui.pairs import (
    NO_REMARKS,
    SHOWN_DUPLICATES,
    ImportHandlers,
    RemarksHandlers,
    remarks_html,
    remarks_table,
    summary_html,
)
from annotation.ui.predictions import option_fields
from annotation.ui.projects import (
    CHANGED_TEXT,
    HomeHandlers,
    ProjectHandlers,
    counts_html,
    follow_raters,
    next_steps,
    preview_texts,
    project_html,
    range_html,
    read_settings_form,
    settings_fields,
    settings_values,
)
from annotation.ui.quality import check_fields, limit_fields, training_fields
from annotation.ui.widgets import decimal_of, project_in, whole_of
from db.models import LargerItem
from tests.rated import pair as rated_pair
from tests.rated import rated_project

EVIL = '<img src=x onerror="alert(1)">{{value}}${value}'
LEADER = User(1, "root", is_administrator=True)
RATER = User(2, "Ana")
SETTINGS = ProjectSettings("Lexical levels", types=("sentence2phrase", "title2abstract"))


@dataclass
class Asked:
    """The part of a request of Gradio's that handlers look at."""

    username: str | None = "root"
    query_params: dict[str, str] = field(default_factory=lambda: {"project": "1"})
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)


def line(**changes: Any) -> ProjectLine:
    plain = ProjectLine(7, "P", frozenset(), pairs=10, finished=0, to_adjudicate=0, raters=2)
    return replace(plain, **changes)


def steps(line: ProjectLine, user: User, progress: Progress | None = None) -> list[str]:
    return [link.text for link in next_steps(line, user, progress)]


@pytest.mark.parametrize(
    ("project", "user", "progress", "expected"),
    [
        (line(pairs=0, raters=0), LEADER, None, ["Import pairs", "Invite raters"]),
        (line(pairs=0, withdrawn=2), LEADER, None, ["Restore or import pairs"]),
        (line(raters=0), LEADER, None, ["Invite raters"]),
        (line(raters=0, finished=10), LEADER, None, ["Export gold", "See agreement"]),
        (line(), LEADER, None, []),
        (line(finished=4, to_adjudicate=1), LEADER, None, ["Adjudicate 1 pair", "See agreement"]),
        (line(finished=10), LEADER, None, ["Export gold", "See agreement"]),
        (line(roles=frozenset({Role.RATER})), RATER, Progress(0, 10), ["Grade pairs"]),
        (line(roles=frozenset({Role.RATER}), finished=5), RATER, Progress(9, 10), ["Grade pairs"]),
        (line(roles=frozenset({Role.RATER})), RATER, Progress(10, 10), ["See my answers"]),
        (line(roles=frozenset({Role.RATER}), is_paused=True), RATER, Progress(9, 10), ["See my answers"]),
        (line(roles=frozenset({Role.RATER}), is_paused=True), RATER, Progress(0, 10), []),
        (line(roles=frozenset({Role.RATER}), to_adjudicate=3), RATER, Progress(0, 0), []),
        (line(roles=frozenset({Role.ADJUDICATOR}), to_adjudicate=3), RATER, None, ["Adjudicate 3 pairs"]),
    ],
)
def test_the_next_step_is_what_this_user_can_do_now(project, user, progress, expected):
    assert steps(project, user, progress) == expected


@pytest.mark.parametrize(
    ("project", "user", "said"),
    [
        (line(), LEADER, "Waiting for 2 raters to grade"),
        (line(roles=frozenset({Role.ADJUDICATOR})), RATER, "Waiting for 2 raters to grade"),
        (line(pairs=0, unwritten=5), LEADER, "Waiting for writers to write"),
        (line(roles=frozenset({Role.RATER}), is_paused=True), RATER, "Nothing for you to do at the moment"),
    ],
)
def test_who_leads_and_has_nothing_to_do_reads_what_is_waited_for(project, user, said):
    assert f'<span class="small">{said}</span>' in project_html(project, user, None)


@pytest.mark.parametrize(
    ("roles", "is_paused", "page"),
    [
        ({Role.RATER}, False, "rate"),
        ({Role.RATER, Role.WRITER}, False, "rate"),
        ({Role.WRITER}, False, "write"),
        ({Role.RATER, Role.WRITER}, True, "write"),
        ({Role.RATER}, True, ""),  # is given nothing, and asked nothing
    ],
)
def test_who_has_to_agree_anew_is_told_and_led_to_the_text_also_when_all_is_graded(roles, is_paused, page):
    project = line(roles=frozenset(roles), is_paused=is_paused, must_agree_anew=True, finished=10)
    asked = [link.address for link in next_steps(project, RATER, Progress(10, 10)) if "Agree" in link.text]
    assert asked == ([f"/annotate/{page}?project=7"] if page else [])
    assert (CHANGED_TEXT in project_html(project, RATER, Progress(10, 10))) is bool(page)


def test_of_the_items_to_write_for_some_may_be_reserved():
    shown = project_html(line(roles=frozenset({Role.WRITER}), unwritten=5), RATER, None)
    assert "Up to 5 larger items to write for" in shown


@pytest.mark.parametrize("pairs", [0, 10])
def test_a_rater_is_told_of_pairs_and_not_of_items_for_writers(pairs):
    shown = project_html(line(roles=frozenset({Role.RATER}), pairs=pairs, unwritten=5), RATER, None)
    assert "to write for" not in shown
    assert ("No pairs yet" in shown) is (pairs == 0)


def test_saved_settings_are_said_to_reach_raters_when_they_open_their_page_again(sqlite_database):
    accounts, projects = AccountService(sqlite_database), ProjectService(sqlite_database)
    accounts.add_user("root", is_administrator=True)
    projects.create(SETTINGS)
    handlers = ProjectHandlers(
        *(accounts, projects, EventService(sqlite_database), PairService(sqlite_database)),
        ConsentService(sqlite_database),
    )
    new = replace(SETTINGS, step=Decimal("0.5"), guidelines="Grade what is said.")
    said, *_ = handlers.save(Asked(), print_settings(SETTINGS), *settings_values(new))
    assert "Raters see the changes when they open their page again" in said
    assert "agree again" not in said


def test_a_changed_consent_text_is_saved_with_the_number_who_have_to_agree_anew(sqlite_database):
    accounts, projects = AccountService(sqlite_database), ProjectService(sqlite_database)
    consents = ConsentService(sqlite_database)
    accounts.add_user("root", is_administrator=True)
    ana = accounts.add_user("Ana").id
    first = replace(SETTINGS, consent="Take part?")
    project = projects.create(first).id
    projects.add_member(project, "Ana", Role.RATER)
    asked = consents.text_to_agree(project, ana)
    assert asked is not None
    consents.agree(project, ana, asked.sha256)
    handlers = ProjectHandlers(
        *(accounts, projects, EventService(sqlite_database), PairService(sqlite_database)), consents
    )
    second = replace(first, consent="Take part now?")
    said, *_ = handlers.save(Asked(), print_settings(first), *settings_values(second))
    assert "1 rater or writer has to agree again before they go on" in said
    third = replace(second, guidelines="Grade what is said.")
    assert "agree again" not in handlers.save(Asked(), print_settings(second), *settings_values(third))[0]


def test_a_changed_threshold_is_saved_with_what_it_flags(sqlite_database):
    rated = rated_project(sqlite_database, [rated_pair("near", "2", "2.5"), rated_pair("far", "0", "4")])
    accounts = AccountService(sqlite_database)
    accounts.add_user("root", is_administrator=True)
    handlers = ProjectHandlers(
        *(accounts, ProjectService(sqlite_database), EventService(sqlite_database)),
        *(PairService(sqlite_database), ConsentService(sqlite_database)),
    )
    first = rated.project.settings
    second = replace(first, threshold=Decimal("0.5"))
    said, *_ = handlers.save(Asked(), print_settings(first), *settings_values(second))
    assert "2 pairs are flagged now (1 before); 2 wait for a decision." in said
    third = replace(second, guidelines="Grade what is said.")
    assert "flagged" not in handlers.save(Asked(), print_settings(second), *settings_values(third))[0]


@pytest.mark.parametrize(("pairs", "finished", "graded"), [(0, 0, False), (10, 9, False), (10, 10, True)])
def test_the_list_and_the_project_agree_on_whether_its_raters_are_done(pairs, finished, graded):
    counts = ProjectCounts(pairs, 2 * finished, finished, 0, ())
    assert line(pairs=pairs, finished=finished).is_graded is counts.is_graded is graded


def test_the_form_gives_back_the_settings_that_it_shows():
    for settings in (
        SETTINGS,
        ProjectSettings("x", raters_per_pair=20, threshold=Decimal("0.25"), step=Decimal(1), seed=2**63 - 1),
        replace(SETTINGS, is_random=False, may_revise=False, guidelines=EVIL, lease_minutes=1),
        replace(SETTINGS, most_per_rater=1_000_000),
        replace(SETTINGS, threshold=None),
        replace(SETTINGS, average=Average.MEDIAN),
        replace(SETTINGS, consent="Do you *agree*?"),
    ):
        assert read_settings_form(settings_values(settings)) == settings


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (4, None, "The number of raters per pair is missing: give a number."),
        (4, 2.5, "The number of raters per pair is a whole number, not 2.5."),
        (5, float("nan"), "The difference for adjudication is a number, not 'nan'."),
        (6, None, "The step between grades is missing: give a number."),
        (8, "a seed", "The seed is a number, not 'a seed'."),
        (10, "", "The number of minutes is missing: give a number."),
        (11, "many", "The limit of pairs per rater is a number, not 'many'."),
        (11, "2.5", "The limit of pairs per rater is a whole number, not 2.5."),
        (5, "1,5,5", "The difference for adjudication is a number, not '1,5,5'."),
        (8, "1,000", "The seed is a number, not '1,000'."),
        (8, "1e100000", "The seed is a number of at most 20 digits, not '1e100000'."),
        (
            5,
            "-1e-99999999",
            "The difference for adjudication is a number of at most 20 digits, not '-1e-99999999'.",
        ),
    ],
)
def test_a_field_that_holds_no_number_is_named(place, value, sentence):
    values = settings_values(SETTINGS)
    values[place] = value
    with pytest.raises(SettingsError) as error:
        read_settings_form(values)
    assert str(error.value) == sentence


def test_the_form_says_that_more_raters_flag_more_pairs_at_the_tasks_threshold():
    assert "4 raters reach a difference of 1 more often than two" in range_html(4, "1,0")
    for raters, threshold in ((2, "1"), (4, "1.5"), (4, ""), (None, "1"), (4, "x")):
        assert range_html(raters, threshold) == ""


def test_a_new_projects_threshold_follows_its_raters_unless_it_is_ones_own():
    assert follow_raters(5, "1") == "1.75"
    assert follow_raters(2, "1,75") == "1"
    for raters, threshold in ((5, "1.25"), (5, ""), (None, "1"), (5, "x")):
        assert follow_raters(raters, threshold) == gr.skip()


def test_all_that_is_wrong_with_a_form_is_told_at_once():
    values = settings_values(replace(SETTINGS, name=" ", types=(), raters_per_pair=99))
    values[8] = "a seed"
    with pytest.raises(SettingsError) as error:
        read_settings_form(values)
    beginnings = (
        "The project has no comparison types",
        "The seed is a number",
        "The project's name is empty",
    )
    assert all(each in str(error.value) for each in (*beginnings, "The number of raters per pair is a whole"))


def test_of_a_long_text_that_is_no_number_the_beginning_is_named():
    with pytest.raises(SettingsError, match=f"not '{'x' * 59}…\\.$"):
        whole_of("x" * 100, "seed")


@pytest.mark.parametrize(
    ("typed", "number"), [("3,5", "3.5"), (" 3.5 ", "3.5"), (",25", "0.25"), (0, "0"), ("-0,5", "-0.5")]
)
def test_a_decimal_comma_is_understood_where_decimals_are_typed(typed, number):
    assert decimal_of(typed, "grade") == Decimal(number)


def test_a_comma_in_a_whole_number_is_not_taken_for_a_decimal_one():
    with pytest.raises(SettingsError, match="'1,000'"):
        whole_of("1,000", "seed")


@pytest.mark.parametrize("number", [2.5, 0, -1, 1e6])
def test_what_a_field_of_whole_numbers_shows_is_what_is_checked(number):
    with gr.Blocks():
        settings = settings_fields("new")
        (every, _), (pass_mark, _), limits = check_fields(), training_fields(), limit_fields()
        _, ranks = option_fields()
    whole_fields = (settings.raters_per_pair, settings.lease_minutes, every, pass_mark, *limits, ranks)
    for whole in whole_fields:
        assert whole.preprocess(number) == number


def test_types_of_ones_own_may_be_separated_by_commas_too():
    values = settings_values(SETTINGS)
    values[2] = " title2abstract,query2answer  x2y"
    types = ("sentence2phrase", "query2answer", "title2abstract", "x2y")
    assert read_settings_form(values).types == types


def test_a_form_without_a_type_says_to_tick_one():
    values = settings_values(replace(SETTINGS, types=()))
    with pytest.raises(SettingsError, match="no comparison types: tick at least one"):
        read_settings_form(values)


@pytest.mark.parametrize(
    ("text", "project"),
    [("7", 7), ("", None), ("x", None), ("-1", None), ("٣", None), ("9" * 30, None), ("2147483648", None)],
)
def test_an_address_names_a_project_or_none(text, project):
    assert project_in(Asked(query_params={"project": text})) == project


def test_an_event_tells_files_apart_by_the_beginning_of_their_digest():
    event = Event(datetime.now(UTC), "Ana", "gold exported", {"manifest_sha256": "0123456789ab" + 52 * "c"})
    assert "manifest sha256: 0123456789ab</td>" in events_html([event])


def test_an_event_calls_settings_what_the_page_calls_them():
    event = Event(datetime.now(UTC), "Ana", "project changed", {"settings": ["raters_per_pair", "threshold"]})
    assert "settings: number of raters per pair, threshold</td>" in events_html([event])


def test_an_event_tells_what_a_setting_was_and_is():
    before = ProjectSettings("News", types=("phrase2word",), guidelines="<b>Old</b>\n" * 200)
    after = replace(before, guidelines="New", raters_per_pair=3, step=Decimal("0.5"), is_random=False)
    html = events_html([Event(datetime.now(UTC), "Ana", "project changed", describe_changes(before, after))])
    for words in (
        "guidelines: 2\u202f200 → 3 characters",
        "number of raters per pair: 2 → 3",
        "step: 0.25 → 0.5",
        "order: random → as imported",
        "<summary>Guidelines before</summary>",
        "&lt;b&gt;Old&lt;/b&gt;\n&lt;b&gt;",
    ):
        assert words in html
    named = describe_changes(replace(after, name="Old", most_per_rater=4), after) | {"former_name": "Old"}
    html = events_html([Event(datetime.now(UTC), "Ana", "project changed", named)])
    assert '<td dir="auto">name: Old → News; limit of pairs per rater: 4 → none</td>' in html
    long = describe_changes(replace(after, guidelines="x" * 100_000), after)
    html = events_html([Event(datetime.now(UTC), "Ana", "project changed", long)])
    assert len(html) < 2_000
    assert "events PROJECT --json" in html


def test_the_preview_shows_what_is_agreed_to_before_the_guidelines():
    assert preview_texts("Read *all*.") == preview_texts("Read *all*.", " \n")
    both = preview_texts("Read *all*.", "Take **part**?")
    assert "They agree to this first:" in both
    assert both.index("Take <strong>part</strong>?") < both.index("Read <em>all</em>.")


def test_the_preview_reads_own_words_on_the_scale_of_the_project():
    words = "\n".join(f"{point} Word{point}: It means {point}." for point in range(1, 8))
    shown = preview_texts("Read *all*.", "", words, "1-7")
    assert "Word7" in shown
    assert "is not a grade" not in shown
    assert "is not a grade" in preview_texts("Read *all*.", "", words, "clss")
    assert "is no scale" in preview_texts("Read *all*.", "", words, "x")


def test_markup_in_anything_that_users_write_is_shown_as_text():
    now = datetime.now(UTC)
    pages = (
        counts_html(sum_counts([GroupCounts(EVIL, EVIL, 1, 1, 1, 0)])),
        events_html([Event(now, EVIL, EVIL, {EVIL: EVIL, "settings": [EVIL]})]),
        members_html([Member(User(1, EVIL), frozenset(Role))]),
        summary_html(ImportSummary(1, 0, (EVIL,))),
        preview_texts(EVIL, EVIL),
    )
    for page in pages:
        assert "<img" not in page
        assert "{{" not in page
        assert "${" not in page


def test_many_duplicates_are_counted_and_the_first_are_named():
    html = summary_html(ImportSummary(0, 0, tuple(f"id-{n}" for n in range(SHOWN_DUPLICATES + 5))))
    assert html.count("<li>") == SHOWN_DUPLICATES
    assert "And 5 more." in html
    assert "25 pairs were already there" in html


@pytest.fixture
def home(database) -> HomeHandlers:
    accounts, projects = AccountService(database), ProjectService(database)
    root = accounts.add_user("root", is_administrator=True)
    accounts.add_user("Ana")
    accounts.add_user("Ben")
    project = projects.create(SETTINGS, created_by=root)
    assert project.id == 1
    projects.create(replace(SETTINGS, name="Another"), created_by=root)
    for name, role in (("Ana", Role.RATER), ("Ben", Role.RATER), ("Ben", Role.ADJUDICATOR)):
        projects.add_member(project.id, name, role)
    pairs = [NewPair(str(n), "sentence2phrase", f"left {n}", f"right {n}") for n in range(3)]
    ImportService(database).import_pairs(project.id, pairs)
    return HomeHandlers(accounts, OverviewService(database), projects, RatingService(database))


@pytest.fixture
def grade(home, database) -> Callable[..., list[int]]:
    """Grade the first pairs in the name of a rater; the ids of the pairs."""
    assignments = AssignmentService(database)

    def grade(name: str, *grades: str) -> list[int]:
        rater = home.accounts.user(name).id
        pairs = sorted(pair.id for pair in assignments.queue(1, rater, count=3).pairs)[: len(grades)]
        for pair, given in zip(pairs, grades, strict=True):
            home.ratings.rate(pair, rater, Decimal(given))
        return pairs

    return grade


def test_the_list_shows_who_has_done_what_on_both_databases(home, grade):
    assert "to adjudicate" not in home.show(Asked("Ben"))[0]
    grade("Ana", "0", "2", "4")
    grade("Ben", "0", "3.5")
    assert "You graded 3 pairs<" in home.show(Asked("Ana"))[0]
    seen_by_ben = home.show(Asked("Ben"))[0]
    assert "You graded 2 pairs, up to 1 left" in seen_by_ben
    assert "2 of 3 pairs done" in seen_by_ben
    assert "1 to adjudicate" in seen_by_ben
    assert "Another" not in seen_by_ben
    everything, form, _ = home.show(Asked("root"))
    assert everything.count('<li class="project">') == 2
    assert form.visible


def test_a_rater_is_told_nothing_of_what_others_did(home, grade):
    grade("Ben", "0", "3.5")
    seen, form, _ = home.show(Asked("Ana"))
    assert "finished" not in seen
    assert "adjudicate" not in seen
    assert not form.visible


@pytest.mark.parametrize(
    ("asked", "types"), [("document2keyphrase", ["document2keyphrase"]), ("<b>", gr.skip()), ("", gr.skip())]
)
def test_the_address_names_the_type_of_a_new_project(home, asked, types):
    _, form, chosen = home.show(Asked("root", query_params={"type": asked}))
    assert chosen == types
    assert form.open is (types != gr.skip())


def test_only_administrators_of_the_server_make_projects(home):
    values = settings_values(replace(SETTINGS, name="Third"))
    with pytest.raises(gr.Error, match="administrators"):
        home.create(Asked("Ben"), *values)
    address = home.create(Asked("root"), *values)
    assert address == f"/annotate/project?project={home.projects.get('third').id}"
    with pytest.raises(gr.Error, match="already"):
        home.create(Asked("root"), *values)


def test_who_runs_the_server_is_no_other_administrator_of_a_project():
    both = frozenset({Role.ADMINISTRATOR, Role.RATER})
    assert ">administrator of the server, rater<" in project_html(line(roles=both), LEADER, None)
    assert ">administrator, rater<" in project_html(line(roles=both), RATER, None)


def test_a_project_of_others_is_as_if_there_were_none(home):
    for asked in (Asked("Ana", {"project": "2"}), Asked("Ana", {"project": "99"})):
        assert HeaderHandlers(home.overview, "rate").show(asked).count("No project") == 2


def test_pages_that_belong_to_no_project_show_none(home):
    assert SETTINGS.name not in HeaderHandlers(home.overview, "users").show(Asked("root"))
    assert SETTINGS.name in HeaderHandlers(home.overview, "project").show(Asked("root"))


MENU = re.compile(r"/annotate/(\w+)\?project=1(&amp;tab=gold)?\"")


def test_the_menu_begins_with_the_project_and_folds_what_was_not_used_yet(home, database):
    """The pages beside each other, and those under More."""

    def menu(page: str, name: str = "root", **query: str) -> tuple[list[str], list[str]]:
        header = HeaderHandlers(home.overview, page).show(Asked(name, {"project": "1", **query}))
        beside, _, more = header.partition("More")
        return [[path + tab for path, tab in MENU.findall(part)] for part in (beside, more)]

    first = ["project", "agreement", "adjudicate", "project&amp;tab=gold"]
    assert menu("project") == [first, ["review", "leaderboard"]]
    assert menu("leaderboard") == [[*first, "leaderboard"], ["review"]]
    assert menu("rate", "Ana") == [[], []]
    gold = HeaderHandlers(home.overview, "project").show(Asked("root", {"project": "1", "tab": "gold"}))
    assert 'tab=gold" aria-current="page">Gold' in gold
    assert gold.count("aria-current") == 1
    assert '"/docs/annotation_gold.html"' in gold
    item = LargerItem(
        project_id=1,
        external_id="a",
        type="sentence2phrase",
        text="a",
        fingerprint="a" * 64,
        position=1,
        import_order=0,
    )
    with database.session() as session:
        session.add(item)
    assert menu("project") == [[*first, "review"], ["leaderboard"]]


@pytest.mark.parametrize("page", HELP)
def test_each_page_has_the_help_that_is_about_it(page):
    assert (Path("docs") / f"{HELP[page]}.md").is_file()


def test_the_number_to_adjudicate_is_that_of_the_queue(home, grade, database):
    queue, ana, ben = AdjudicationService(database), home.accounts.user("Ana"), home.accounts.user("Ben")

    def to_adjudicate() -> int:
        [number] = {line.to_adjudicate for line in home.overview.projects(ben)}
        assert number == queue.queue(1).counts[Which.OPEN]
        return number

    grade("Ana", "0", "2", "4")
    assert to_adjudicate() == 0
    first, second = grade("Ben", "4", "3.5")
    assert to_adjudicate() == 2
    queue.decide(1, first, ben.id, Decimal(2), Cause.SCALE)
    assert to_adjudicate() == 1
    home.ratings.rate(first, ana.id, Decimal("0.25"))
    assert to_adjudicate() == 2, "a later grade opens the decision again"
    home.ratings.rate(second, ana.id, Decimal("2.75"))
    assert to_adjudicate() == 1


@pytest.fixture
def imports(home, database, tmp_path) -> ImportHandlers:
    dictionary = Dictionary(tmp_path / "no wordnet")
    return ImportHandlers(home.accounts, home.projects, ImportService(database), dictionary)


def import_file(imports: ImportHandlers, path: Any, name: str = "root") -> tuple[str, Any]:
    upload = None if path is None else str(path)
    return imports.import_file(Asked(name), upload, "", progress=gr.Progress())


def test_an_imported_upload_is_deleted_and_a_refused_one_stays_chosen(imports, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("id\ttype\tleft\tright\n9\tsentence2phrase\t\tb\n", encoding="utf-8")
    said, file = import_file(imports, path)
    assert said.startswith('<p class="note failed" role="alert"><b>Nothing was imported.</b> ')
    assert file == gr.skip()
    assert "The file is still chosen" in said
    assert "new.tsv, line 2, field &#x27;left&#x27;" in said
    assert str(tmp_path) not in said
    assert path.is_file()
    path.write_text("id\ttype\tleft\tright\n9\tsentence2phrase\ta\tb\n", encoding="utf-8")
    said, file = import_file(imports, path)
    assert "Imported 1 pair and 0 ratings." in said
    assert "failed" not in said
    assert file.value is None
    assert not path.exists()


@pytest.mark.both_databases
def test_an_import_that_another_one_keeps_from_being_written_is_told(imports, tmp_path, monkeypatch):
    path = tmp_path / "new.tsv"
    path.write_text("id\ttype\tleft\tright\n9\tsentence2phrase\ta\tb\n", encoding="utf-8")
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    with ThreadPoolExecutor(1) as page, imports.importing._database.session() as other:
        find_project(other, 1, lock=True)
        said, file = page.submit(import_file, imports, path).result(60)
    assert "The database is not responding: try again in a moment. The file is still chosen" in said
    assert file == gr.skip()
    assert path.is_file()


def test_a_json_array_can_be_chosen(imports, tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text('[{"id": "s1", "type": "sentence2phrase", "left": " ", "right": "C D"}]')
    assert "pairs.json, line 1, field &#x27;left&#x27;: is empty" in import_file(imports, path)[0]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (None, "No file is chosen"),
        ("pairs.tsv.gz", "cannot be read here"),
        ("pairs.xls", "pairs.xls cannot be read here: save it as one of "),
        ("pairs.xlsx", "pairs.xlsx: not a workbook that can be read ("),
        ("gone.csv", "gone.csv is gone"),
    ],
)
def test_an_upload_that_cannot_be_used_is_one_sentence(imports, tmp_path, name, sentence):
    if name and name != "gone.csv":
        (tmp_path / name).write_bytes(b"PK\x03\x04")
    said, file = import_file(imports, None if name is None else tmp_path / name)
    assert sentence in said
    assert (file == gr.skip()) == (name != "gone.csv")  # an upload that is gone leaves the box


def test_the_first_wrong_lines_are_told_each_with_its_reason_and_how_many_there_are(imports, tmp_path):
    path = tmp_path / "new.tsv"
    rows = (
        "1\tword2sense\ta\tb",
        "2\tsentence2phrase\ta\tb",
        "4\tsentence2phrase\t\tb",
        *(f"{n}\tnone2none\ta\t{n}" for n in range(5, 9)),
    )
    path.write_text("\n".join(("id\ttype\tleft\tright", *rows)), encoding="utf-8")
    said, _ = import_file(imports, path)
    assert "<b>Nothing was imported.</b> 7 lines cannot be imported; the first 5 are:" in said
    assert said.count("<li>") == 5
    assert "<li>new.tsv, line 2, field &#x27;type&#x27;: &#x27;word2sense&#x27; is not a type of the" in said
    assert "<li>new.tsv, line 3, field &#x27;id&#x27;: &#x27;2&#x27; is the id of another pair" in said
    assert "<li>new.tsv, line 4, field &#x27;left&#x27;: is empty" in said
    assert imports.projects.counts(1).pairs == 3


def test_ids_that_stand_for_two_pairs_are_all_told(imports, tmp_path):
    path = tmp_path / "new.tsv"
    rows = (f"{n}\tsentence2phrase\tother {n}\tb" for n in (0, 1, 9))
    path.write_text("\n".join(("id\ttype\tleft\tright", *rows, "9\tsentence2phrase\tx\ty")))
    said, _ = import_file(imports, path)
    assert "3 lines cannot be imported; these are:" in said
    for number in (2, 3, 5):
        assert f"<li>new.tsv, line {number}, field &#x27;id&#x27;:" in said


def test_ids_that_an_import_makes_up_are_told_on_the_page(imports, tmp_path):
    path = tmp_path / "sentence2phrase.tsv"
    path.write_text("A dog <b>runs</b> far.\ta dog runs\n", encoding="utf-8")
    said, _ = import_file(imports, path)
    assert "Imported 1 pair and 0 ratings." in said
    assert "sentence2phrase.tsv has no header and was read as an input file of SemEval-2014 Task 3" in said
    assert "first sentence2phrase-1." in said


def test_an_account_that_an_import_makes_a_rater_is_named_on_the_page(imports, tmp_path):
    imports.accounts.add_user(EVIL)
    path = tmp_path / "ratings.csv"
    quoted = EVIL.replace('"', '""')
    path.write_text(f'id,rater,grade\n0,Ana,1\n0,"{quoted}",2\n', encoding="utf-8")
    said, _ = import_file(imports, path)
    assert "1 existing account became a rater of the project: &lt;img src=x" in said
    assert "<img" not in said


def test_equal_texts_under_two_ids_are_told_on_the_page_and_merged_if_wished(imports, tmp_path):
    path = tmp_path / "new.csv"
    rows = "id,type,left,right,rating:r1\nx,sentence2phrase,a,b,1\ny,sentence2phrase,a,b,4\n"
    path.write_text(rows, encoding="utf-8")
    said, _ = import_file(imports, path)
    assert "Imported 2 pairs and 2 ratings." in said
    assert '<p class="note">1 pair has the same texts as a pair with another id, and both are graded:' in said
    assert "y (as x)" in said
    path.write_text(rows.replace("a,b", "c,d").replace("x,", "v,").replace("y,", "w,"), encoding="utf-8")
    said, _ = imports.import_file(Asked(), str(path), "", True, gr.Progress())
    assert "Imported 1 pair and 1 rating." in said
    assert '<p class="note">1 pair was merged into the pair with the same texts: w (into v).</p>' in said
    assert "1 rating was left out, because its rater had graded the pair" in said
    assert "r1 of w (4; kept: 1)" in said


def test_an_import_of_nothing_new_is_no_success(imports, tmp_path):
    path = tmp_path / "new.tsv"
    rows = "id\ttype\tleft\tright\n0\tsentence2phrase\tleft 0\tright 0\n"
    path.write_text(rows, encoding="utf-8")
    said, _ = import_file(imports, path)
    assert said.startswith('<div class="note" role="status"><p>Nothing new was imported. 1 pair was already')
    path.write_text(rows.splitlines()[0], encoding="utf-8")
    said, _ = import_file(imports, path)
    assert "<b>Nothing was imported.</b> new.tsv: the file has no rows;" in said


def test_a_file_that_names_no_type_has_the_only_one_of_its_project(imports, tmp_path):
    project = imports.projects.create(ProjectSettings("One", types=("phrase2word",)))
    asked = Asked(query_params={"project": str(project.id)})
    path = tmp_path / "new.tsv"
    for content, told in (
        ("a\tb\n1\t2\n", "the header has a, b; it needs id, left and right"),
        ("a bee\tb\n", "Imported 1 pair"),
    ):
        path.write_text(content, encoding="utf-8")
        said, _ = imports.import_file(asked, str(path), "", progress=gr.Progress())
        assert told in said


def test_a_rater_imports_nothing(imports, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("id\ttype\tleft\tright\n9\tsentence2phrase\ta\tb\n", encoding="utf-8")
    said, _ = import_file(imports, path, "Ana")
    assert "This needs the role administrator" in said
    assert imports.projects.counts(1).pairs == 3


@pytest.fixture
def said(home, database) -> RemarksHandlers:
    return RemarksHandlers(home.accounts, home.projects, RemarkService(database))


def test_an_administrator_reads_what_raters_said_as_text(home, said, database):
    assert NO_REMARKS in said.show(Asked("root"))
    assignments, ana = AssignmentService(database), home.accounts.user("Ana").id
    first, second, _ = (pair.id for pair in assignments.queue(1, ana, count=3).pairs)
    home.ratings.comment(first, ana, EVIL, is_flagged=True)
    assignments.skip(second, ana, SkipReason.NOT_MY_LANGUAGE, "=HYPERLINK(1)")
    html = said.show(Asked("root"))
    assert "1 problem · 0 other comments · 1 skip" in html
    assert html.index("Problem</td>") < html.index("Skipped</td>")
    assert "&lt;img src=x" in html
    assert "I do not speak this language" in html
    for markup in ("<img", "{{", "${"):
        assert markup not in html
    with pytest.raises(gr.Error, match="administrator"):
        said.show(Asked("Ana"))
    page = RemarkService(database).remarks(1)
    [_, flag, skip] = csv.DictReader(table_csv(remarks_table(page)).splitlines(), ["a", "b", "kind"], "rest")
    assert (flag["kind"], flag["rest"][:3]) == ("Problem", ["Ana", "", EVIL])
    assert skip["rest"][2] == "'=HYPERLINK(1)"
    shortened = remarks_html(replace(page, items=page.items[:1]), 1, SETTINGS.name)
    assert "The first 1 of 2 are here" in shortened
