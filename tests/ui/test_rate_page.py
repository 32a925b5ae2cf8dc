"""What Python writes of the rating page: the empty form, harmless guidelines, refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from annotation.comparison import comparison_type
from annotation.scale import CLSS_POINTS
from annotation.services.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.types import Project, ProjectSettings, Role, SkipReason, User
from annotation.ui.rate import SKIP_REASONS, RateHandlers, form_html, storage_name
from annotation.ui.wording import examples_html, scale_html
from kpdemo.ui.html import markdown_html

ADDED = datetime(2026, 11, 21, tzinfo=UTC)
USER = User(7, "Ana", created_at=ADDED)
PROJECT = Project(3, ProjectSettings(name="<b>Levels</b> ${x}"), datetime(2026, 11, 22, tzinfo=UTC))
VOID = {"br", "hr", "img", "input"}
DANGEROUS = {"script", "iframe", "form", "img", "style", "svg", "object", "link", "meta", "base"}


class Tree(HTMLParser):
    """Every tag with its attributes, and whether tags are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.found}

    def all(self, name: str) -> list[str]:
        return [attrs[name] or "" for _, attrs in self.found if name in attrs]


@dataclass(frozen=True)
class Request:
    username: str | None
    query_params: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <iframe src='https://example.org'></iframe> b",
        "[a](javascript:alert(1))",
        "[a](vbscript:alert(1)) [b](data:text/html,<script>alert(1)</script>)",
        "![p](https://example.org/p.png)",
        '![p](https://example.org/p.png"onerror="alert(1))',
        '!["><script>alert(1)</script>](x)',
        '[a](https://example.org/"onmouseover="alert(1))',
        "```html\n<script>alert(1)</script>\n```",
        "<style>* { display: none }</style>\n\n<form action=/sign-out>",
        "[a]: javascript:alert(1)\n\n[a]",
        "<javascript:alert(1)>",
    ],
)
def test_guidelines_hold_no_script_frame_form_or_picture(markdown):
    tree = Tree(markdown_html(markdown))
    assert tree.tags() & DANGEROUS == set()
    assert [name for _, attrs in tree.found for name in attrs if name.startswith("on")] == []
    for address in tree.all("href"):
        assert not re.match(r"\s*(javascript|vbscript|data:text)", address, re.IGNORECASE)


def test_guidelines_are_rendered_as_markdown_under_the_headings_of_the_page():
    tree = Tree(
        markdown_html("# One\n\n## Two\n\n###### Six\n\n**bold** `code`\n\n1. a\n\n|x|y|\n|-|-|\n|1|2|")
    )
    assert {"h3", "h4", "h6", "strong", "code", "ol", "table"} <= tree.tags()
    assert not tree.tags() & {"h1", "h2"}


def test_a_link_in_the_guidelines_opens_beside_the_page():
    [(_, link)] = [
        found for found in Tree(markdown_html("[a](https://example.org)")).found if found[0] == "a"
    ]
    assert link == {"href": "https://example.org", "target": "_blank", "rel": "noopener noreferrer"}


@pytest.mark.parametrize("write", [markdown_html, lambda text: form_html(with_guidelines(text), USER)])
def test_guidelines_never_look_like_a_template_to_gradio(write):
    written = write("Pay ${price} {{handlebars}} `tick` $$x$$")
    assert not re.search(r"[${}`]", written)
    assert "Pay ${price} {{handlebars}}" in Tree(written).text


def with_guidelines(text: str) -> Project:
    return replace(PROJECT, settings=replace(PROJECT.settings, guidelines=text))


def test_the_scale_is_told_in_the_papers_words():
    text = Tree(scale_html(ProjectSettings("", types=("sentence2phrase",)))).text
    for point in CLSS_POINTS:
        assert point.name in text
        assert point.description in text


def test_each_known_type_has_an_example_of_each_grade_and_others_have_none():
    tree = Tree(examples_html(comparison_type("sentence2phrase")))
    assert tree.all("data-type") == ["sentence2phrase"]
    assert re.findall(r"\d", "".join(tree.text.split("Phrase")[-1:]))[:5] == list("43210")
    assert examples_html(comparison_type("tweet2emoji")) == ""


def test_the_form_is_well_formed_and_every_id_comes_once():
    tree = Tree(form_html(PROJECT, USER))
    ids = tree.all("id")
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
        assert set(tree.all(name)) <= set(ids)
    assert [name for _, attrs in tree.found for name in attrs if name.startswith("on")] == []


def test_nothing_is_chosen_and_the_five_points_are_there():
    tree = Tree(form_html(PROJECT, USER))
    radios = [attrs for _, attrs in tree.found if attrs.get("role") == "radio"]
    assert [radio["data-value"] for radio in radios] == list("01234")
    assert {radio["aria-checked"] for radio in radios} == {"false"}
    [submit] = [attrs for _, attrs in tree.found if attrs.get("id") == "rate-submit"]
    assert "disabled" in submit


@pytest.mark.parametrize(
    ("step", "quarters", "name"), [("0.25", "1", "¼"), ("0.5", "2", "½"), ("1", "4", "1")]
)
def test_the_steps_are_the_projects(step, quarters, name):
    project = replace(PROJECT, settings=replace(PROJECT.settings, step=Decimal(step)))
    tree = Tree(form_html(project, USER))
    assert tree.all("data-step") == [quarters]
    assert {f"{name} up", f"{name} down"} <= set(tree.all("aria-label"))


def test_every_reason_to_skip_has_words():
    assert set(SKIP_REASONS) == set(SkipReason)


def test_what_the_browser_keeps_is_of_one_user_in_one_project_of_one_database():
    names = [
        storage_name(PROJECT, USER),
        storage_name(PROJECT, replace(USER, id=8)),
        storage_name(PROJECT, replace(USER, created_at=ADDED + timedelta(seconds=1))),
        storage_name(replace(PROJECT, id=4), USER),
        storage_name(replace(PROJECT, created_at=PROJECT.created_at + timedelta(seconds=1)), USER),
    ]
    assert len(set(names)) == len(names)
    assert storage_name(PROJECT, replace(USER, name="Renamed")) == names[0]


@pytest.fixture
def services(sqlite_database):
    return AccountService(sqlite_database), ProjectService(sqlite_database)


def test_a_rater_gets_the_form_and_others_a_sentence(services):
    accounts, projects = services
    handlers = RateHandlers(accounts, projects)
    ana, bea = accounts.add_user("Ana"), accounts.add_user("Bea")
    accounts.add_user("root", is_administrator=True)
    project = projects.create(ProjectSettings(name="Levels"))
    projects.add_member(project.id, ana.name, Role.RATER)
    projects.add_member(project.id, bea.name, Role.ADJUDICATOR)
    asked = {"project": str(project.id)}
    assert 'id="rate-form"' in handlers.open(Request("Ana", asked))
    for refused, said in (
        (Request("Bea", asked), "rater"),
        (Request("root", asked), "add yourself on its page, under Members"),
        (Request(None, asked), "not signed in"),
        (Request("Ana"), "No project is chosen"),
        (Request("Ana", {"project": "<b>"}), "No project is chosen"),
        (Request("Ana", {"project": "9" * 30}), "No project is chosen"),
        (Request("Ana", {"project": "999"}), "ask its administrator"),
    ):
        html = handlers.open(refused)
        assert 'id="rate-form"' not in html
        assert said in html
        assert 'href="/annotate/"' in html
