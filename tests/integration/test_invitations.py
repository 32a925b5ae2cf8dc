"""Set-up links and invitations on both databases, and people in a hurry."""

from __future__ import annotations

import threading
import time

import pytest

from annotation.errors import InvitationError, NotFoundError, SettingsError, SignedOutError, SignInError
from annotation.services.accounts import _invited_user
from annotation.services.projects import ProjectService
from annotation.types import Role
from db.models import Membership, User, UserSession
from tests.people import HERE, OTHER, PASSWORD, at_once, count, give


def test_the_set_up_link_makes_the_first_administrator_once(accounts, sign_ins, invitations):
    token = invitations.setup_token()
    assert invitations.invitation(token).is_set_up
    session = invitations.accept_invitation(token, "Ana", PASSWORD)
    assert accounts.require(sign_ins.user_of(session).name, None).is_administrator
    assert invitations.setup_token() is None
    with pytest.raises(InvitationError, match="used already"):
        invitations.accept_invitation(token, "Eve", PASSWORD)


def test_a_new_start_replaces_the_set_up_link_and_it_ends_after_a_day(invitations, clock):
    old, new = invitations.setup_token(), invitations.setup_token()
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        invitations.accept_invitation(old, "Eve", PASSWORD)
    clock.forward(days=1)
    with pytest.raises(InvitationError, match="expired on 23 November"):
        invitations.accept_invitation(new, "Ana", PASSWORD)


def test_a_set_up_link_is_void_once_somebody_administers(accounts, invitations):
    token = invitations.setup_token()
    accounts.add_user("root", PASSWORD, is_administrator=True)
    with pytest.raises(InvitationError, match="set up already"):
        invitations.accept_invitation(token, "Eve", PASSWORD)


def test_accounts_that_cannot_administer_leave_the_set_up_open(accounts, invitations):
    accounts.add_user("imported")
    accounts.add_user("rater", PASSWORD)
    accounts.add_user("invited", is_administrator=True)
    assert invitations.setup_token() is not None


def test_a_link_to_a_project_makes_an_account_with_that_role(accounts, invitations, project):
    token = invitations.invite(project_id=project, role=Role.ADJUDICATOR)
    offer = invitations.invitation(token)
    assert (offer.project, offer.role, offer.user_name) == ("News", Role.ADJUDICATOR, None)
    invitations.accept_invitation(token, "Ana", PASSWORD)
    assert accounts.roles("Ana", project) == {Role.ADJUDICATOR}
    assert not accounts.user("Ana").is_administrator


def test_who_has_an_account_joins_with_it(accounts, invitations, project):
    accounts.add_user("Ana", PASSWORD)
    token = invitations.invite(project_id=project, role=Role.RATER)
    invitations.join(token, "Ana")
    assert accounts.roles("Ana", project) == {Role.RATER}
    with pytest.raises(InvitationError, match="used already"):
        invitations.join(token, "Ana")
    invitations.join(invitations.invite(project_id=project, role=Role.RATER), "Ana")  # a role that one has


def test_a_link_for_one_account_is_of_no_use_to_another(accounts, invitations, project):
    accounts.add_user("Ana")
    accounts.add_user("Eve", PASSWORD)
    for token in (invitations.invite("Ana", project_id=project, role=Role.RATER), invitations.setup_token()):
        with pytest.raises(InvitationError, match="not for the account Eve"):
            invitations.join(token, "Eve")
    assert accounts.roles("Eve", project) == frozenset()


def test_a_link_for_an_account_sets_its_password_whatever_name_is_sent(accounts, sign_ins, invitations):
    accounts.add_user("imported rater")
    session = invitations.accept_invitation(invitations.invite("imported rater"), "Eve", PASSWORD)
    assert sign_ins.user_of(session).name == "imported rater"
    sign_ins.sign_in("imported rater", PASSWORD, HERE)


def test_a_lost_password_is_replaced_by_a_link_and_old_browsers_are_out(ana, invitations):
    old = ana.sign_in("Ana", PASSWORD, HERE)
    first, second = invitations.invite("Ana"), invitations.invite("Ana")
    assert invitations.invitation(second).has_password
    ana.sign_in("Ana", PASSWORD, HERE)  # until the link is used
    with pytest.raises(InvitationError):
        invitations.accept_invitation(first, "", OTHER)
    invitations.accept_invitation(second, "", OTHER)
    assert ana.user_of(old) is None
    with pytest.raises(SignInError):
        ana.sign_in("Ana", PASSWORD, HERE)


