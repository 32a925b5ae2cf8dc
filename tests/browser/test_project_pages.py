"""A leader makes a project, brings pairs and people, and a rater begins; strangers find the doors closed."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.types import NewPair, ProjectSettings, Role, SkipReason
from tests.browser.conftest import (
    PASSWORD,
    Site,
    Watch,
    choose_files,
    open_annotation_page,
    open_page,
    wait_until_kept,
)
from tests.browser.pressing import press
from tests.browser.test_kept_forms import press_while_offline
from tests.browser.test_look import BROKEN_WORDS, DOUBLED, PALE, SETTLED, UNNAMED, WIDTH
from tests.rated import rated_pairs

EVIL = '<img src=x onerror="alert(1)"><b>شبه‌جمله</b> {{value}} ${value} ' + "very long " * 5
TSV = (
    "id\ttype\tleft\tright\tgenre\n"
    "1\tsentence2phrase\tThe cat sleeps.\ta sleeping cat\tpets\n"
    "2\tsentence2phrase\tIt rains.\train\tweather\n"
)
PROJECT = "/annotate/project?project={}&tab={}"


@pytest.fixture
def project(site: Site, request: pytest.FixtureRequest) -> int:
    """A project of the test's own with twelve pairs, the rater Ana and the adjudicator Ben."""
    root = site.services.accounts.user("root")
    name = f"{request.node.name[:100]} {len(site.services.projects.list())}"
    settings = ProjectSettings(name, types=("sentence2phrase",), guidelines="Be *kind*.")
    project = site.services.projects.create(settings, created_by=root)
    pairs = [NewPair(str(n), "sentence2phrase", f"left {n}", f"right {n}", genre="news") for n in range(12)]
    site.services.importing.import_pairs(project.id, pairs)
    known = {user.name for user in site.services.accounts.users()}
    for name, role in (("Ana", Role.RATER), ("Ben", Role.ADJUDICATOR)):
        if name not in known:
            site.add_user(name)
        site.services.projects.add_member(project.id, name, role)
    return project.id


def upload(page: Page, name: str, content: str) -> None:
    choose_files(page.locator("#import-file"), (name, content.encode()))


@pytest.mark.slow
def test_settings_say_that_more_raters_flag_more_pairs_and_can_do_without_adjudication(
    project, site, browser
):
    page, watch = site.context(browser, "root").new_page(), Watch()
    watch.over(page, site.address)
    open_annotation_page(page, site.address + PROJECT.format(project, "settings"))
    said, raters = page.locator("#project-range"), page.get_by_label("Raters per pair")
    expect(raters).to_have_value("2")
    expect(said).to_be_empty()
    labels = "Most pairs per rater", "Time limit per pair (minutes)"
    fields = [page.get_by_label(label) for label in labels]
    assert len({round(field.bounding_box()["y"]) for field in fields}) == 1  # in one row
    raters.fill("4")
    expect(said).to_contain_text("4 raters reach a difference of 1 more often than two")
    page.get_by_label("Flag a difference of").fill("")
    expect(said).to_be_empty()
    page.get_by_role("button", name="Save settings").click()
    expect(page.locator("#project-saved")).to_contain_text("Saved.")
    assert site.services.projects.get(project).settings.threshold is None
    page.goto(f"{site.address}/annotate/adjudicate?project={project}")
    expect(page.locator("#adjudicate-item")).to_contain_text("The project does without adjudication")
    watch.check()


def test_two_items_of_one_kind_are_called_first_and_second(site, browser):
    type = "sentence2sentence"
    made = site.services.projects.create(
        ProjectSettings(f"STS {len(site.services.projects.list())}", (type,))
    )
    site.services.importing.import_pairs(made.id, [NewPair("1", type, "The cat sleeps.", "A cat is asleep.")])
    site.services.projects.add_member(made.id, "root", Role.RATER)
    page = site.page(browser, "root", f"/annotate/rate?project={made.id}")
    expect(page.locator("#rate-larger")).to_have_text("First sentence")
    expect(page.locator("#rate-smaller")).to_have_text("Second sentence")
    question = "How similar in meaning are the first and the second sentence?"
    expect(page.locator("#rate-question")).to_have_text(question)
    expect(page.locator("#rate-scale")).to_contain_text("Both have the most important ideas.")
    page.get_by_text("Guidelines and examples").click()
    expect(page.get_by_role("table")).not_to_contain_text("larger")


