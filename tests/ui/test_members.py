"""The section on members: what can be done with the role that is chosen, and becoming a rater oneself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import pytest

from annotation.consent import text_hash
from annotation.services.accounts import AccountService, InvitationService
from annotation.services.consents import ConsentService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.types import ProjectSettings, Role
from annotation.ui.accounts import MembersHandlers
from tests.people import CHEAP, PASSWORD


@pytest.fixture
def handlers(sqlite_database) -> MembersHandlers:
    """Ana leads, Ben rates and adjudicates."""
    accounts, projects = AccountService(sqlite_database, passwords=CHEAP), ProjectService(sqlite_database)
    projects.create(ProjectSettings(name="News"))
    for name, *roles in (("Ana", Role.ADMINISTRATOR), ("Ben", Role.RATER, Role.ADJUDICATOR)):
        accounts.add_user(name, PASSWORD)
        for role in roles:
            projects.add_member(1, name, role)
    return MembersHandlers(
        accounts,
        InvitationService(sqlite_database),
        projects,
        QualityService(sqlite_database),
        ConsentService(sqlite_database),
    )


def ask(name="Ana"):
    return SimpleNamespace(username=name, query_params={"project": "1"})


def pressable(answer):
    """Whether remove, pause and resume can be pressed."""
    return [part.interactive for part in answer if isinstance(part, gr.Button)][:3]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, [False, False, False]),
        ("", [False, False, False]),
        ("rater:Ben", [True, True, False]),
        ("adjudicator:Ben", [True, False, False]),
        ("administrator:Ana", [True, False, False]),
        ("rater:Ana", [False, False, False]),
        ("rater:Nobody", [False, False, False]),
        ("king:Ben", [False, False, False]),
        ("Ben", [False, False, False]),
    ],
)
def test_only_what_can_be_done_with_the_chosen_role_can_be_pressed(handlers, chosen, expected):
    said, *buttons = handlers.choose(ask(), chosen)
    assert said == ""  # whatever was said of another choice
    assert pressable(buttons) == expected


def test_a_paused_rater_can_be_resumed_and_stays_chosen(handlers):
    paused = handlers.pause(ask(), "rater:Ben")
    assert pressable(paused) == pressable(handlers.choose(ask(), "rater:Ben")) == [True, False, True]
    assert pressable(handlers.choose(ask(), "adjudicator:Ben")) == [True, False, False]
    assert "rater:Ben" in [part.value for part in paused if isinstance(part, gr.Dropdown)]
    assert pressable(handlers.resume(ask(), "rater:Ben")) == [True, True, False]
    removed = handlers.remove(ask(), "rater:Ben")
    assert pressable(removed) == [False, False, False]
    assert pressable(handlers.show(ask())) == [False, False, False]


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (None, "No member is chosen"),
        ("adjudicator:Ben", "Ben is chosen as adjudicator"),
        ("rater:Ana", "not a rater"),
    ],
)
def test_what_cannot_be_paused_is_refused_whatever_was_pressed(handlers, chosen, told):
    for deed in (handlers.pause, handlers.resume):
        with pytest.raises(gr.Error, match=told):
            deed(ask(), chosen)
    assert handlers.quality.paused_raters(1) == frozenset()


def test_who_leads_becomes_a_rater_with_one_press(handlers):
    def offer(answer):
        return next(part.visible for part in answer if isinstance(part, gr.Column))

    assert offer(handlers.show(ask()))
    said, *shown = handlers.join(ask())
    assert 'You are a rater of this project now. <a href="/annotate/rate?project=1">Grade pairs</a>' in said
    assert handlers.accounts.roles("Ana", 1) == {Role.ADMINISTRATOR, Role.RATER}
    assert not offer(shown)
    handlers.join(ask())
    assert offer(handlers.remove(ask(), "rater:Ana"))


def test_accounts_without_a_password_can_be_added_and_are_said_to_have_none(handlers):
    handlers.accounts.add_user("Cy")
    handlers.accounts.add_user("Dora", PASSWORD)
    handlers.accounts.disable("Dora")
    accounts = next(part for part in handlers.show(ask()) if isinstance(part, gr.Dropdown))
    assert accounts.choices == [("Ana", "Ana"), ("Ben", "Ben"), ("Cy – no password yet", "Cy")]
    said, members, *_ = handlers.add(ask(), "Cy", "rater")
    assert "Cy is rater now." in said
    assert "not yet: no password" in members


def test_members_tell_who_agreed_when_and_to_an_earlier_text_where_there_is_one(handlers):
    def cells(name):
        rows = handlers.show(ask())[0].split("<tr>")
        return next(row.partition("</tr>")[0] for row in rows if f">{name}<" in row)

    def ask_for(text):
        now = handlers.projects.get(1).settings
        return handlers.projects.update(1, replace(now, consent=text)).settings.consent

    assert "Agreed" not in handlers.show(ask())[0]
    hashed = text_hash(ask_for("Take part?"))
    assert "Agreed" in handlers.show(ask())[0]
    assert cells("Ben").endswith("<td>not yet</td>")
    assert cells("Ana").endswith("<td>–</td>")
    handlers.consents.agree(1, handlers.accounts.user("Ben").id, hashed)
    assert "not yet" not in cells("Ben")
    assert cells("Ben").endswith("UTC</time></td>")
    ask_for("Take part still?")
    assert cells("Ben").endswith("UTC</time>, to an earlier text</td>")
    ask_for("")
    assert cells("Ben").endswith("UTC</time></td>")
    handlers.projects.add_member(1, "Ana", Role.WRITER)
    assert cells("Ana").endswith("<td>–</td>")  # who is asked nothing any more
    ask_for("Take part now?")
    assert cells("Ana").endswith("<td>not yet</td>")


def test_nobody_else_chooses_or_joins(handlers):
    for deed in (handlers.join, lambda request: handlers.choose(request, "rater:Ben")):
        with pytest.raises(gr.Error, match="administrator"):
            deed(ask("Ben"))
    assert Role.ADMINISTRATOR not in handlers.accounts.roles("Ben", 1)