def test_a_password_that_the_administrator_sets_makes_an_older_link_void(ana, accounts, invitations):
    link = invitations.invite("Ana")
    accounts.set_password("Ana", OTHER)
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        invitations.accept_invitation(link, "", PASSWORD)
    ana.sign_in("Ana", OTHER, HERE)


def test_a_password_that_its_owner_changes_makes_an_older_link_void(ana, invitations):
    token, link = ana.sign_in("Ana", PASSWORD, HERE), invitations.invite("Ana")
    ana.change_password(token, PASSWORD, OTHER)
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        invitations.accept_invitation(link, "", PASSWORD)


@pytest.mark.both_databases
@pytest.mark.parametrize("deed", ["set", "change"])
def test_a_password_and_a_link_that_replaces_it_at_once_do_not_wait_for_each_other(
    ana, accounts, invitations, monkeypatch, deed
):
    token, own = invitations.invite("Ana"), ana.sign_in("Ana", PASSWORD, HERE)
    is_locked = threading.Event()

    def wait_for_the_other(*arguments):
        is_locked.set()  # the link is; the account is not yet
        time.sleep(0.5)
        return _invited_user(*arguments)

    def give_another():
        is_locked.wait(20)
        if deed == "set":
            return accounts.set_password("Ana", OTHER)
        return ana.change_password(own, PASSWORD, OTHER)

    monkeypatch.setattr("annotation.services.accounts._invited_user", wait_for_the_other)
    used, given = at_once(
        [lambda: invitations.accept_invitation(token, "", "the newest of all"), give_another]
    )
    assert isinstance(used, str)
    if deed == "set":
        assert given is None
        assert ana.sign_in("Ana", OTHER, HERE)
    else:
        assert isinstance(given, SignedOutError)
        assert ana.sign_in("Ana", "the newest of all", HERE)


def test_a_link_lasts_a_week(invitations, project, clock):
    token = invitations.invite(project_id=project, role=Role.RATER)
    clock.forward(days=6, hours=23)
    invitations.invitation(token)
    clock.forward(hours=1)
    with pytest.raises(InvitationError, match="29 November"):
        invitations.accept_invitation(token, "Ana", PASSWORD)


def test_a_refused_name_or_password_does_not_use_up_the_link(accounts, invitations, project):
    accounts.add_user("Ana")
    token = invitations.invite(project_id=project, role=Role.RATER)
    for name, password in (("Ana", PASSWORD), ("", PASSWORD), ("Ben", "short")):
        with pytest.raises(SettingsError):
            invitations.accept_invitation(token, name, password)
    invitations.accept_invitation(token, "Ben", PASSWORD)


def test_a_disabled_account_cannot_be_invited_nor_use_its_link(accounts, invitations):
    accounts.add_user("Ana")
    token = invitations.invite("Ana")
    accounts.disable("Ana")
    with pytest.raises(InvitationError, match="disabled"):
        invitations.accept_invitation(token, "", PASSWORD)
    with pytest.raises(SettingsError, match="disabled"):
        invitations.invite("Ana")


def test_an_invitation_to_nothing_is_refused(accounts, invitations, project):
    accounts.add_user("Ana")
    for offer in ({}, {"project_id": project}, {"role": Role.RATER}, {"name": "Ana", "role": Role.RATER}):
        with pytest.raises(SettingsError, match="offers nothing"):
            invitations.invite(**offer)
    with pytest.raises(NotFoundError):
        invitations.invite(project_id=project + 1, role=Role.RATER)


@pytest.mark.both_databases
def test_of_eight_who_use_a_link_at_once_exactly_one_gets_in(invitations, database, project):
    token = invitations.invite(project_id=project, role=Role.RATER)
    answers = at_once(
        [lambda n=n: invitations.accept_invitation(token, f"rater {n}", PASSWORD) for n in range(8)]
    )
    winners = [answer for answer in answers if isinstance(answer, str)]
    assert len(winners) == 1
    assert all(isinstance(answer, str | InvitationError) for answer in answers)
    assert count(database, User) == count(database, Membership) == count(database, UserSession) == 1


