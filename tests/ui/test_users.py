"""The page of accounts: every button asks who presses it, and shows names as text."""

from __future__ import annotations

import inspect
import re

import gradio as gr
import pytest

from annotation.errors import InvitationError
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.audit import EventService
from annotation.services.consents import ConsentService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.types import ProjectSettings, Role
from annotation.ui.accounts import LinksHandlers, MembersHandlers, UsersHandlers, accounts_html
from tests.people import CHEAP, PASSWORD

EVIL = "<img src=x onerror=alert(1)>"
ORIGIN = "https://rate.example"


def asked_by(name: str | None) -> gr.Request:
    return gr.Request(username=name, headers={"origin": ORIGIN})


def asked_in_project(name: str) -> gr.Request:
    return gr.Request(username=name, headers={"origin": ORIGIN}, query_params={"project": "1"})


@pytest.fixture
def handlers(sqlite_database) -> UsersHandlers:
    accounts = AccountService(sqlite_database, passwords=CHEAP)
    invitations = InvitationService(sqlite_database, passwords=CHEAP)
    projects = ProjectService(sqlite_database)
    accounts.add_user("root", PASSWORD, is_administrator=True)
    accounts.add_user("Ana", PASSWORD)
    project = projects.create(ProjectSettings(name="News"))
    projects.add_member(project.id, "Ana", Role.ADMINISTRATOR)
    return UsersHandlers(accounts, invitations, projects, EventService(sqlite_database))


def links_of(handlers: UsersHandlers, *, in_project: bool = False) -> LinksHandlers:
    return LinksHandlers(handlers.accounts, handlers.invitations, in_project)


VALUES = {
    "link": 1,
    "name": "Ana",
    "new_name": "Anna",
    "is_administrator": True,
    "project_id": 1,
    "role": "rater",
    "note": "",
}
BUTTONS = [
    name
    for section in (UsersHandlers, LinksHandlers)
    for name, function in inspect.getmembers(section, inspect.isfunction)
    if not name.startswith("_") and name != "open"
]


@pytest.mark.parametrize("name", BUTTONS)
@pytest.mark.parametrize("who", [None, "nobody", "Ana"])
def test_nobody_but_an_administrator_of_the_server_gets_anything(handlers, name, who):
    handler = getattr(handlers if hasattr(handlers, name) else links_of(handlers), name)
    asked = [p for p in inspect.signature(handler).parameters if p != "request"]
    before = handlers.accounts.accounts()
    with pytest.raises(gr.Error, match=r"not signed in|administrators of the server"):
        handler(asked_by(who), *(VALUES[p] for p in asked))
    assert handlers.accounts.accounts() == before


@pytest.mark.parametrize("who", [None, "nobody", "Ana"])
def test_the_page_tells_others_in_its_place_for_whom_it_is(handlers, who):
    answer = handlers.open(asked_by(who))
    assert answer.keys() == {"closed", "body"}
    assert "administrators of the server" in answer["closed"] or "not signed in" in answer["closed"]
    assert not answer["body"].visible


def test_the_buttons_that_are_tried_are_all_of_them():
    assert set(BUTTONS) == {
        "choose",
        "add",
        "invite_to_project",
        "choose_link",
        "revoke_link",
        "renew",
        "rename",
        "disable",
        "enable",
        "promote",
        "demote",
        "show_events",
    }


def test_the_page_tells_what_was_done_with_accounts_and_by_whom(handlers):
    handlers.promote(asked_by("root"), "Ana")
    shown = handlers.open(asked_by("root"))["events"]
    assert shown == handlers.show_events(asked_by("Ana"))
    assert '<td dir="auto">root</td><td>administrator made</td><td dir="auto">name: Ana</td>' in shown
    assert '<td dir="auto">command line</td><td>account added</td>' in shown
    assert "member added" not in shown


def test_a_mistyped_name_is_changed_on_the_page_and_stays_chosen(handlers):
    answer = handlers.rename(asked_by("root"), "Ana", EVIL)
    assert "Ana is now called &lt;img" in answer["changed"]
    assert (answer["new_name"], answer["chosen"].value) == ("", EVIL)
    assert "&lt;img" in answer["accounts"]
    assert "former name: Ana; name: &lt;img" in handlers.show_events(asked_by("root"))
    with pytest.raises(gr.Error, match=r"ROOT.* already exists"):
        handlers.rename(asked_by("root"), EVIL, "ROOT")


def link_in(html: str) -> str:
    [address] = set(re.findall(rf"{ORIGIN}/invitation/([\w-]+)", html))
    return address


def test_an_added_account_chooses_its_password_by_the_link(handlers):
    answer = handlers.add(asked_by("root"), "Ben", True)
    assert (answer["name"], answer["is_administrator"]) == ("", False)
    handlers.invitations.accept_invitation(link_in(answer["added"]), "", PASSWORD)
    ben = handlers.accounts.user("Ben")
    assert (ben.is_administrator, ben.has_password) == (True, True)


def test_a_project_is_joined_by_the_link_with_the_role_that_was_chosen(handlers):
    answer = handlers.invite_to_project(asked_by("root"), 1, "adjudicator")
    handlers.invitations.accept_invitation(link_in(answer["invited"]), "Ben", PASSWORD)
    assert handlers.accounts.roles("Ben", 1) == {Role.ADJUDICATOR}


