"""Set-up links and invitations on both databases, and people in a hurry."""

from __future__ import annotations

import threading
import time

import pytest

from annotation.errors import (
    InvitationError,
    NotFoundError,
    SettingsError,
    SignedOutError,
    SignInError,
)
from annotation.services import invitations
from annotation.services.projects import ProjectService
from annotation.types import Role
from db.models import Membership, User, UserSession
from tests.people import HERE, OTHER, PASSWORD, at_once, count, give


def test_the_set_up_link_makes_the_first_administrator_once(accounts):
    token = accounts.setup_token()
    assert accounts.invitation(token).is_set_up
    session = accounts.accept_invitation(token, "Ana", PASSWORD)
    assert accounts.require(accounts.user_of(session).name, None).is_administrator
    assert accounts.setup_token() is None
    with pytest.raises(InvitationError, match="used already"):
        accounts.accept_invitation(token, "Eve", PASSWORD)


def test_a_new_start_replaces_the_set_up_link_and_it_ends_after_a_day(accounts, clock):
    old, new = accounts.setup_token(), accounts.setup_token()
    with pytest.raises(InvitationError, match="no longer, known"):
        accounts.accept_invitation(old, "Eve", PASSWORD)
    clock.forward(days=1)
    with pytest.raises(InvitationError, match="ended on 23 November"):
        accounts.accept_invitation(new, "Ana", PASSWORD)


def test_a_set_up_link_is_void_once_somebody_administers(accounts):
    token = accounts.setup_token()
    accounts.add_user("root", PASSWORD, is_administrator=True)
    with pytest.raises(InvitationError, match="set up already"):
        accounts.accept_invitation(token, "Eve", PASSWORD)


def test_accounts_that_cannot_administer_leave_the_set_up_open(accounts):
    accounts.add_user("imported")
    accounts.add_user("rater", PASSWORD)
    accounts.add_user("invited", is_administrator=True)
    assert accounts.setup_token() is not None


def test_a_link_to_a_project_makes_an_account_with_that_role(accounts, project):
    token = accounts.invite(project_id=project, role=Role.ADJUDICATOR)
    offer = accounts.invitation(token)
    assert (offer.project, offer.role, offer.user_name) == ("News", Role.ADJUDICATOR, None)
    accounts.accept_invitation(token, "Ana", PASSWORD)
    assert accounts.roles("Ana", project) == {Role.ADJUDICATOR}
    assert not accounts.user("Ana").is_administrator


def test_who_has_an_account_joins_with_it(accounts, project):
    accounts.add_user("Ana", PASSWORD)
    token = accounts.invite(project_id=project, role=Role.RATER)
    accounts.join(token, "Ana")
    assert accounts.roles("Ana", project) == {Role.RATER}
    with pytest.raises(InvitationError, match="used already"):
        accounts.join(token, "Ana")
    accounts.join(accounts.invite(project_id=project, role=Role.RATER), "Ana")  # a role that one has


def test_a_link_for_one_account_is_of_no_use_to_another(accounts, project):
    accounts.add_user("Ana")
    accounts.add_user("Eve", PASSWORD)
    for token in (accounts.invite("Ana", project_id=project, role=Role.RATER), accounts.setup_token()):
        with pytest.raises(InvitationError, match="not for the account Eve"):
            accounts.join(token, "Eve")
    assert accounts.roles("Eve", project) == frozenset()


def test_a_link_for_an_account_sets_its_password_whatever_name_is_sent(accounts):
    accounts.add_user("imported rater")
    session = accounts.accept_invitation(accounts.invite("imported rater"), "Eve", PASSWORD)
    assert accounts.user_of(session).name == "imported rater"
    accounts.sign_in("imported rater", PASSWORD, HERE)


