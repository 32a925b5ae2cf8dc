"""What the tab Events of a project tells of decisions."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from annotation.services.adjudication import AdjudicationService
from annotation.services.events import DECIDED, DECISION_WITHDRAWN, Event, EventService
from annotation.services.imports.importing import ImportService
from annotation.services.projects import ProjectService
from annotation.types import Cause, Role
from annotation.ui.project_html import events_html
from db.models import AuditEvent
from tests.rated import Rated, pair, rated_project


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
    assert later.detail == {"times": 7, "pairs": ["c", "g", "f", "e", "d", "…"]}
    assert earlier.detail == {"times": 2, "pairs": ["b", "a"]}
    assert earlier.at < role.at < later.at
    assert later.at == rated.clock()
    assert EventService(rated.database).recent(rated.id, limit=2) == [later, role]


def test_more_decisions_in_a_row_than_are_looked_at_are_told_as_so_many_or_more(rated, monkeypatch):
    monkeypatch.setattr("annotation.services.events.MOST_DECISIONS", 4)
    decide(rated, *"abcd")
    assert EventService(rated.database).recent(rated.id)[0].detail["times"] == "4 or more"
    decide(rated, "e")
    assert EventService(rated.database).recent(rated.id)[0].detail["times"] == "4 or more"
    rated.clock.move()
    ProjectService(rated.database, clock=rated.clock).add_member(rated.id, "ana", Role.EDITOR)
    decide(rated, "f", "g")
    assert EventService(rated.database).recent(rated.id)[0].detail["times"] == 2


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