@pytest.mark.both_databases
@pytest.mark.both_databases
def test_an_account_that_joins_at_once_by_several_links_has_the_role_once(
    accounts, invitations, database, project
):
    accounts.add_user("Ana", PASSWORD)
    tokens = [invitations.invite(project_id=project, role=Role.RATER) for _ in range(16)]
    assert at_once([lambda t=t: invitations.join(t, "Ana") for t in tokens]) == [None] * 16
    assert count(database, Membership) == 1


def test_of_eight_who_set_up_a_server_at_once_exactly_one_does(invitations, database):
    token = invitations.setup_token()
    answers = at_once(
        [lambda n=n: invitations.accept_invitation(token, f"root {n}", PASSWORD) for n in range(8)]
    )
    assert sum(isinstance(answer, str) for answer in answers) == 1
    assert count(database, User, User.is_administrator) == 1


@pytest.mark.parametrize(
    "shut_out",
    [lambda accounts: accounts.disable("Eve"), lambda accounts: accounts.set_administrator("Eve", False)],
)
def test_who_no_longer_administers_the_server_has_no_way_back_by_their_links(
    ana, accounts, invitations, project, shut_out
):
    eve = accounts.add_user("Eve", PASSWORD, is_administrator=True)
    accounts.set_administrator("Ana", True)
    links = (
        invitations.invite("Ana", by=eve),
        invitations.invite(project_id=project, role=Role.ADMINISTRATOR, by=eve),
    )
    kept = invitations.invite(project_id=project, role=Role.RATER)  # on the command line
    shut_out(accounts)
    for link in links:
        with pytest.raises(InvitationError, match=r"may no longer invite people: ask your administrator"):
            invitations.accept_invitation(link, "Mallory", OTHER)
    ana.sign_in("Ana", PASSWORD, HERE)
    assert [link.role for link in invitations.open_invitations()] == [Role.RATER]
    invitations.accept_invitation(kept, "Cleo", PASSWORD)


def test_the_links_of_a_project_end_with_the_role_of_who_made_them(
    ana, accounts, invitations, database, project
):
    eve, leader = accounts.add_user("Eve", PASSWORD), accounts.user("Ana")
    for user in (eve, leader):
        give(database, project, user.id, Role.ADMINISTRATOR)
    void, good = (
        invitations.invite(project_id=project, role=Role.ADMINISTRATOR, by=user) for user in (eve, leader)
    )
    ProjectService(database).remove_member(project, "Eve", Role.ADMINISTRATOR)
    give(database, project, eve.id, Role.RATER)
    with pytest.raises(InvitationError, match="may no longer invite people"):
        invitations.join(void, "Eve")
    invitations.join(good, "Eve")


def test_links_that_let_nobody_in_are_not_listed(ana, accounts, invitations, clock):
    invitations.setup_token()
    invitations.invite("Ana")
    [link, _] = invitations.open_invitations()
    accounts.disable("Ana")
    assert [link.is_set_up for link in invitations.open_invitations()] == [True]
    accounts.add_user("root", PASSWORD, is_administrator=True)
    assert invitations.open_invitations() == []
    accounts.enable("Ana")
    assert invitations.open_invitations() == [link]


def test_open_links_are_listed_until_they_are_used_ended_or_revoked(
    ana, accounts, invitations, project, clock
):
    invitations.setup_token()
    root = accounts.add_user("root", is_administrator=True)  # without a password, so that the set-up is open
    used, kept = (invitations.invite(project_id=project, role=role) for role in (Role.EDITOR, Role.RATER))
    invitations.invite("Ana", by=root)
    invitations.join(used, "Ana")
    listed = invitations.open_invitations()
    assert [(link.user_name, link.project, link.role, link.is_set_up) for link in listed] == [
        ("Ana", None, None, False),
        (None, "News", Role.RATER, False),
        (None, None, None, True),
    ]
    assert (listed[0].created_by, listed[1].created_by) == ("root", None)
    assert listed[1].expires_at == invitations.invitation(kept).expires_at
    invitations.revoke(listed[0].id)
    with pytest.raises(NotFoundError, match="no open link with the number"):
        invitations.revoke(listed[0].id)
    clock.forward(days=1)
    assert [link.id for link in invitations.open_invitations()] == [listed[1].id]