def test_from_an_empty_server_to_the_first_grade(empty_site, browser):
    site = empty_site
    page, watch = site.page(browser, "root"), Watch()
    watch.over(page, site.address)
    expect(page.locator("#home-projects")).to_contain_text("No projects yet.")
    page.get_by_label("Name", exact=True).fill("Lexical levels")
    ticked = page.locator("#new-types input:checked")
    expect(ticked).to_have_count(0)
    page.get_by_role("button", name="Create project").click()
    expect(page.locator("#home-refused")).to_contain_text("The project has no comparison types")
    page.get_by_label("sentence to phrase").check()
    expect(ticked).to_have_count(1)
    expect(page.locator("#home-refused")).to_be_empty()
    page.get_by_label("Raters per pair").fill("1")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/project?project=*")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lexical levels")
    expect(page.locator("#project-counts")).to_contain_text("No pairs yet.")
    upload(page, "pairs.tsv", TSV)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-result")).to_contain_text("Imported 2 pairs and 0 ratings.")
    expect(page.locator("#project-counts")).to_contain_text("0 of 2 pairs done")
    page.get_by_role("tab", name="Members").click()
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#members-link code").inner_text()
    assert link.startswith(f"{site.address}/invitation/")
    watch.check()

    rater = site.context(browser).new_page()
    rater.goto(link)
    rater.get_by_label("Name").fill("Ada")
    rater.get_by_label("Password", exact=True).fill(PASSWORD)
    rater.get_by_role("button", name=re.compile("account|join", re.IGNORECASE)).first.click()
    rater.wait_for_url("**/annotate/rate?project=*")  # their only project
    rater.get_by_role("link", name="My projects").first.click()
    expect(rater.locator("#home-projects")).to_contain_text("You graded 0 pairs, up to 2 left")
    expect(rater.locator("#home-new")).to_have_count(0)
    rater.get_by_role("link", name="Grade pairs").click()
    rater.get_by_role("button", name="I have read the guidelines: begin").click()
    rater.locator("#rate-scale").wait_for()
    press(rater, "3", "Enter")
    expect(rater.locator("#rate-saved")).to_contain_text("Saved")

    open_annotation_page(page, f"{site.address}/annotate/")
    expect(page.locator("#home-projects")).to_contain_text("1 of 2 pairs done")
    [rating] = [pair for pair in rated_pairs(site.services.database, 1) if pair.ratings]
    assert rating.ratings == (("Ada", Decimal(3)),)


COUNT_TIMERS = """() => {
  window.mostTimers = [];
  const look = () => {
    const trackers = [...document.querySelectorAll("[data-testid=status-tracker]")];
    const isTold = (one) => one.innerText.trim() && one.checkVisibility({ visibilityProperty: true });
    const told = trackers.filter(isTold);
    if (told.length > mostTimers.length) window.mostTimers = told.map((one) => one.parentElement.id);
    requestAnimationFrame(look);
  };
  look();
}"""
"""Those that a screen reader finds at once, too: what is only transparent has its text."""


