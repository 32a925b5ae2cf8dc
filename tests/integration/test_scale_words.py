"""A project's own words for the scale, in the database and wherever grades have words."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from html import unescape

import pytest

from annotation.adjudication import Which
from annotation.authoring import NewItem
from annotation.changes import detail_words, earlier_texts, print_settings
from annotation.errors import SettingsError
from annotation.gold import ExportOptions, Unfinished
from annotation.services.adjudication import Neighbours
from annotation.services.bundle import Services, open_services
from annotation.types import NewPair, Project, ProjectSettings, Role, User
from annotation.ui.adjudicate import item_html
from annotation.ui.pairs import template_csv
from annotation.ui.rate import form_html
from annotation.ui.senses import task_html, writer_task_html
from annotation.ui.writing import form_html as writing_html
from annotation.ui.writing import text_html

FIRST = "0 Wrong: a\n1 Poor: b\n2 Fair: c\n3 Good: d\n4 Right: e"
OF_PHRASES = "0 无关: 一\n1 差: 二\n2 <b>中</b>: 三\n3 好: 四\n4 对: 五"
TYPES = ("sentence2phrase", "phrase2word", "word2sense")
SETTINGS = ProjectSettings("Words", types=TYPES, raters_per_pair=2, scale_words=FIRST)


@pytest.fixture
def services(database) -> Services:
    return open_services(database)


def person(services: Services, project: Project, role: Role) -> User:
    user = services.accounts.add_user(role.value)
    services.projects.add_member(project.id, user.name, role)
    return user


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def reword(services: Services, project: Project, text: str) -> Project:
    settings = replace(services.projects.get(project.id).settings, scale_words=text)
    return services.projects.update(project.id, settings)


def test_words_for_a_type_that_somebody_else_took_away_meanwhile_are_refused(services):
    made = services.projects.create(SETTINGS)
    seen = print_settings(SETTINGS)
    fewer = services.projects.update(made.id, replace(SETTINGS, types=TYPES[:2]), seen=seen)
    mine = replace(SETTINGS, scale_words=f"{FIRST}\n[word2sense]\n{OF_PHRASES}")
    with pytest.raises(SettingsError, match="'word2sense', which is not a comparison type of the project"):
        services.projects.update(made.id, mine, seen=seen)
    assert services.projects.get(made.id) == fewer


def test_words_that_change_after_grades_were_given_are_told_by_events_and_gold_sets(services, tmp_path):
    made = services.projects.create(SETTINGS)
    assert services.projects.get(made.id).settings.scale_words == FIRST
    ratings = (("1", Decimal(2)), ("2", Decimal(2)))
    services.importing.import_pairs(made.id, [NewPair("a", "phrase2word", "a boat", "boat", ratings=ratings)])
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT)
    before = services.gold.export(made.id, tmp_path / "before", options).manifest
    assert "protocol_changes" not in before
    second = f"{FIRST}\n\n[phrase2word]\n{OF_PHRASES}"
    reword(services, made, second)
    reword(services, made, f"\r\n{second} ")  # the same
    [event] = [each for each in services.events.recent(made.id) if each.action == "project changed"]
    assert detail_words(event.detail) == f"words of the scale: {len(FIRST)} → {len(second)} characters"
    assert earlier_texts(event.detail) == {"words of the scale": FIRST}
    written = services.gold.export(made.id, tmp_path / "after", options).manifest
    [change] = written["protocol_changes"]
    assert (change["setting"], change["before"], change["after"], change["ratings_before"]) == (
        "scale_words",
        digest(FIRST),
        digest(second),
        2,
    )
    assert written["earlier_scale_words"] == {digest(FIRST): FIRST}
    assert written["protocol"]["scale_words_sha256"] == digest(second)
    card = (tmp_path / "after" / "README.md").read_text("utf-8")
    assert "| 3 | Good | d |" in card
    assert "| 3 | 好 | 四 |" in card
    assert "`earlier_scale_words`" in card
    reword(services, made, "")
    ended = services.gold.export(made.id, tmp_path / "ended", options).manifest
    assert ended["protocol"]["scale"][4]["name"] == "Very similar"
    assert set(ended["earlier_scale_words"].values()) == {FIRST, second}


def test_a_type_with_words_of_its_own_goes_only_with_them(services):
    made = services.projects.create(replace(SETTINGS, scale_words=f"[word2sense]\n{FIRST}"))
    fewer = replace(made.settings, types=TYPES[:2])
    with pytest.raises(SettingsError, match="are for 'word2sense', which is not a comparison type"):
        services.projects.update(made.id, fewer)
    assert services.projects.get(made.id) == made
    services.projects.update(made.id, replace(fewer, scale_words=""))


def test_whoever_meets_a_grade_in_words_meets_the_projects_own(services):
    made = services.projects.create(
        replace(SETTINGS, scale_words=f"[phrase2word]\n{OF_PHRASES}\n[word2sense]\n{FIRST}")
    )
    judge, writer, editor = (
        person(services, made, role) for role in (Role.ADJUDICATOR, Role.WRITER, Role.EDITOR)
    )
    far = (("1", Decimal(0)), ("2", Decimal(4)))
    pairs = [
        NewPair("own", "phrase2word", "a boat", "boat", ratings=far),
        NewPair("plain", "sentence2phrase", "A boat sank.", "boat", ratings=far),
    ]
    services.importing.import_pairs(made.id, pairs)
    _adjudicator_sees(services, made, judge)
    rating = form_html(made, judge)
    assert all(part in rating for part in ("&lt;b&gt;中&lt;/b&gt;", "Very similar", "scale: phrase to word"))
    assert "<b>中" not in rating
    services.items.import_items(made.id, [NewItem("1", "phrase2word", "a small boat")])
    task = services.writing.desk(made.id, writer.id).task
    asked = OF_PHRASES.splitlines()[task.grade].split(": ")[1]
    assert f'data-type="phrase2word" data-grade="{task.grade}"' in writing_html(made, writer)
    assert asked in writing_html(made, writer)
    services.writing.submit(task.id, writer.id, "boat", task.version)
    assert asked in text_html(services.editing.text(made.id, task.id, editor.id))
    assert '<option value="4">4 Right</option>' in task_html(made)
    assert "<bdi>Poor</bdi>" in writer_task_html(made, replace(task, type="word2sense", grade=1))


def test_writers_editors_and_the_template_of_an_import_have_the_projects_names_of_the_items(services):
    words = "Larger: Satz\nSmaller: <b>Wendung</b>\n[word2sense]\nLarger: Word"
    made = services.projects.create(replace(SETTINGS, scale_words=words))
    writer, editor = (person(services, made, role) for role in (Role.WRITER, Role.EDITOR))
    [names] = re.findall(r'data-names="([^"]*)"', writing_html(made, writer))
    assert json.loads(unescape(names)) == {
        "sentence2phrase": ["Satz", "<b>Wendung</b>"],
        "phrase2word": ["Satz", "<b>Wendung</b>"],
        "word2sense": ["Word", "<b>Wendung</b>"],
    }
    services.items.import_items(made.id, [NewItem("1", "phrase2word", "a small boat")])
    task = services.writing.desk(made.id, writer.id).task
    services.writing.submit(task.id, writer.id, "boat", task.version)
    assert "<h2>Satz</h2>" in text_html(services.editing.text(made.id, task.id, editor.id))
    rows = list(csv.reader(template_csv(made.settings).splitlines()))
    assert rows[1][2:4] == ["Satz of the pair", "<b>Wendung</b> of the pair"]
    plain = replace(made.settings, scale_words="", types=("sentence2sentence",))
    assert "First sentence of the pair,Second sentence of the pair" in template_csv(plain)
    assert 'data-names="{}"' in unescape(writing_html(replace(made, settings=plain), writer))


def _adjudicator_sees(services: Services, made: Project, judge: User) -> None:
    for id, there, elsewhere in (("own", "对", "Very similar"), ("plain", "Very similar", "对")):
        entries = services.adjudication.queue(made.id, Which.ALL).entries
        [pair_id] = [entry.pair_id for entry in entries if entry.external_id == id]
        shown = item_html(services.adjudication.item(made.id, pair_id), made, judge, Neighbours(None, None))
        assert there in shown
        assert elsewhere not in shown