def test_an_open_link_is_listed_and_lets_nobody_in_once_it_is_revoked(handlers):
    added = handlers.add(asked_by("root"), EVIL, False)["added"]
    answer = handlers.invite_to_project(asked_by("root"), 1, "adjudicator")
    invited, listing, choice = answer["invited"], answer["links"], answer["link"]
    assert "the first person to open it<small>adjudicator in News, number " in listing
    assert "<small>a password, number " in listing
    assert "<img" not in listing
    newest = choice.choices[0][1]
    _, listing, choice, button = links_of(handlers).revoke_link(asked_by("root"), newest)
    assert "News" not in listing
    assert len(choice.choices) == 1
    assert not button.interactive
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        handlers.invitations.invitation(link_in(invited))
    assert handlers.invitations.invitation(link_in(added)).user_name == EVIL


def test_who_administers_a_project_sees_and_revokes_its_links_and_no_others(handlers, sqlite_database):
    invitations, projects = handlers.invitations, handlers.projects
    other = projects.create(ProjectSettings(name="Other")).id
    invitations.invite("root", project_id=1, role=Role.RATER)  # chooses a password for root
    invitations.invite("root")
    invitations.invite(project_id=other, role=Role.RATER)
    before = invitations.open_invitations()
    asked = asked_in_project("Ana")
    members = MembersHandlers(
        handlers.accounts,
        invitations,
        projects,
        QualityService(sqlite_database),
        ConsentService(sqlite_database),
    )
    made, _, listing, choice, _ = members.invite(asked, "editor")
    assert "the first person to open it<small>editor in News, number " in listing
    assert members.show(asked)[-2].choices == choice.choices
    [(_, own)] = choice.choices
    assert f"link, number {own}, to one person" in made
    links = links_of(handlers, in_project=True)
    for link in before:
        with pytest.raises(gr.Error, match=f"no open link with the number {link.id}"):
            links.revoke_link(asked, link.id)
    _, listing, *_ = links.revoke_link(asked, own)
    assert "No links are open" in listing
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        invitations.invitation(link_in(made))
    assert invitations.open_invitations() == before


def test_open_links_are_told_apart_by_whom_they_are_meant_for(handlers):
    handlers.invite_to_project(asked_by("root"), 1, "rater", " Mia,\n<img> ")
    answer = handlers.invite_to_project(asked_by("root"), 1, "rater", "")
    listing, choice = answer["links"], answer["link"]
    assert answer["note"] == ""
    assert "Mia, &lt;img&gt; (or the first person to open it)<small>rater in News, number " in listing
    anybody = "the first person to open it"
    assert [label.split(":")[0] for label, _ in choice.choices] == [anybody, f"Mia, <img> (or {anybody})"]
    with pytest.raises(gr.Error, match="The note has 121 characters: give at most 120"):
        handlers.invite_to_project(asked_by("root"), 1, "rater", "x" * 121)
    with pytest.raises(gr.Error, match=r"The note holds the invisible character U\+202E"):
        handlers.invite_to_project(asked_by("root"), 1, "rater", "a\u202eb")


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMINISTRATOR])
def test_other_members_of_a_project_revoke_nothing(handlers, role):
    handlers.accounts.add_user("Ben", PASSWORD)
    handlers.projects.add_member(1, "Ben", role)
    handlers.invitations.invite(project_id=1, role=Role.RATER)
    [link] = handlers.invitations.open_invitations()
    links = links_of(handlers, in_project=True)
    for deed in (links.choose_link, links.revoke_link):
        with pytest.raises(gr.Error, match="needs the role administrator"):
            deed(asked_in_project("Ben"), link.id)
    assert handlers.invitations.open_invitations() == [link]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda h, r: h.add(r, "", False), "name is empty"),
        (lambda h, r: h.add(r, None, False), "name is empty"),
        (lambda h, r: h.add(r, "ANA", False), "already"),
        (lambda h, r: h.disable(r, None), "No account is chosen"),
        (lambda h, r: h.disable(r, "Eve"), "no account named"),
        (lambda h, r: h.disable(r, "root"), "your own account"),
        (lambda h, r: h.demote(r, "root"), "your own account"),
        (lambda h, r: h.invite_to_project(r, None, "rater"), "No project is chosen"),
        (lambda h, r: h.invite_to_project(r, 99, "rater"), "no project"),
        (lambda h, r: h.invite_to_project(r, 1, "owner"), "no role"),
        (lambda h, r: links_of(h).revoke_link(r, None), "No link is chosen"),
        (lambda h, r: links_of(h).revoke_link(r, 99), "no open link with the number 99"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(handlers, call, sentence):
    with pytest.raises(gr.Error, match=sentence):
        call(handlers, asked_by("root"))


def test_only_what_makes_sense_can_be_pressed(handlers):
    def sensible(name: str) -> list[bool]:
        return [button.interactive for button in handlers.choose(asked_by("root"), name).values()]

    assert sensible("Ana") == [True, True, False, True, False]
    handlers.disable(asked_by("root"), "Ana")
    assert sensible("Ana") == [False, False, True, True, False]
    assert sensible("root") == [True, True, False, False, True]
    assert sensible("") == [False] * 5


def test_names_are_text_wherever_they_stand(handlers):
    added = handlers.add(asked_by("root"), EVIL, False)["added"]
    changed = handlers.disable(asked_by("root"), EVIL)["changed"]
    project = handlers.projects.create(ProjectSettings(name=EVIL))
    handlers.projects.add_member(project.id, EVIL, Role.RATER)
    listing = accounts_html(handlers.accounts.accounts())
    assert listing.count("&lt;img") == 2
    assert not any("<img" in html for html in (added, changed, listing))