@pytest.mark.slow
def test_columns_are_guessed_shown_and_assigned_before_the_import(site, browser, project):
    page, watch = site.context(browser, "root").new_page(), Watch()
    watch.over(page, site.address)
    open_annotation_page(page, site.address + PROJECT.format(project, "pairs"))
    page.evaluate(COUNT_TIMERS)
    content = "number,sentence_A,sentence_B,summary\nn1,It snowed all night.,x,a snowy night\n"
    choose_files(page.locator("#import-file"), ("sick.csv", content.encode("utf-16")))
    expect(page.locator("#import-look")).to_contain_text("sick.csv looks like a table with a header.")
    expect(page.get_by_role("region", name="First rows of the file")).to_contain_text("a snowy night")
    columns = page.locator("#import-columns")
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_enabled()  # all choices are there
    expect(columns.get_by_label("Left item")).to_have_value("sentence_a")
    for field, name in (("Right item", "summary"), ("Id", "number")):
        columns.get_by_label(field, exact=True).fill(name)
        columns.get_by_label(field, exact=True).press("Enter")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-result")).to_contain_text("Imported 1 pair and 0 ratings.")
    expect(page.locator("#pair-list")).to_contain_text("a snowy night")  # the page has been filled anew
    assert page.evaluate("mostTimers") in ([], ["import-result"])
    expect(page.locator("#import-result")).to_contain_text("read as UTF-16")
    expect(page.locator("#import-result")).to_contain_text(
        "id is number, left is sentence_a, right is summary"
    )
    expect(columns).to_be_hidden()  # the box is empty again
    expect(page.locator("#import-look")).to_be_empty()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save a template as CSV").click()
    [_, row] = list(csv.reader(saved.value.path().read_text("utf-8-sig").splitlines()))
    assert row[:2] == ["p1", "sentence2phrase"]
    watch.check()


