"""Who may do what, on both databases; the last administrator; the audit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from annotation.errors import AccessError, NotFoundError, SettingsError, SignedOutError, SignInError
from annotation.passwords import Passwords
from annotation.services.audit import EventService
from annotation.services.sign_in import SignInService
from annotation.types import Role
from db import Database
from db.models import AuditEvent, User, UserSession
from tests.people import HERE, OTHER, PASSWORD, add_project, at_once, count, give


def audited(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(AuditEvent.action).order_by(AuditEvent.id)))


def test_a_role_opens_its_project_only(accounts, database, clock, project):
    other = add_project(database, clock(), "Books")
    ana = accounts.add_user("Ana")
    give(database, project, ana.id, Role.RATER)
    assert accounts.require("ana", project, Role.RATER) == ana
    assert accounts.require("ana", project, Role.ADJUDICATOR, Role.RATER) == ana
    assert accounts.require("ana", project) == ana
    assert accounts.roles("ANA", project) == {Role.RATER}
    assert accounts.roles("ana", other) == accounts.roles("nobody", project) == frozenset()
    for where, roles in ((project, [Role.ADJUDICATOR]), (other, [Role.RATER]), (other, []), (None, [])):
        with pytest.raises(AccessError):
            accounts.require("ana", where, *roles)


def test_an_administrator_of_the_server_may_do_everything(accounts, project):
    root = accounts.add_user("root", is_administrator=True)
    assert accounts.require("root", None) == accounts.require("root", project, Role.RATER) == root


def test_an_administrator_of_a_project_is_none_of_the_server(accounts, database, project):
    ana = accounts.add_user("Ana")
    give(database, project, ana.id, Role.ADMINISTRATOR)
    accounts.require("Ana", project, Role.ADMINISTRATOR)
    with pytest.raises(AccessError, match="administrators of the server"):
        accounts.require("Ana", None)


@pytest.mark.parametrize("name", [None, "", "nobody", "gone", "a\x00b", "\ud800", "x" * 5000])
def test_who_is_nobody_or_disabled_is_not_signed_in(accounts, name):
    accounts.add_user("gone", is_administrator=True)
    accounts.disable("gone")
    with pytest.raises(SignedOutError):
        accounts.require(name, None)


def test_a_name_is_taken_once_however_it_is_written(accounts):
    accounts.add_user("Ana")
    with pytest.raises(SettingsError, match="already"):
        accounts.add_user("ＡＮＡ")


def test_of_eight_who_take_a_name_at_once_one_gets_it(accounts, database):
    answers = at_once([lambda: accounts.add_user("Ana") for _ in range(8)])
    assert sum(isinstance(answer, SettingsError) for answer in answers) == 7
    assert count(database, User) == 1


def test_the_list_of_accounts_has_roles_by_project(accounts, database, project):
    ana = accounts.add_user("Ana")
    accounts.add_user("béla", PASSWORD)
    give(database, project, ana.id, Role.RATER)
    give(database, project, ana.id, Role.ADJUDICATOR)
    first, second = accounts.accounts()
    assert first.roles == (("News", Role.ADJUDICATOR), ("News", Role.RATER))
    assert (first.state, second.state) == ("no password yet", "user")
    assert accounts.users() == [first.user, second.user]


def test_an_account_that_is_not_there_is_named(accounts, sign_ins):
    for call in (accounts.user, accounts.disable, accounts.enable, sign_ins.sign_out_everywhere):
        with pytest.raises(NotFoundError, match="'Eve'"):
            call("Eve")


def test_the_last_administrator_stays(accounts, invitations):
    accounts.add_user("root", PASSWORD, is_administrator=True)
    accounts.add_user("invited", is_administrator=True)  # cannot sign in yet
    for call in (accounts.disable, lambda name: accounts.set_administrator(name, False)):
        with pytest.raises(SettingsError, match="root is the last administrator"):
            call("root")
    invitations.accept_invitation(invitations.invite("invited"), "", PASSWORD)
    accounts.disable("root")
    with pytest.raises(SettingsError, match="invited is the last administrator"):
        accounts.set_administrator("invited", False)


def test_two_administrators_who_disable_each_other_at_once_do_not_both_go(accounts):
    for _ in range(5):
        for name in ("one", "two"):
            if name in [user.name for user in accounts.users()]:
                accounts.enable(name)
            else:
                accounts.add_user(name, PASSWORD, is_administrator=True)
        at_once([lambda: accounts.disable("one"), lambda: accounts.set_administrator("two", False)])
        able = [u for u in accounts.users() if u.is_administrator and not u.is_disabled]
        assert len(able) == 1
        accounts.enable("one")
        accounts.set_administrator("two", True)


def test_who_is_disabled_while_argon2_is_at_work_does_not_come_in(ana, accounts, database, clock):
    class Slow(Passwords):
        def fits(self, password_hash: str | None, password: str) -> bool:
            accounts.disable("Ana")
            return super().fits(password_hash, password)

    slow = SignInService(database, clock=clock, passwords=Slow(memory_kib=8, passes=1))
    with pytest.raises(SignInError):
        slow.sign_in("Ana", PASSWORD, HERE)
    assert count(database, UserSession) == 0


def test_a_renamed_account_stays_the_same_person(accounts, sign_ins, database, project):
    root = accounts.add_user("root", PASSWORD, is_administrator=True)
    before = accounts.add_user("Ama", PASSWORD)
    give(database, project, before.id, Role.RATER)
    token = sign_ins.sign_in("Ama", PASSWORD, HERE)
    renamed = accounts.rename("ama", " Ana  Maria ", by=root)
    assert renamed == replace(before, name="Ana Maria")
    assert sign_ins.user_of(token) == accounts.user("ANA MARIA")
    assert accounts.roles("Ana Maria", project) == {Role.RATER}
    with pytest.raises(SignInError):
        sign_ins.sign_in("Ama", PASSWORD, HERE)
    sign_ins.sign_in("Ana Maria", PASSWORD, HERE)
    accounts.rename("Ana Maria", "ANA Maria")  # another spelling is no other account's
    accounts.rename("ANA Maria", "ANA Maria")  # nothing changes, nothing is written
    with database.reading() as session:
        renamings = AuditEvent.action == "account renamed"
        events = session.scalars(select(AuditEvent).where(renamings).order_by(AuditEvent.id)).all()
    assert [(event.user_id, event.detail) for event in events] == [
        (root.id, {"former_name": "Ama", "name": "Ana Maria"}),
        (None, {"former_name": "Ana Maria", "name": "ANA Maria"}),
    ]


@pytest.mark.parametrize(
    ("name", "reason"), [("ROOT", "already exists"), (" ", "empty"), ("a\u202eb", "invisible")]
)
def test_an_account_is_not_renamed_to_what_is_taken_or_no_name(accounts, name, reason):
    for there in ("root", "Ana"):
        accounts.add_user(there, PASSWORD)
    with pytest.raises(SettingsError, match=reason):
        accounts.rename("Ana", name)
    assert [user.name for user in accounts.users()] == ["Ana", "root"]


def test_every_change_is_audited_with_who_did_it(accounts, sign_ins, invitations, database, project):
    root = accounts.add_user("root", PASSWORD, is_administrator=True)
    accounts.add_user("Ana", by=root)
    invitations.accept_invitation(invitations.invite("Ana", by=root), "", PASSWORD)
    accounts.set_administrator("Ana", True, by=root)
    accounts.set_administrator("Ana", True, by=root)  # nothing changes, nothing is written
    accounts.set_administrator("Ana", False, by=root)
    accounts.disable("Ana", by=root)
    accounts.enable("Ana", by=root)
    accounts.set_password("Ana", OTHER, by=root)
    token = sign_ins.sign_in("Ana", OTHER, HERE)
    sign_ins.change_password(token, OTHER, PASSWORD)
    sign_ins.sign_out_everywhere("Ana")
    invitations.join(invitations.invite(project_id=project, role=Role.RATER, by=root), "Ana")
    invitations.accept_invitation(invitations.invite(project_id=project, role=Role.RATER), "Eve", PASSWORD)
    assert audited(database) == [
        "account added",
        "account added",
        "invitation made",
        "invitation used",
        "administrator made",
        "administrator unmade",
        "account disabled",
        "account enabled",
        "password set",
        "password changed",
        "signed out everywhere",
        "invitation made",
        "invitation used",
        "invitation made",
        "account added",
        "invitation used",
    ]
    with database.reading() as session:
        by = session.scalars(select(AuditEvent.user_id).order_by(AuditEvent.id)).all()
    ana, eve = accounts.user("Ana").id, accounts.user("Eve").id
    assert by == [None, root.id, root.id, ana, *[root.id] * 5, ana, ana, root.id, ana, None, eve, eve]
    of_server = EventService(database).of_server()
    assert (of_server[0].action, of_server[0].user, of_server[0].detail["name"]) == (
        "account added",
        "Eve",
        "Eve",
    )