def test_a_lost_password_is_replaced_by_a_link_and_old_browsers_are_out(ana):
    old = ana.sign_in("Ana", PASSWORD, HERE)
    first, second = ana.invite("Ana"), ana.invite("Ana")
    assert ana.invitation(second).has_password
    ana.sign_in("Ana", PASSWORD, HERE)  # until the link is used
    with pytest.raises(InvitationError):
        ana.accept_invitation(first, "", OTHER)
    ana.accept_invitation(second, "", OTHER)
    assert ana.user_of(old) is None
    with pytest.raises(SignInError):
        ana.sign_in("Ana", PASSWORD, HERE)


def test_a_password_that_the_administrator_sets_makes_an_older_link_void(ana):
    link = ana.invite("Ana")
    ana.set_password("Ana", OTHER)
    with pytest.raises(InvitationError, match="no longer, known"):
        ana.accept_invitation(link, "", PASSWORD)
    ana.sign_in("Ana", OTHER, HERE)


def test_a_password_that_its_owner_changes_makes_an_older_link_void(ana):
    token, link = ana.sign_in("Ana", PASSWORD, HERE), ana.invite("Ana")
    ana.change_password(token, PASSWORD, OTHER)
    with pytest.raises(InvitationError, match="no longer, known"):
        ana.accept_invitation(link, "", PASSWORD)


@pytest.mark.parametrize("deed", ["set", "change"])
def test_a_password_and_a_link_that_replaces_it_at_once_do_not_wait_for_each_other(ana, monkeypatch, deed):
    token, own = ana.invite("Ana"), ana.sign_in("Ana", PASSWORD, HERE)
    invited, is_locked = invitations._invited_user, threading.Event()

    def wait_for_the_other(*arguments):
        is_locked.set()  # the link is; the account is not yet
        time.sleep(0.5)
        return invited(*arguments)

    def give_another():
        is_locked.wait(20)
        if deed == "set":
            return ana.set_password("Ana", OTHER)
        return ana.change_password(own, PASSWORD, OTHER)

    monkeypatch.setattr(invitations, "_invited_user", wait_for_the_other)
    used, given = at_once([lambda: ana.accept_invitation(token, "", "the newest of all"), give_another])
    assert isinstance(used, str)
    if deed == "set":
        assert given is None
        assert ana.sign_in("Ana", OTHER, HERE)
    else:
        assert isinstance(given, SignedOutError)
        assert ana.sign_in("Ana", "the newest of all", HERE)


def test_a_link_lasts_a_week(accounts, project, clock):
    token = accounts.invite(project_id=project, role=Role.RATER)
    clock.forward(days=6, hours=23)
    accounts.invitation(token)
    clock.forward(hours=1)
    with pytest.raises(InvitationError, match="29 November"):
        accounts.accept_invitation(token, "Ana", PASSWORD)


def test_a_refused_name_or_password_does_not_use_up_the_link(accounts, project):
    accounts.add_user("Ana")
    token = accounts.invite(project_id=project, role=Role.RATER)
    for name, password in (("Ana", PASSWORD), ("", PASSWORD), ("Ben", "short")):
        with pytest.raises(SettingsError):
            accounts.accept_invitation(token, name, password)
    accounts.accept_invitation(token, "Ben", PASSWORD)


def test_a_disabled_account_cannot_be_invited_nor_use_its_link(accounts):
    accounts.add_user("Ana")
    token = accounts.invite("Ana")
    accounts.disable("Ana")
    with pytest.raises(InvitationError, match="disabled"):
        accounts.accept_invitation(token, "", PASSWORD)
    with pytest.raises(SettingsError, match="disabled"):
        accounts.invite("Ana")


def test_an_invitation_to_nothing_is_refused(accounts, project):
    accounts.add_user("Ana")
    for offer in ({}, {"project_id": project}, {"role": Role.RATER}, {"name": "Ana", "role": Role.RATER}):
        with pytest.raises(SettingsError, match="offers nothing"):
            accounts.invite(**offer)
    with pytest.raises(NotFoundError):
        accounts.invite(project_id=project + 1, role=Role.RATER)