@pytest.mark.slow
def test_an_export_of_another_tool_is_shown_as_its_pairs_and_imported(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    task = {
        "id": 90,
        "data": {"text1": "It snowed all night.", "text2": "a snowy night"},
        "annotations": [{"completed_by": 4, "result": [{"type": "rating", "value": {"rating": 3}}]}],
    }
    choose_files(page.locator("#import-file"), ("export.json", json.dumps([task]).encode()))
    expect(page.locator("#import-look")).to_contain_text("an export of Label Studio")
    expect(page.locator("#import-look")).to_contain_text("user 4=3")
    expect(page.locator("#import-columns")).to_be_hidden()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-result")).to_contain_text("Imported 1 pair and 1 rating.")


CLICK_ONCE_MORE = """run => new MutationObserver((_, watching) => {
  if (!document.querySelector("#import-result").textContent.includes("Imported 2")) return;
  watching.disconnect();
  run.click();
  window.clickedOnceMore = true;
}).observe(document.querySelector("#import-result"), { childList: true, subtree: true })"""
"""The second click of a double one comes when the first is answered."""


@pytest.mark.slow
def test_a_bad_row_is_one_sentence_and_nothing_is_imported_or_lost(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    upload(page, "new.tsv", TSV.replace("2\tsentence2phrase\tIt rains.", "2\tsentence2phrase\t"))
    run = page.get_by_role("button", name="Import", exact=True)
    expect(page.locator("#import-look")).to_contain_text("new.tsv looks like a table")
    expect(run).to_be_enabled()
    run.press("Enter")
    expect(page.locator("#import-result .note")).to_contain_text("new.tsv, line 3, field 'left'")
    expect(run).to_be_focused()  # it rested
    expect(page.get_by_role("alert")).to_contain_text("Nothing was imported.")
    assert site.services.projects.counts(project).pairs == 12
    expect(page.locator("#import-file")).to_contain_text("new")
    page.locator("#import-file").get_by_label("Clear").click()
    expect(run).to_be_enabled()
    held: list[Route] = []
    page.route("**/queue/join*", lambda route: held.append(route))
    other_names = "pair_ID\ttype\tsentence1\tsentence2\tgenre"
    rows = TSV.replace("1\t", "a\t").replace("2\tsent", "b\tsent").partition("\n")[2]
    with page.expect_request("**/queue/join*"):
        upload(page, "mended.tsv", f"{other_names}\n{rows}")
    expect(run).to_be_disabled()  # until it is known what its columns are
    for route in held:
        route.continue_()
    page.unroute("**/queue/join*")
    run.evaluate(CLICK_ONCE_MORE)
    run.click()
    expect(page.locator("#import-result")).to_contain_text("Imported 2 pairs and 0 ratings.")
    page.wait_for_function("window.clickedOnceMore")
    page.wait_for_timeout(900)
    expect(page.locator("#import-result")).to_contain_text("Imported 2 pairs and 0 ratings.")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow
def test_events_and_exports_are_fresh_whenever_they_are_chosen(site, browser, project, unused, tmp_path):
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    expect(page.locator("#project-counts")).to_contain_text("0 of 12 pairs done")
    late = site.add_user(unused).name
    site.services.projects.add_member(project, late, Role.RATER)
    page.get_by_role("tab", name="Events").click()
    expect(page.locator("#project-events")).to_contain_text(late)
    options = ExportOptions(unfinished=Unfinished.LEAVE_OUT)
    site.services.gold.export(project, tmp_path / "gold", options)
    expect(page.get_by_role("tab", name="Gold")).to_have_count(0)  # the menu leads there, and not twice
    page.get_by_role("link", name="Gold", exact=True).click()
    expect(page.locator("#export-earlier tbody tr")).to_have_count(1)
    expect(page.get_by_role("tab")).to_have_count(0)
    expect(page.locator("#export-closed")).to_be_disabled()  # beside the reason
    expect(page.locator("#export-reason")).to_contain_text("12 of 12 pairs have no gold grade yet")
    page.get_by_label("Leave them out").check()
    with page.expect_download() as download:
        page.locator("#export-download").click()
    assert download.value.suggested_filename.endswith("-gold-jsonl.zip")
    expect(page.locator("#export-earlier tbody tr")).to_have_count(2)  # without a Refresh


@pytest.mark.slow
def test_what_is_exported_is_what_is_chosen_even_before_the_page_says_so(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "gold"))
    page.get_by_label("Leave them out").check()
    expect(page.locator("#export-download")).to_be_visible()
    page.route("**/gradio_api/**", lambda route: None)
    page.get_by_label("CSV", exact=True).check()
    page.get_by_label("Without individual grades").check()
    page.get_by_label("Include raters' comments").check()
    with page.expect_download() as download:
        page.locator("#export-download").click()
    assert download.value.suggested_filename.endswith("-gold-csv.zip")
    [done] = site.services.gold.exports(project)
    assert done.options == ExportOptions(Format.CSV, Unfinished.LEAVE_OUT, RaterColumns.NONE, comments=True)


@pytest.mark.slow
def test_no_archive_is_said_to_be_written_once_the_session_has_ended(site, browser, project, unused):
    name = site.add_user(unused, is_administrator=True).name
    page = site.page(browser, name, PROJECT.format(project, "gold"))
    page.get_by_label("Leave them out").check()
    expect(page.locator("#export-download")).to_be_visible()
    site.services.sign_ins.sign_out_everywhere(name)
    page.locator("#export-download").click()
    expect(page.locator("#session-ended")).to_contain_text("Your session ended, and nothing was done.")
    expect(page.locator("#export-told")).to_have_text("")


@pytest.mark.slow
def test_what_is_typed_stays_when_a_setting_is_refused(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "settings"))
    name = page.get_by_label("Name", exact=True)
    expect(name).not_to_have_value("")
    expect(page.get_by_role("group", name="Comparison types")).to_be_visible()
    page.get_by_label("Guidelines in Markdown").fill("# New\n\nRead **twice**. <b>No HTML</b>")
    page.get_by_label("Flag a difference of").fill("9")
    page.get_by_role("button", name="Save settings").click()
    refusal = page.locator("#project-saved .refusal")
    expect(refusal).to_contain_text("The threshold is 0.25 to 4")
    expect(page.get_by_test_id("toast-body")).to_have_count(0)  # the sentence stays at the form
    expect(page.get_by_label("Guidelines in Markdown")).to_have_value(re.compile("twice"))
    page.get_by_label("Flag a difference of").fill("1.5")
    page.get_by_label("Most pairs per rater").fill("40")
    page.get_by_role("tab", name="As raters see them").click()
    preview = page.locator("#project-preview")
    expect(preview.locator("strong")).to_have_text("twice")
    expect(preview).to_contain_text("<b>No HTML</b>")
    page.get_by_role("button", name="Save settings").click()
    expect(page.locator("#project-saved .note.done")).to_contain_text("Saved.")
    expect(refusal).to_have_count(0)
    kept = site.services.projects.get(project).settings
    assert (kept.threshold, kept.guidelines[:5], kept.most_per_rater) == (Decimal("1.5"), "# New", 40)
    page.reload()
    expect(page.get_by_label("Most pairs per rater")).to_have_value("40")
    page.get_by_label("Most pairs per rater").fill("")
    page.get_by_role("button", name="Save settings").click()
    expect(page.locator("#project-saved .note.done")).to_contain_text("Saved.")
    assert site.services.projects.get(project).settings.most_per_rater is None


