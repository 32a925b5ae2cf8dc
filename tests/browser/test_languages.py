"""A project in another language: a rater on a phone meets no English sentence, and may choose."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest
from playwright.sync_api import Browser, Page, expect

from annotation.crowds import CrowdSettings
from annotation.locale.update import PROJECT, RATER
from annotation.quality import QualitySettings
from annotation.types import KnownPair, NewPair, ProjectSettings, Role, SkipReason
from kpdemo.translation import LANGUAGE_COOKIE, LANGUAGES
from tests.browser.conftest import Site, Watch, open_annotation_page, serious_violations
from tests.browser.pressing import press
from tests.browser.test_crowd_pages import share
from tests.writers import new_items

PHONE = {"width": 390, "height": 844}
TYPE = "sentence2phrase"
FIRST_POINT = "#rate-scale [role=radio] >> nth=0"


@pytest.fixture
def project(site: Site, unused: str) -> int:
    settings = ProjectSettings(
        unused,
        types=(TYPE,),
        raters_per_pair=1,
        is_random=False,
        consent="Ihre Antworten werden ohne Namen ver\u00f6ffentlicht.",
        guidelines="Bewerten Sie die Bedeutung.",
        language="de",
    )
    project = site.services.projects.create(settings)
    pairs = [NewPair(f"p{n}", TYPE, f"Der {n}. Zug kam zu sp\u00e4t.", f"Zug {n}") for n in range(3)]
    site.services.importing.import_pairs(project.id, pairs)
    known = KnownPair(NewPair("t1", TYPE, "Die Katze schl\u00e4ft.", "eine Katze"), Decimal("2.75"))
    site.services.known_pairs.import_training(project.id, [known])
    site.services.quality.change(project.id, QualitySettings(training_tries=2))
    site.services.crowds.change(project.id, CrowdSettings("FERTIG", "", "", "labor@example.org"))
    return project.id


@cache
def english_patterns() -> list[re.Pattern[str]]:
    """Each English message, whatever stands in its placeholders; but single words, which may be of both."""
    texts = {
        part
        for domain in (RATER, PROJECT)
        for message, _where in domain.marked_messages()
        for part in ([message] if isinstance(message, str) else message)
    }
    found = []
    for text in texts:
        if len(re.findall(r"[^\W\d_]+", re.sub(r"\{\w+\}", "", text))) > 1:
            parts = [re.escape(part) for part in re.split(r"\{\w+\}", text)]
            found.append(re.compile(".{1,300}".join(parts[not parts[0] : -1 if not parts[-1] else None])))
    return found


def assert_no_english(page: Page, within: str = "#rate-form", *, about: str = "") -> None:
    """`about` is what is said in English there, such as a definition of WordNet."""
    said = page.locator(within).evaluate(
        "form => [form.textContent, ...[...form.querySelectorAll('[aria-label]')]"
        ".map((labelled) => labelled.ariaLabel)].join('\\n')"
    )
    seen = page.locator(within).inner_text()
    assert [p.pattern for p in english_patterns() if p.search(said) or p.search(seen)] == []
    own = re.sub(about, "", seen) if about else seen
    assert not re.search(r"\b(the|you|your|pair|pairs|with|and)\b", own), own


def german_page(site: Site, browser: Browser, name: str, path: str) -> Page:
    """A page of annotation for who has chosen German."""
    context = site.context(browser, name)
    context.add_cookies([{"name": LANGUAGE_COOKIE, "value": "de", "url": site.address}])
    page = context.new_page()
    open_annotation_page(page, f"{site.address}{path}")
    return page


@pytest.mark.slow
def test_a_german_project_is_german_on_a_phone_from_consent_to_the_end(site, browser, project):
    page, watch = site.context(browser, viewport=PHONE).new_page(), Watch()
    watch.over(page, site.address)
    page.goto(f"{share(site, project)}?PROLIFIC_PID=de1&STUDY_ID=s1&SESSION_ID=v1")
    assert_no_english(page, "body")
    page.get_by_role("button", name="Beginnen").click()
    page.get_by_role("button", name="Ich stimme zu").wait_for()
    expect(page.locator("#rate-form")).to_have_attribute("lang", "de")
    assert_no_english(page)
    page.get_by_role("button", name="Ich stimme zu").click()
    expect(page.locator("#rate-message")).to_contain_text("Bitte lesen Sie zuerst die Richtlinien unten.")
    assert_no_english(page)
    page.get_by_role("button", name="Ich habe die Richtlinien gelesen").click()
    for key, result in (("0", "zu weit entfernt"), ("3", "nah genug")):
        expect(page.locator("#rate-right")).to_have_text("eine Katze")
        expect(page.locator(FIRST_POINT)).to_be_enabled()
        assert_no_english(page)
        press(page, key, "Enter")
        expect(page.locator("#rate-feedback")).to_contain_text(f"erwartet war 2,75: {result}.")
        expected = page.locator("#rate-scale [data-expected='erwartet: 2,75']")
        heights = expected.evaluate_all("all => all.map((e) => getComputedStyle(e, '::after').height)")
        assert {*heights} <= {"14px", "26px"}, "a line for the word and one for the number"
        assert_no_english(page)
        page.get_by_role("button", name="Weiter", exact=False).first.click()
        button = page.locator("#rate-message [data-rate=training]")
        expect(button).to_be_visible()
        assert_no_english(page)
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()
    expect(page.locator("#rate-right")).to_have_text("Zug 0")
    expect(page.locator("#rate-question")).to_have_text(
        "Wie viel von der Bedeutung des Satzes gibt die Wendung wieder?"
    )
    expect(page.locator(FIRST_POINT)).to_be_enabled()
    assert_no_english(page)
    press(page, "3", "[")
    expect(page.locator("#rate-value")).to_contain_text(
        "2,75 zwischen 2 Verwandt, aber nicht \u00e4hnlich und 3"
    )
    press(page, "Enter")
    expect(page.locator("#rate-right")).to_have_text("Zug 1")
    assert_no_english(page)
    press(page, "s")
    expect(page.locator("#rate-skip")).to_be_visible()
    assert_no_english(page)
    assert serious_violations(page) == []
    page.get_by_label("Der Text ist besch\u00e4digt").check()
    page.get_by_role("button", name="Dieses Paar \u00fcberspringen").click()
    expect(page.locator("#rate-right")).to_have_text("Zug 2")
    press(page, "Backspace")
    expect(page.locator("#rate-earlier")).to_contain_text("Sie haben dieses Paar \u00fcbersprungen")
    assert_no_english(page)
    press(page, "Escape", "4", "Enter")
    expect(page.locator("#rate-message")).to_contain_text("Sie haben 2 Paare bewertet")
    expect(page.locator("#rate-code")).to_contain_text("FERTIG")
    expect(page.locator("#rate-saved")).to_contain_text("Gespeichert")
    assert_no_english(page)
    expect(page.locator("header.site")).to_contain_text("Abmelden")
    assert_no_english(page, "header.site")
    page.goto(f"{site.address}/annotate/")
    expect(page.get_by_role("link", name="Meine Antworten ansehen")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    assert_no_english(page, "#home-projects")
    assert_no_english(page, "header.site")
    page.goto(f"{site.address}/account")
    assert_no_english(page, "main")
    watch.check()


@pytest.mark.slow
def test_an_adjudicator_decides_in_the_language_of_the_project(site, browser, unused):
    settings = ProjectSettings(unused, types=(TYPE,), raters_per_pair=2, language="de")
    project = site.services.projects.create(settings)
    given = (("Anna", Decimal(0)), ("Bela", Decimal("2.75")))
    pairs = [NewPair(f"p{n}", TYPE, f"Der {n}. Zug kam.", f"Zug {n}", ratings=given) for n in range(2)]
    site.services.importing.import_pairs(project.id, pairs)
    judge = site.add_user(f"{unused} judge")
    site.services.projects.add_member(project.id, judge.name, Role.ADJUDICATOR)
    page, watch = site.context(browser, judge.name, viewport=PHONE).new_page(), Watch()
    watch.over(page, site.address)
    page.goto(f"{site.address}/annotate/adjudicate?project={project.id}")
    expect(page.locator("#adjudicate-value")).to_have_text("Noch keine Bewertung gew\u00e4hlt")
    assert_no_english(page, "#adjudicate-page")
    press(page, "Control+Enter")
    expect(page.locator("#adjudicate-said")).to_have_text("W\u00e4hlen Sie zuerst eine Bewertung.")
    page.get_by_label("Jemand gab 2,75: 2,75 \u00fcbernehmen").click()
    page.get_by_label("Missverstanden").check()
    page.get_by_role("button", name="Speichern und weiter").click()
    expect(page.locator("#adjudicate-said")).to_contain_text(": 2,75.")
    page.get_by_role("button", name="Entschieden 1").click()
    expect(page.locator(".adj-state")).to_have_text("entschieden: 2,75")
    assert_no_english(page, "#adjudicate-page")
    assert_no_english(page, "header.site")
    watch.check()


def test_a_writer_writes_in_the_language_of_the_project(site, browser, unused):
    settings = ProjectSettings(unused, types=(TYPE,), language="de")
    project = site.services.projects.create(settings)
    lead = site.add_user(f"{unused} lead", is_administrator=True)
    site.services.items.import_items(project.id, new_items(2), by=lead)
    writer = site.add_user(f"{unused} writer")
    site.services.projects.add_member(project.id, writer.name, Role.WRITER)
    page, watch = site.context(browser, writer.name, viewport=PHONE).new_page(), Watch()
    watch.over(page, site.address)
    page.goto(f"{site.address}/annotate/write?project={project.id}")
    expect(page.locator("#write-asked")).to_contain_text("Zu schreiben: Wendung, Bewertung")
    expect(page.locator("#write-size")).to_contain_text("Gew\u00fcnscht: 2 bis 15 W\u00f6rter.")
    page.locator("#write-text").fill("Zug")
    expect(page.locator("#write-check")).to_have_text("Der Text hat 1 Wort, nicht 2 bis 15.")
    page.locator("#write-text").fill("ein Zug")
    expect(page.locator("#write-saved")).to_contain_text("Gespeichert")
    assert_no_english(page, "#write-form .rate-bar")
    assert_no_english(page, "#write-request")
    page.get_by_role("button", name="Speichern und weiter").click()
    expect(page.locator("#write-counts")).to_contain_text("Sie haben 1 Text geschrieben, angenommen: 0")
    page.get_by_text("Was ich geschrieben habe").click()
    expect(page.locator("#write-recent li")).to_contain_text("wartet auf die Redaktion")
    watch.check()


@pytest.mark.slow
def test_a_rater_may_choose_another_language_than_the_project(site, browser, project, unused):
    rater = site.add_user(f"{unused} rater")
    site.services.projects.add_member(project, rater.name, Role.RATER)
    page = site.context(browser, rater.name, viewport=PHONE).new_page()
    page.goto(f"{site.address}/annotate/rate?project={project}")
    for code in ("en", "sr", "zh"):
        page.get_by_label(re.compile("^(Sprache|Language|Jezik)$")).select_option(code)
        expect(page.locator(f"#rate-form[lang^={code}]")).to_be_visible()
    expect(page.get_by_role("button", name="\u6211\u540c\u610f")).to_be_visible()
    assert set(LANGUAGES) == {
        option.get_attribute("value") for option in page.locator("#rate-language option").all()
    }
    page.reload()
    expect(page.locator("#rate-form")).to_have_attribute("lang", "zh-Hans")


@pytest.mark.slow
def test_accounts_are_managed_in_the_language_of_the_browser(empty_site, browser):
    page, watch = empty_site.page(browser, "root", "/annotate/users", locale="de-DE"), Watch()
    watch.over(page, empty_site.address)
    page.get_by_label("Name", exact=True).fill("Bela")
    page.get_by_role("button", name="Hinzuf\u00fcgen und Link machen").click()
    expect(page.locator("#users-added")).to_contain_text(
        "Bela ist hinzugef\u00fcgt und w\u00e4hlt mit diesem Link ein Passwort."
    )
    expect(page.locator("#users-links")).to_contain_text("ein Passwort, Nummer 1")
    expect(page.locator("#users-events")).to_contain_text("Einladung gemacht")
    assert_no_english(page, "body")
    page.get_by_role("button", name="Sperren", exact=True).click()
    expect(page.locator("#users-changed")).to_have_text(
        "Bela ist gesperrt und abgemeldet; die Bewertungen bleiben."
    )
    page.locator("#users-invite").click()
    expect(page.locator("#users-invited")).to_contain_text(
        "Kein Projekt ist gew\u00e4hlt: w\u00e4hlen Sie eines, oder legen Sie zuerst eines an."
    )
    expect(page.locator("#users-events")).to_contain_text("Konto gesperrt")
    assert_no_english(page, "body")
    watch.check()


@pytest.fixture
def filled(site: Site, unused: str) -> int:
    """A project in which everything that its page tells of has happened, in German."""
    services, root = site.services, site.services.accounts.user("root")
    settings = ProjectSettings(
        unused, types=(TYPE,), raters_per_pair=2, consent="Einverstanden?", language="de"
    )
    project = services.projects.create(settings, created_by=root).id
    apart, near = (("Anna", Decimal(0)), ("Bela", Decimal(3))), (("Anna", Decimal(2)), ("Bela", Decimal(2)))
    given = (apart, near, (), (), ())
    pairs = [
        NewPair(f"p{n}", TYPE, f"Der {n}. Zug kam.", f"Zug {n}", "Bahn", ratings=ratings)
        for n, ratings in enumerate(given)
    ]
    services.importing.import_pairs(project, pairs, by=root)
    services.pairs.withdraw(project, ["p4"], reason="doppelt", by=root)
    services.known_pairs.import_training(project, [_known("t1")], by=root)
    services.known_pairs.import_checks(project, [_known("c1")], by=root)
    services.quality.change(project, QualitySettings(check_every=5), by=root)
    rater = site.add_user(f"{unused} Cleo")
    services.projects.add_member(project, rater.name, Role.RATER, by=root)
    services.quality.excuse(project, rater.name, by=root)
    [agreed] = [services.consents.text_to_agree(project, rater.id)]
    services.consents.agree(project, rater.id, agreed.sha256)
    first, second = (pair.id for pair in services.assignment.queue(project, rater.id, count=2).pairs)
    services.ratings.comment(first, rater.id, "Das ist kein Satz.", is_flagged=True)
    services.assignment.skip(second, rater.id, SkipReason.BROKEN_TEXT, "Die H\u00e4lfte fehlt.")
    services.quality.pause(project, rater.name, by=root)
    services.exclusion.exclude(project, "Bela", "immer dasselbe", by=root)
    end = datetime.now(UTC) + timedelta(days=2)
    services.crowds.make_link(project, 3, end, note="Kurs", by=root)
    return project


def _known(id: str) -> KnownPair:
    return KnownPair(NewPair(id, TYPE, "Die Katze schl\u00e4ft.", f"Katze {id}"), Decimal("2.75"))


OPEN_ALL = """() => {
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
  document.querySelectorAll("button.label-wrap:not(.open)").forEach((fold) => fold.click());
}"""
TABS = {
    "Paare": ("#pair-list", "von 2"),
    "Mitglieder": ("#members-list", "Bewertung (pausiert)"),
    "Qualit\u00e4t": ("#quality-raters", "befreit"),
    "Einstellungen": ("#project-save", "Einstellungen speichern"),
    "Goldstandard": ("#export-reason", "keine Goldbewertung"),
    "Ereignisse": ("#project-events", "Paare eingelesen"),
}
"""Of each a place, and what it says once it is filled."""


@pytest.mark.slow
def test_a_lead_finds_no_english_sentence_on_the_tabs_of_a_project(site, browser, filled):
    page, watch = site.page(browser, "root", f"/annotate/project?project={filled}"), Watch()
    watch.over(page, site.address)
    tabs = page.locator("#project-tabs").get_by_role("tablist").first
    for tab, (place, said) in TABS.items():
        tabs.get_by_role("tab", name=tab, exact=True).click()
        expect(page.locator(place)).to_contain_text(said)
        page.evaluate(OPEN_ALL)
        assert_no_english(page, "body")
    watch.check()