def test_of_eight_who_use_a_link_at_once_exactly_one_gets_in(accounts, database, project):
    token = accounts.invite(project_id=project, role=Role.RATER)
    answers = at_once(
        [lambda n=n: accounts.accept_invitation(token, f"rater {n}", PASSWORD) for n in range(8)]
    )
    winners = [answer for answer in answers if isinstance(answer, str)]
    assert len(winners) == 1
    assert all(isinstance(answer, str | InvitationError) for answer in answers)
    assert count(database, User) == count(database, Membership) == count(database, UserSession) == 1


def test_of_eight_who_set_up_a_server_at_once_exactly_one_does(accounts, database):
    token = accounts.setup_token()
    answers = at_once(
        [lambda n=n: accounts.accept_invitation(token, f"root {n}", PASSWORD) for n in range(8)]
    )
    assert sum(isinstance(answer, str) for answer in answers) == 1
    assert count(database, User, User.is_administrator) == 1


@pytest.mark.parametrize(
    "shut_out", [lambda ana: ana.disable("Eve"), lambda ana: ana.set_administrator("Eve", False)]
)
def test_who_no_longer_administers_the_server_has_no_way_back_by_their_links(ana, project, shut_out):
    eve = ana.add_user("Eve", PASSWORD, is_administrator=True)
    ana.set_administrator("Ana", True)
    links = ana.invite("Ana", by=eve), ana.invite(project_id=project, role=Role.ADMINISTRATOR, by=eve)
    kept = ana.invite(project_id=project, role=Role.RATER)  # on the command line
    shut_out(ana)
    for link in links:
        with pytest.raises(InvitationError, match=r"may no longer make it: ask your administrator"):
            ana.accept_invitation(link, "Mallory", OTHER)
    ana.sign_in("Ana", PASSWORD, HERE)
    assert [link.role for link in ana.open_invitations()] == [Role.RATER]
    ana.accept_invitation(kept, "Cleo", PASSWORD)


def test_the_links_of_a_project_end_with_the_role_of_who_made_them(ana, database, project):
    eve, leader = ana.add_user("Eve", PASSWORD), ana.user("Ana")
    for user in (eve, leader):
        give(database, project, user.id, Role.ADMINISTRATOR)
    void, good = (ana.invite(project_id=project, role=Role.ADMINISTRATOR, by=user) for user in (eve, leader))
    ProjectService(database).remove_member(project, "Eve", Role.ADMINISTRATOR)
    give(database, project, eve.id, Role.RATER)
    with pytest.raises(InvitationError, match="may no longer make it"):
        ana.join(void, "Eve")
    ana.join(good, "Eve")


def test_links_that_let_nobody_in_are_not_listed(ana, clock):
    ana.setup_token()
    ana.invite("Ana")
    [link, _] = ana.open_invitations()
    ana.disable("Ana")
    assert [link.is_set_up for link in ana.open_invitations()] == [True]
    ana.add_user("root", PASSWORD, is_administrator=True)
    assert ana.open_invitations() == []
    ana.enable("Ana")
    assert ana.open_invitations() == [link]


def test_open_links_are_listed_until_they_are_used_ended_or_revoked(ana, project, clock):
    ana.setup_token()
    root = ana.add_user("root", is_administrator=True)  # without a password, so that the set-up is open
    used, kept = (ana.invite(project_id=project, role=role) for role in (Role.EDITOR, Role.RATER))
    ana.invite("Ana", by=root)
    ana.join(used, "Ana")
    listed = ana.open_invitations()
    assert [(link.user_name, link.project, link.role, link.is_set_up) for link in listed] == [
        ("Ana", None, None, False),
        (None, "News", Role.RATER, False),
        (None, None, None, True),
    ]
    assert (listed[0].created_by, listed[1].created_by) == ("root", None)
    assert listed[1].expires_at == ana.invitation(kept).expires_at
    ana.revoke(listed[0].id)
    with pytest.raises(NotFoundError, match="no open link with the number"):
        ana.revoke(listed[0].id)
    clock.forward(days=1)
    assert [link.id for link in ana.open_invitations()] == [listed[1].id]