@pytest.mark.slow
def test_own_words_of_the_scale_are_refused_looked_at_and_saved(site, browser, project):
    page = site.page(
        browser, "root", PROJECT.format(project, "settings"), viewport={"width": 390, "height": 844}
    )
    page.get_by_role("tab", name="Scale").click()
    words = page.get_by_label("Your own words for the points of the scale")
    wait_until_kept(page, "project")
    four = "0 无关: a\n1 Poor: b\n2 Fair: c\n3 <i>Good</i>: d"
    words.fill(four)
    page.get_by_role("button", name="Save settings").click()
    refusal = page.locator("#project-saved .refusal")
    expect(refusal).to_contain_text("The words of the scale lack those of 4: give five lines such as")
    expect(words).to_have_value(four)
    page.get_by_role("tab", name="As raters see them").click()
    preview = page.locator("#project-preview")
    expect(preview).to_contain_text("lack those of 4")
    page.reload()
    expect(page.locator("#project-kept")).to_be_visible()
    page.get_by_role("tab", name="Scale").click()
    expect(words).to_have_value(four)
    wait_until_kept(page, "project")
    words.fill(f"  {four}\n4 Right:  e\n")
    page.get_by_role("tab", name="As raters see them").click()
    expect(preview.get_by_role("row", name="3 <i>Good</i> d")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Save settings").click()
    expect(page.locator("#project-saved .note.done")).to_contain_text("Raters see the changes when they open")
    assert site.services.projects.get(project).settings.scale_words == f"{four}\n4 Right: e"
    page.reload()
    page.get_by_role("tab", name="Scale").click()
    expect(words).to_have_value(f"{four}\n4 Right: e")


@pytest.mark.slow
def test_roles_are_given_and_taken(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "members"))
    page.locator("#members-account input").fill("Ben")
    page.get_by_role("option", name="Ben").click()
    page.get_by_role("button", name="Add", exact=True).click()
    row = page.locator("#members-list tr", has_text="Ben")
    expect(row).to_contain_text("adjudicator, rater")
    remove, pause, resume = (page.locator(f"#members-{name}") for name in ("remove", "pause", "resume"))
    for button in (remove, pause, resume):
        expect(button).to_be_disabled()
    page.locator("#members-held input").click()
    page.get_by_role("option", name="Ben – rater").click()
    expect(pause).to_be_enabled()
    expect(resume).to_be_disabled()
    pause.press("Enter")
    expect(page.locator("#members-said")).to_contain_text("Ben is paused")
    expect(page.get_by_label("Member", exact=True)).to_be_focused()
    expect(page.locator("[role=option]")).to_have_count(0)
    expect(resume).to_be_enabled()
    expect(pause).to_be_disabled()
    page.locator("#members-held input").click()
    page.get_by_role("option", name="Ben – adjudicator").click()
    expect(resume).to_be_disabled()
    expect(page.locator("#members-said")).to_be_empty()
    remove.click()
    expect(row).not_to_contain_text("adjudicator")
    expect(remove).to_be_disabled()
    assert site.services.accounts.roles("Ben", project) == {Role.RATER}
    page.get_by_role("tab", name="Events").click()
    expect(page.locator("#project-events")).to_contain_text("member removed")
    expect(page.locator("#project-events tbody tr").first).to_contain_text(re.compile(r"today \d\d:\d\d"))


@pytest.mark.slow
def test_who_leads_alone_grades_without_a_detour(site, browser, project):
    site.services.projects.remove_member(project, "Ana", Role.RATER)
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    page.get_by_role("link", name="Invite raters, or grade them yourself").click()
    page.get_by_role("button", name="Grade it myself").click()
    expect(page.locator("#members-list tr", has_text="root")).to_contain_text("administrator, rater")
    expect(page.locator("#members-join")).to_be_hidden()
    expect(page.get_by_role("link", name="Rate", exact=True)).to_be_visible()
    page.get_by_role("link", name="Grade pairs").click()
    page.get_by_role("button", name="I have read the guidelines: begin").click()
    expect(page.locator("#rate-work")).to_be_visible()


