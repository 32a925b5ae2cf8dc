"""What the tab Events of a project tells of decisions."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import select

from annotation.changes import ACTIONS
from annotation.services import audit
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.adjudication import AdjudicationService
from annotation.services.audit import DECIDED, DECISION_WITHDRAWN, Event, EventService
from annotation.services.consents import AGREED
from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import SignInService
from annotation.types import Cause, ProjectSettings, Role
from annotation.ui.accounts import events_html
from db.models import AuditEvent
from kpdemo.locale.update import ROOT
from kpdemo.translation import use_language
from tests.commands import main
from tests.people import CHEAP, PASSWORD
from tests.rated import Rated, pair, rated_project


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


@pytest.fixture
def rated(database) -> Rated:
    return rated_project(database, [pair(name, "0", "4") for name in "abcdefg"])


def decide(rated: Rated, *names: str, note: str = "") -> None:
    service = AdjudicationService(rated.database, clock=rated.clock)
    for name in names:
        rated.clock.move()
        service.decide(rated.id, rated.pair_id(name), rated.adjudicator.id, Decimal("2.5"), Cause.SCALE, note)


def test_a_decision_and_its_withdrawal_are_events(rated):
    before = EventService(rated.database).recent(rated.id)
    decide(rated, "a")
    rated.clock.move()
    AdjudicationService(rated.database, clock=rated.clock).withdraw(
        rated.id, rated.pair_id("a"), rated.adjudicator.id
    )
    withdrawn, decided, *rest = EventService(rated.database).recent(rated.id)
    assert rest == before
    assert (withdrawn.action, withdrawn.user) == (DECISION_WITHDRAWN, "judith")
    assert withdrawn.detail == {"pair": "a"}
    assert (decided.action, decided.user) == (DECIDED, "judith")
    assert decided.detail == {"pair": "a", "grade": "2.5", "cause": "scale"}
    assert decided.at < withdrawn.at
    assert "<td>pair decided</td>" in events_html([decided])
    assert "pair: a; grade: 2.5; cause: scale</td>" in events_html([decided])


def test_decisions_in_a_row_are_one_event_that_something_else_ends(rated):
    decide(rated, "a", "b")
    rated.clock.move()
    ProjectService(rated.database, clock=rated.clock).add_member(rated.id, "ana", Role.EDITOR)
    decide(rated, *"bcdefg", note="I looked again")
    decide(rated, "c", note="and again")
    later, role, earlier, *_ = EventService(rated.database).recent(rated.id)
    assert (later.action, earlier.action) == (DECIDED, DECIDED)
    as_decided = {"grade": "2.5", "cause": "scale"}
    told = [{"pair": name, **as_decided} for name in "cgfedba"]
    assert later.detail == {"times": 7, "decisions": [*told[:5], "…"]}
    assert earlier.detail == {"times": 2, "decisions": told[5:]}
    assert "times: 2; decisions: b (2.5, scale), a (2.5, scale)</td>" in events_html([earlier])
    assert "e (2.5, scale), d (2.5, scale), …</td>" in events_html([later])
    assert earlier.at < role.at < later.at
    assert later.at == rated.clock()
    assert EventService(rated.database).recent(rated.id, limit=2) == [later, role]


def test_of_a_pair_decided_twice_in_a_row_the_last_decision_is_told(rated):
    decide(rated, "a", "b")
    rated.clock.move()
    service = AdjudicationService(rated.database, clock=rated.clock)
    service.decide(
        rated.id, rated.pair_id("a"), rated.adjudicator.id, Decimal("3.25"), Cause.OVERLOOKED_TEXT, ""
    )
    event = EventService(rated.database).recent(rated.id)[0]
    assert "times: 3; decisions: a (3.25, overlooked text), b (2.5, scale)</td>" in events_html([event])


def test_withdrawals_in_a_row_name_their_pairs(rated):
    decide(rated, "a", "b")
    service = AdjudicationService(rated.database, clock=rated.clock)
    for name in "ab":
        rated.clock.move()
        service.withdraw(rated.id, rated.pair_id(name), rated.adjudicator.id)
    event = EventService(rated.database).recent(rated.id)[0]
    assert (event.action, event.detail) == (DECISION_WITHDRAWN, {"times": 2, "pairs": ["b", "a"]})


def test_more_decisions_in_a_row_than_are_looked_at_are_told_as_so_many_or_more(rated, monkeypatch):
    monkeypatch.setattr("annotation.services.audit.MOST_DECISIONS", 4)
    decide(rated, *"abcd")
    assert EventService(rated.database).recent(rated.id, limit=4)[0].detail["times"] == "4 or more"
    decide(rated, "e")
    assert EventService(rated.database).recent(rated.id, limit=4)[0].detail["times"] == "4 or more"
    rated.clock.move()
    ProjectService(rated.database, clock=rated.clock).add_member(rated.id, "ana", Role.EDITOR)
    decide(rated, "f", "g")
    assert EventService(rated.database).recent(rated.id, limit=4)[0].detail["times"] == 2


def test_of_many_pairs_the_first_and_their_number_are_shown(rated):
    many = [f"p{number}" for number in range(20_000)]
    html = events_html([Event(rated.clock(), "pairs withdrawn", None, {"pairs": many, "reason": "cut off"})])
    assert "pairs: p0, p1, p2, p3, p4 and 19\u202f995 more; reason: cut off</td>" in html
    assert len(html) < 1_000
    assert "pairs: a, b</td>" in events_html(
        [Event(rated.clock(), "pairs removed", None, {"pairs": ["a", "b"]})]
    )


def test_a_file_name_that_is_not_utf8_can_be_read_in_the_events(database):
    rated = rated_project(database, [])
    ImportService(database).import_pairs(rated.id, [pair("a")], files=["q\udcff.tsv"])
    event, *_ = EventService(database).recent(rated.id)
    assert event.detail["files"] == ["q\ufffd.tsv"]


def test_such_a_name_that_an_earlier_version_kept_can_be_read_too(database):
    rated = rated_project(database, [])
    with database.session() as session:
        detail = {"files": ["q\udcff.tsv"], "pairs": 1}
        at = rated.clock() + timedelta(days=999)
        session.add(AuditEvent(at=at, project_id=rated.id, action="pairs imported", detail=detail))
    event, *_ = EventService(database).recent(rated.id)
    assert event.detail == {"files": ["q\ufffd.tsv"], "pairs": 1}


def test_the_events_of_the_server_are_all_that_was_done_outside_projects(database):
    accounts, invitations = (
        AccountService(database, passwords=CHEAP),
        InvitationService(database, passwords=CHEAP),
    )
    signs, projects = SignInService(database, passwords=CHEAP), ProjectService(database)
    root = accounts.add_user("root", PASSWORD, is_administrator=True)
    accounts.add_user("ana", by=root)
    session = invitations.accept_invitation(invitations.invite("ana", by=root), "", PASSWORD)
    invitations.invite("ana", by=root)
    invitations.revoke(invitations.open_invitations()[0].id, by=root)
    signs.change_password(session, PASSWORD, f"{PASSWORD} anew")
    signs.sign_out_everywhere("ana")
    accounts.set_password("ana", PASSWORD, by=root)
    for is_administrator in (True, False):
        accounts.set_administrator("ana", is_administrator, by=root)
    accounts.disable("ana", by=root)
    accounts.enable("ana")
    with database.reading() as session:
        recorded = session.scalars(select(AuditEvent.action).order_by(AuditEvent.id.desc())).all()
    found = EventService(database).of_server()
    assert [event.action for event in found] == recorded
    assert (found[0].action, found[0].user) == ("account enabled", None)
    assert (found[1].action, found[1].user, found[1].detail) == ("account disabled", "root", {"name": "ana"})
    assert PASSWORD not in str(found)
    project = projects.create(ProjectSettings("News"), created_by=root)
    projects.add_member(project.id, "ana", Role.RATER)
    projects.delete(project.id, "News", by=root)
    deleted, *others = EventService(database).of_server()
    assert (deleted.action, deleted.detail, others) == ("project deleted", {"name": "News"}, found)
    assert EventService(database).of_server(1) == [deleted]


def test_the_command_lists_the_events_of_a_project_and_of_the_server(sqlite_database, capsys):
    rated = rated_project(sqlite_database, [])
    url = f"--database-url=sqlite:///{sqlite_database.path}"
    settings = replace(rated.project.settings, raters_per_pair=3, guidelines="New")
    rated.clock.move()
    ProjectService(sqlite_database, clock=rated.clock).update(rated.id, settings, by=rated.adjudicator)
    assert main(["events", "harbour", "--limit=1", url]) == 0
    assert "judith  project changed  guidelines: 0 → 3 characters; number" in capsys.readouterr().out
    assert main(["events", "Harbour", "--json", url]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["project"], found["events"][0]["at"]) == ("harbour", "2026-03-01T09:01:00+00:00")
    assert found["events"][0]["detail"]["before"]["raters_per_pair"] == 2
    assert found["events"][-1].items() >= {"user": None, "action": "project created"}.items()
    assert main(["events", "--json", url]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["project"] is None
    assert found["events"][0]["action"] == "account added"
    assert main(["events", "--limit=0", url]) == 2
    assert main(["events", "none", url]) == 1


def _recorded_actions() -> Iterator[str]:
    for file in sorted((ROOT / "annotation" / "services").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name in ("record", "_record"):
                yield from (arg.value for arg in call.args if isinstance(arg, ast.Constant))
    yield from (*audit.NAMES_PROJECT, *audit.PAIRS_CHANGED, *audit.GRADES_CHANGED, *audit.SERVER_ACTIONS)
    yield from (audit.SENSES_DESCRIBED, audit.DECIDED, audit.DECISION_WITHDRAWN, AGREED)


def test_whatever_is_recorded_can_be_told_in_the_reader_s_language():
    assert set(_recorded_actions()) - set(ACTIONS) == set()
    changed = {"settings": ["types"], "before": {"types": ["a"]}, "after": {"types": ["a", "b"]}}
    now = datetime(2026, 3, 1, tzinfo=UTC)
    event = Event(now, "project changed", "Ana", changed)
    added = Event(now, "account added", None, {"name": "Ben", "is_administrator": True})
    with use_language("de"):
        shown = events_html([event, added])
    for text in ("Projekt geändert", "Vergleichstypen: a → a, b", "Befehlszeile", "Konto hinzugefügt"):
        assert text in shown
    assert "Name: Ben; Serververwaltung" in shown
