"""Sessions on both databases: how they begin, run on and end."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from annotation.errors import SettingsError, SignedOutError, SignInError, TooManyAttemptsError
from annotation.passwords import Passwords
from annotation.services import sign_in
from annotation.services.accounts import AccountService
from annotation.services.imports import ImportService
from annotation.services.sign_in import SignInService
from annotation.types import NewPair
from db.models import AuditEvent, Invitation, User, UserSession
from tests.people import CHEAP, HERE, OTHER, PASSWORD, THERE, count
from tests.rated import pair, rated_project


def test_a_session_is_its_users_until_the_sign_out(ana):
    token = ana.sign_in("ANA", PASSWORD, HERE)
    assert ana.user_of(token).name == "Ana"
    ana.sign_out(token)
    assert ana.user_of(token) is None


def test_the_database_holds_neither_token_nor_password(ana, invitations, database):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    link = invitations.invite("Ana")
    with database.reading() as session:
        kept = [
            *session.scalars(select(UserSession.token_hash)),
            *session.scalars(select(Invitation.token_hash)),
            *session.scalars(select(User.password_hash)),
            *map(str, session.scalars(select(AuditEvent.detail))),
        ]
    assert len(token) >= 43  # 256 bits
    assert not any(secret in text for text in kept for secret in (token, link, PASSWORD))


@pytest.mark.parametrize("token", ["", "x", "x" * 100_000, "\ud800", "\x00"])
def test_a_made_up_token_is_nobodys(ana, token):
    ana.sign_in("Ana", PASSWORD, HERE)
    assert ana.user_of(token) is None
    ana.sign_out(token)


def test_a_session_in_use_runs_on_and_an_idle_one_ends(ana, clock):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    for _ in range(4):
        clock.forward(hours=11)
        assert ana.user_of(token) is not None
    clock.forward(hours=12, seconds=1)
    assert ana.user_of(token) is None


def test_a_session_ends_after_two_weeks_whatever_its_browser_does(ana, clock):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    hours = 0
    while ana.user_of(token) is not None:
        clock.forward(hours=6)
        hours += 6
    assert hours == 14 * 24


def test_a_session_is_written_to_at_most_every_five_minutes(ana, database, clock):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    ends = []
    for _ in range(20):
        clock.forward(minutes=1)
        ana.user_of(token)
        with database.reading() as session:
            ends.append(session.scalar(select(UserSession.expires_at)))
    assert len(set(ends)) == 5  # as it began, and four times


@pytest.mark.both_databases
def test_a_session_is_known_while_an_import_writes_and_renewed_afterwards(ana, database, clock, monkeypatch):
    monkeypatch.setattr("db.database.WAIT_SECONDS", 3600)
    token = ana.sign_in("Ana", PASSWORD, HERE)
    clock.forward(hours=6)
    with ThreadPoolExecutor(1) as browser, database.session():
        assert browser.submit(ana.user_of, token).result(60).name == "Ana"
    ana.user_of(token)
    clock.forward(hours=11)
    assert ana.user_of(token).name == "Ana"


def test_whose_grades_are_being_imported_signs_in_meanwhile(postgresql_database, monkeypatch):
    monkeypatch.setattr("annotation.services.imports.MOST_ITEMS", 1)
    monkeypatch.setattr("db.database.WAIT_SECONDS", 1)
    rated = rated_project(postgresql_database, [])
    ana = SignInService(postgresql_database, passwords=CHEAP)
    AccountService(postgresql_database, passwords=CHEAP).add_user("ana", PASSWORD)

    def items(done: list[str]) -> Iterator[NewPair]:
        yield pair("one", "2")
        with ThreadPoolExecutor(1) as browser:  # the grade is written by now
            token = browser.submit(ana.sign_in, "ana", PASSWORD, HERE).result(60)
            done.append(browser.submit(ana.change_password, token, PASSWORD, OTHER).result(60))
        yield pair("two", "2")

    done: list[str] = []
    assert ImportService(postgresql_database).import_pairs(rated.id, items(done)).ratings == 2
    assert ana.user_of(done[0]).name == "ana"


def test_sessions_that_ran_out_are_cleared_away(ana, database, clock):
    for _ in range(3):
        ana.sign_in("Ana", PASSWORD, HERE)
    clock.forward(days=1)
    ana.sign_in("Ana", PASSWORD, HERE)
    assert count(database, UserSession) == 1


def test_a_disabled_user_is_out_at_once_and_stays_out_when_enabled(ana, accounts):
    accounts.add_user("root", PASSWORD, is_administrator=True)
    token = ana.sign_in("Ana", PASSWORD, HERE)
    accounts.disable("ana")
    assert ana.user_of(token) is None
    with pytest.raises(SignInError):
        ana.sign_in("Ana", PASSWORD, HERE)
    accounts.enable("ana")
    assert ana.user_of(token) is None
    assert ana.user_of(ana.sign_in("Ana", PASSWORD, HERE)).name == "Ana"


def test_a_new_password_ends_all_sessions_but_the_present_one(ana):
    here, there = (ana.sign_in("Ana", PASSWORD, where) for where in (HERE, THERE))
    new = ana.change_password(here, PASSWORD, OTHER)
    assert [ana.user_of(token) is not None for token in (here, there, new)] == [False, False, True]
    with pytest.raises(SignInError):
        ana.sign_in("Ana", PASSWORD, HERE)
    ana.sign_in("Ana", OTHER, HERE)


def test_a_password_is_changed_only_by_who_knows_it(ana):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    with pytest.raises(SignInError):
        ana.change_password(token, "not the password", OTHER)
    with pytest.raises(SettingsError):
        ana.change_password(token, PASSWORD, "short")
    with pytest.raises(SignedOutError):
        ana.change_password("no session", PASSWORD, OTHER)
    assert ana.user_of(token) is not None


def test_a_stolen_session_cannot_try_out_passwords(ana):
    token = ana.sign_in("Ana", PASSWORD, HERE)
    for _ in range(sign_in.PER_NAME_AND_ADDRESS):
        with pytest.raises(SignInError, match="do not fit"):
            ana.change_password(token, "a wild guess", OTHER)
    with pytest.raises(TooManyAttemptsError):
        ana.change_password(token, PASSWORD, OTHER)


def test_signing_out_everywhere_ends_every_session_of_that_user_only(ana, accounts):
    accounts.add_user("Ben", PASSWORD)
    tokens = [ana.sign_in("Ana", PASSWORD, where) for where in (HERE, THERE)]
    ben = ana.sign_in("Ben", PASSWORD, HERE)
    ana.sign_out_everywhere("Ana")
    assert [ana.user_of(token) for token in tokens] == [None, None]
    assert ana.user_of(ben) is not None


def test_an_old_hash_is_made_anew_at_the_next_sign_in(ana, database, clock):
    stronger = SignInService(database, clock=clock, passwords=Passwords(memory_kib=16, passes=1))
    stronger.sign_in("Ana", PASSWORD, HERE)
    with database.reading() as session:
        assert "m=16,t=1,p=1" in session.scalar(select(User.password_hash))
    stronger.sign_in("Ana", PASSWORD, HERE)