@pytest.mark.slow
def test_a_leader_of_a_project_revokes_a_link(site, browser, project):
    site.services.projects.add_member(project, "Ben", Role.ADMINISTRATOR)
    page = site.page(browser, "Ben", PROJECT.format(project, "members"))
    open_links = page.locator("#members-links")
    expect(open_links).to_contain_text("No links are open.")
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#members-link code").inner_text()
    expect(open_links.get_by_role("row")).to_have_count(2)
    open_annotation_page(page, page.url)
    expect(open_links).to_contain_text("the first person to open it")
    page.get_by_label("Link", exact=True).click()
    page.get_by_role("option", name="the first person to open it").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("#members-revoked")).to_contain_text("it can no longer be used")
    expect(open_links).to_contain_text("No links are open.")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("This link is unknown or no longer valid")


@pytest.mark.slow
def test_what_raters_said_is_read_as_text_and_saved(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    shown = page.locator("#remarks-list")
    expect(shown).to_contain_text("No comments or skips yet.")
    ana = site.services.accounts.user("Ana").id
    first, second, third = (pair.id for pair in site.services.assignment.queue(project, ana, count=3).pairs)
    site.services.ratings.comment(first, ana, EVIL, is_flagged=True)
    site.services.ratings.comment(third, ana, "=1+1")
    site.services.assignment.skip(second, ana, SkipReason.BROKEN_TEXT, "Half of it\nis missing.")
    page.locator("#remarks-again").click()
    expect(shown.locator("tbody tr")).to_have_count(3)
    expect(shown.locator("tbody tr").first).to_contain_text(EVIL.strip())
    expect(shown.locator("tbody tr").first).to_contain_text("Problem")
    expect(shown.locator("img")).to_have_count(0)
    expect(shown).to_contain_text("The text is broken")
    with page.expect_download() as saved:
        shown.get_by_role("button", name="Save").click()
    assert saved.value.suggested_filename.endswith("-remarks.csv")
    text = saved.value.path().read_text(encoding="utf-8")
    assert ",'=1+1," in text
    assert "<img src=x onerror=" in text
    page.set_viewport_size({"width": 390, "height": 844})
    counts = page.locator("#project-counts .scrolling")
    assert counts.evaluate("part => part.scrollWidth - part.clientWidth") == 0
    assert page.evaluate(WIDTH) <= 390
    assert page.evaluate(PALE) == []
    assert page.evaluate(DOUBLED) == []


@pytest.mark.slow
def test_a_withdrawn_pair_is_given_to_nobody_and_the_grade_of_who_had_it_is_kept(site, browser, project):
    services, ana = site.services, site.services.accounts.user("Ana").id
    rating = site.page(browser, "Ana", f"/annotate/rate?project={project}")
    right = rating.locator("#rate-right")
    rating.get_by_role("button", name="I have read the guidelines: begin").click()
    expect(right).to_contain_text("right")
    first, second, third, fourth = (
        pair.right for pair in services.assignment.queue(project, ana, count=4).pairs
    )
    services.assignment.give_back(project, ana)
    services.assignment.queue(project, ana)
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    expect(page.locator("#pair-list tbody tr")).to_have_count(12)
    page.get_by_role("button", name="Withdraw or remove pairs").click()
    ids = page.get_by_label("Ids, one per line")
    ids.fill("\n".join(text.split()[1] for text in (first, third)))
    wait_until_kept(page, "pair-changes")
    page.get_by_label("Reason (optional)").fill("cut off")
    press_while_offline(page, "#pair-withdraw")
    expect(page.locator("#pair-changes-kept")).to_contain_text("did not save is back")
    expect(page.get_by_label("Reason (optional)")).to_have_value("cut off")
    page.locator("#pair-withdraw").click()
    expect(page.locator("#pair-changed")).to_contain_text("2 pairs withdrawn.")
    expect(ids).to_have_value("")
    expect(page.locator("#pair-list").get_by_role("cell", name="withdrawn", exact=True)).to_have_count(2)
    expect(page.locator("#project-counts")).to_contain_text("10")
    for shown, following in ((first, second), (second, fourth)):
        expect(right).to_have_text(shown)
        press(rating, "3", "Enter")
        expect(right).to_have_text(following)
    expect(rating.locator("#rate-count")).to_have_text("1 graded, up to 9 left")
    ids.fill(first.split()[1])
    page.locator("#pair-restore").click()
    expect(page.locator("#pair-changed")).to_contain_text("1 pair restored.")
    kept = {pair.right: pair.grade for pair in services.ratings.recent(project, ana)}
    assert kept == {first: Decimal(3), second: Decimal(3)}
    page.get_by_role("tab", name="Events").click()
    expect(page.locator("#project-events")).to_contain_text("reason: cut off")
    page.get_by_role("tab", name="Pairs").click()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(WIDTH) <= 390
    assert page.evaluate(PALE) == []


@pytest.mark.slow
def test_a_project_is_deleted_only_by_its_name(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "settings"))
    page.get_by_role("button", name="Delete the project").click()
    typed, delete = (
        page.get_by_label("Name of the project"),
        page.get_by_role("button", name="Delete for good"),
    )
    typed.fill("something else")
    delete.click()
    expect(page.locator("#project-deletion-refused")).to_contain_text("is not the name of the project")
    name = site.services.projects.get(project).name
    typed.fill(name)
    delete.click()
    page.wait_for_url("**/annotate/")
    expect(page.locator("#home-projects")).not_to_contain_text(name)
    assert project not in [left.id for left in site.services.projects.list()]


@pytest.mark.slow
def test_a_reload_stays_on_the_tab_that_was_chosen(site, browser, project):
    page = site.page(browser, "root", PROJECT.format(project, "pairs"))
    page.get_by_role("tab", name="Settings").click()
    page.wait_for_url("**&tab=settings")
    page.get_by_role("tab", name="Consent").click()  # one within it
    assert page.url.endswith(f"?project={project}&tab=settings")
    page.reload()
    expect(page.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")


@pytest.mark.slow
def test_a_new_project_asks_for_little_and_the_rest_is_folded(site, browser):
    page = site.page(browser, "root")
    if not page.get_by_label("Raters per pair").is_visible():
        page.get_by_role("button", name="New project").click()
    threshold = page.get_by_label("Flag a difference of")
    page.get_by_label("Name", exact=True).fill("Little asked")
    page.get_by_label("sentence to phrase").check()
    page.get_by_label("Raters per pair").fill("5")
    expect(threshold).to_be_hidden()
    page.get_by_role("button", name="More settings").press("Enter")
    expect(threshold).to_have_value("1.75")  # it followed while folded
    page.get_by_label("Most pairs per rater").fill("40")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/annotate/project?project=*")
    settings = site.services.projects.get(int(page.url.rpartition("=")[2])).settings
    assert (settings.raters_per_pair, settings.threshold, settings.most_per_rater) == (5, Decimal("1.75"), 40)


def test_a_rater_finds_the_door_closed_and_only_his_own_pages(site, browser, project):
    page = site.page(browser, "Ana", PROJECT.format(project, "members"))
    expect(page.locator("#project-closed")).to_contain_text("This needs the role administrator")
    expect(page.get_by_role("tab")).to_have_count(0)
    links = page.get_by_role("navigation", name="Project").get_by_role("link").all_inner_texts()
    assert links == ["Rate"]


@pytest.mark.slow
def test_the_public_page_leads_to_annotation_and_signing_out_to_the_sign_in(site, browser):
    page = site.context(browser, "root").new_page()
    open_page(page, site.address)
    page.get_by_role("link", name="Annotate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My projects")
    expect(page.get_by_role("link", name="Keyphrases")).to_have_attribute("href", "/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in?out")
    page.goto(f"{site.address}/annotate/")
    assert page.url == f"{site.address}/sign-in?next=/annotate/"


@pytest.mark.parametrize(
    ("scheme", "width"), [("dark", 390), pytest.param("light", 1280, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_every_part_can_be_read_and_has_a_name(site, browser, project, unused, scheme, width):
    evil = ProjectSettings(f"{unused} {EVIL}"[:120], types=("title2abstract",), guidelines=EVIL)
    root = site.services.accounts.user("root")
    site.services.projects.create(evil, created_by=root)
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page, watch = site.context(browser, "root", **options).new_page(), Watch()
    watch.over(page, site.address)

    def check(part: str) -> None:
        assert page.evaluate("document.body.classList.contains('dark')") is (scheme == "dark")
        for found in (PALE, UNNAMED, DOUBLED):
            assert page.evaluate(found) == [], part
        assert page.evaluate(WIDTH) <= width, part
        expect(page.get_by_role("heading", level=1)).to_have_count(1)

    open_annotation_page(page, f"{site.address}/annotate/")
    expect(page.locator("#home-projects li").first).to_be_attached()
    check("home")
    open_annotation_page(page, site.address + PROJECT.format(project, "pairs"))
    expect(page.locator("#project-counts .progress").first).to_be_attached()
    check("Pairs")
    for tab, shown in (
        ("Members", "#members-list table"),
        ("Settings", "#project-save"),
        ("Events", "#project-events table"),
    ):
        page.get_by_role("tab", name=tab).click()
        page.locator(shown).wait_for()
        page.evaluate(SETTLED)
        check(tab)
    watch.check()


@pytest.mark.slow
def test_fifty_projects_are_listed_soon_enough(site, browser):
    names = {project.name for project in site.services.projects.list()}
    root = site.services.accounts.user("root")
    for number in range(50 - len(names)):
        settings = ProjectSettings(f"Project {number}", types=("phrase2word",))
        site.services.projects.create(settings, created_by=root)
    page = site.page(browser, "root")
    expect(page.locator("#home-projects li.project")).to_have_count(50)


@pytest.mark.slow
def test_an_arabic_name_stands_under_its_heading(site, browser, unused):
    name = site.add_user(f"أمينة {unused}", is_administrator=True)
    project = site.services.projects.create(ProjectSettings(unused, types=("a2b",)), created_by=name)
    page = site.page(browser, "root", PROJECT.format(project.id, "events"))
    cell = page.locator("#project-events td", has_text=name.name)
    assert cell.evaluate("e => [e.matches(':dir(rtl)'), getComputedStyle(e).textAlign]") == [True, "left"]


@pytest.mark.slow
def test_a_genre_is_not_broken_where_the_page_is_zoomed(site, browser, project):
    pairs = [NewPair("e", "sentence2phrase", "It rains.", "rain", genre="everyday")]
    site.services.importing.import_pairs(project, pairs)
    window = {"width": 720, "height": 450}
    page = site.page(browser, "root", PROJECT.format(project, "pairs"), viewport=window)
    counts = page.locator("#project-counts table")
    expect(counts).to_contain_text("everyday")
    assert counts.evaluate(BROKEN_WORDS) == []


@pytest.mark.parametrize(
    ("path", "forms"),
    [
        (
            PROJECT.format("{}", "settings"),
            {
                "Settings": ("#project-save", "#project-saved"),
                "Quality": ("#quality-save", "#quality-said"),
                "Members": ("#members-add", "#members-added"),
            },
        ),
        ("/annotate/users", {"": ("#users-add", "#users-added")}),
    ],
)
@pytest.mark.slow
def test_a_form_stays_in_view_until_it_is_answered(site, browser, project, path, forms):
    page = site.page(browser, "root", path.format(project))
    busy = page.locator("[data-testid=status-tracker].translucent:visible")
    waited_for: list[Route] = []
    for tab, (button, answer) in forms.items():
        if tab:
            page.get_by_role("tab", name=tab).click()
        expect(page.locator(button)).to_be_visible()
        expect(busy).to_have_count(0)
        never = re.compile("/gradio_api/queue/join")
        page.route(never, lambda route: waited_for.append(route))
        page.locator(button).click()
        expect(page.locator(f"{answer} > [data-testid=status-tracker]")).to_be_visible()
        expect(busy).to_have_count(1)
        page.unroute(never)
