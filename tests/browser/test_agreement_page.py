"""The agreement page in a browser: drawn without any other host, live, saved as files, readable by all."""

from __future__ import annotations

import csv
from decimal import Decimal
from io import BytesIO
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from annotation.types import NewPair, NewRating, ProjectSettings, Role
from annotation.web.responder import COOKIE
from tests.browser.conftest import PASSWORD, Watch, unfold
from tests.browser.test_look import DOUBLED, PALE, UNNAMED, WIDTH
from tests.latex_tables import read_tables
from tests.profiles import PATIENCE

GENRES = ("news", "fables", "<b>very</b> long-winded name of a genre")
CHARTS = 5
GRADES = ("0", "1.25", "4", "2.5", "3", "0.5", "3.75")


def pairs():
    for number in range(42):
        grade = Decimal(GRADES[number % 7])
        near = min(Decimal(4), grade + Decimal(number % 3) / 4)
        far = Decimal(4) - grade if number % 10 == 0 else grade
        yield NewPair(
            f"pair-{number}",
            ("sentence2phrase", "phrase2word")[number % 2],
            f"{number} boats lie in the old harbour <script>alert(1)</script> 漢字",
            f"{number} boats",
            genre=GENRES[number % 3],
            ratings=(("ana", grade), ("ben", near), ("cleo", far)),
        )


@pytest.fixture(scope="module")
def project(site):
    made = site.services.projects.create(ProjectSettings(name="harbour", raters_per_pair=4))
    site.services.importing.import_pairs(made.id, pairs())
    site.add_user("judith")
    site.services.projects.add_member(made.id, "judith", Role.ADJUDICATOR)
    return made


def open_agreement(page, site, project):
    page.goto(f"{site.address}/annotate/agreement?project={project.id}")
    expect(page.locator("#agreement-all .figure-value")).to_be_visible()
    expect(page.locator("#agreement-page .js-plotly-plot:visible")).to_have_count(0)
    unfold(page, "#agreement-page")
    expect(page.locator("#agreement-page .js-plotly-plot .main-svg .xaxislayer-above")).to_have_count(CHARTS)


@pytest.fixture(scope="module")
def opened(site, browser, project):
    """The page as the administrator of the server sees it, opened once, and what it complained about."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    token = site.services.sign_ins.sign_in("root", PASSWORD, "127.0.0.1")
    context.add_cookies([{"name": COOKIE, "value": token, "url": site.address}])
    page, watch = context.new_page(), Watch()
    watch.over(page, site.address)
    open_agreement(page, site, project)
    yield page, watch
    context.close()


@pytest.fixture
def shown(opened):
    """Nothing may complain, and nothing foreign be asked for."""
    page, watch = opened
    yield page
    watch.check()


@pytest.fixture
def dark(shown):
    shown.get_by_role("button", name="Light / dark").click()
    yield shown
    shown.get_by_role("button", name="Light / dark").click()


@pytest.fixture
def adjudicator(site, browser, project):
    """The page as an adjudicator sees it, on a phone."""
    context = site.context(browser, "judith", viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_agreement(page, site, project)
    return page


@pytest.mark.slow
def test_five_charts_are_drawn_by_the_server_alone(shown):
    charts = shown.locator("#agreement-page .js-plotly-plot")
    for number in range(CHARTS):
        expect(charts.nth(number)).to_be_visible()
        assert charts.nth(number).get_attribute("aria-label").endswith("the table has the same figures")
    assert shown.get_by_role("heading", level=2).all_inner_texts() == [
        "α of all pairs",
        "α of unadjudicated pairs",
        "Pairs flagged",
        "Is the agreement good enough?",
        "Where is it low?",
        "Who differs?",
        "Which pairs?",
    ]
    expect(shown.locator("#agreement-where-chart")).to_contain_text("<b>very</b> long-winded")
    boxes = [shown.locator(name).first.bounding_box() for name in ("#agreement-refresh", "[data-save]")]
    assert boxes[0]["height"] == pytest.approx(boxes[1]["height"], abs=1)


@pytest.mark.slow
def test_pointing_at_a_chart_tells_the_figures(shown):
    point = shown.locator("#agreement-where-chart .scatterlayer .point").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(shown.locator("#agreement-where-chart .hoverlayer")).to_contain_text("sentence to phrase")


@pytest.mark.parametrize(("format", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_charts_are_saved_dark_on_white_whatever_the_theme(dark, format, begins):
    with dark.expect_download() as saving:
        dark.locator(f"#agreement-where-save button[data-format={format}]").click()
    assert saving.value.suggested_filename == f"harbour-where.{format}"
    content = saving.value.path().read_bytes()
    assert content.startswith(begins)
    if format == "svg":
        text = content.decode()
        assert "sentence to phrase" in text
        assert "rgb(15, 23, 42)" in text
        assert "rgb(255, 255, 255)" in text


def test_all_tables_are_saved_at_once(shown):
    with shown.expect_download() as saving:
        shown.get_by_role("button", name="Save all").click()
    assert saving.value.suggested_filename == "harbour-agreement.zip"
    with ZipFile(saving.value.path()) as archive:
        text = archive.read("genres.csv").decode("utf-8-sig")
    rows = {row["Genre"]: row for row in csv.DictReader(text.splitlines())}
    assert set(rows) == set(GENRES)
    assert float(rows["news"]["α of all pairs: low"]) < float(rows["news"]["α of all pairs"])
    with shown.expect_download() as saving:
        shown.get_by_role("button", name="Save agreement by type as LaTeX").click()
    assert saving.value.suggested_filename == "harbour-agreement.tex"
    [table] = read_tables(saving.value.path().read_text(encoding="utf-8"))
    assert "sentence2phrase" in table.rows


def test_a_short_word_stays_whole_and_a_long_one_makes_no_column_wide(shown):
    genres = shown.locator("#agreement-widest-pairs td:nth-child(7) > span")

    def shape(word: str) -> list[int]:
        """Of a genre, were it that of all pairs: its lines, and the width of the column."""
        return genres.evaluate_all(
            """(spans, word) => {
              const lines = document.createRange(), was = spans.map((span) => span.textContent);
              for (const span of spans) span.textContent = word;
              lines.selectNodeContents(spans[0]);
              const shape = [lines.getClientRects().length, spans[0].parentNode.offsetWidth];
              spans.forEach((span, at) => { span.textContent = was[at]; });
              return shape;
            }""",
            word,
        )

    assert shape("newspapers")[0] == 1
    lines, width = shape("unbroken" * 6)
    assert lines > 1
    assert width < 200


def test_every_text_has_enough_contrast_in_the_light(shown):
    assert shown.evaluate(PALE) == []


def test_every_text_has_enough_contrast_in_the_dark_also_in_charts(dark):
    assert dark.evaluate(PALE) == []
    ink = dark.locator("#agreement-where-chart .ytick text").first.evaluate("e => getComputedStyle(e).fill")
    text = dark.locator("#agreement-raters th[scope=row]").first.evaluate("e => getComputedStyle(e).color")
    assert ink == text


TOO_WIDE = """() => [...document.querySelectorAll("#agreement-page table")]
  .filter((table) => table.getBoundingClientRect().right > innerWidth)
  .map(({ caption }) => caption.innerText)"""


@pytest.fixture
def printed(dark):
    """The page in the dark as it is printed."""
    dark.emulate_media(media="print")
    yield dark
    dark.emulate_media(media="null")
    expect(dark.locator("body.dark")).to_have_count(1)
    dark.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.slow
def test_paper_is_light_and_has_everything_but_the_controls(printed):
    expect(printed.locator("body.dark")).to_have_count(0)
    for control in ("#page-theme", "#agreement-refresh", "#agreement-width", "[data-save]"):
        expect(printed.locator(control).first).to_be_hidden()
    pages = PdfReader(BytesIO(printed.pdf(format="A4"))).pages
    text = " ".join("".join(page.extract_text() for page in pages).split())
    assert "the command line prints the same" in text
    assert "Further pairs whose grades are far apart" not in text, "the reader had not unfolded them"
    assert "boats" in text[-200:]
    printed.set_viewport_size({"width": 720, "height": 900})  # of such a page
    assert printed.evaluate(TOO_WIDE) == []


def test_every_control_has_a_name_and_no_id_comes_twice(shown):
    assert shown.evaluate(UNNAMED) == []
    drawing = "plotly.js-style-global"  # a style element, of which every chart has a copy
    assert set(shown.evaluate(DOUBLED)) <= {drawing}


@pytest.mark.slow
def test_an_adjudicator_on_a_phone_reads_numbers_and_goes_on_to_adjudicate(adjudicator, project):
    assert adjudicator.evaluate(WIDTH) <= 390
    for chart in adjudicator.locator("#agreement-page .js-plotly-plot").all():
        assert chart.bounding_box()["width"] <= 390
    expect(adjudicator.locator("#agreement-raters")).to_contain_text("Rater 3")
    assert "cleo" not in adjudicator.content()
    link = adjudicator.locator("#agreement-widest-pairs tbody a").first
    assert f"/annotate/adjudicate?project={project.id}&pair=" in link.get_attribute("href")


@pytest.mark.slow
def test_new_grades_appear_at_a_press_and_by_themselves(site, browser, unused):
    small = site.services.projects.create(ProjectSettings(unused, raters_per_pair=2))
    page = site.page(browser, "root", f"/annotate/agreement?project={small.id}")
    enough = page.locator("#agreement-enough-part")
    expect(enough).to_contain_text("No pairs yet.")
    texts = [NewPair(str(n), "sentence2phrase", f"left {n}", f"right {n}") for n in range(4)]
    site.services.importing.import_pairs(small.id, texts)
    page.locator("#agreement-refresh").click()
    expect(enough).to_contain_text("4 pairs and no grades yet.")
    grades = [NewRating(str(n), rater, Decimal(n)) for n in range(4) for rater in ("ana", "ben")]
    site.services.importing.import_pairs(small.id, grades)
    expect(page.locator("#agreement-all .figure-value")).to_have_text("1.000")
    unfold(page, "#agreement-page")
    expect(page.locator("#agreement-plan-part")).to_contain_text(
        "4 pairs have two ratings, and with fewer than 50"
    )
    expect(page.locator("#agreement-page .js-plotly-plot").first).to_be_visible()
    fold = page.locator("#agreement-undefined-raters")
    fold.locator("summary").click()
    fold.evaluate("fold => { fold.dataset.old = ''; }")
    site.services.importing.import_pairs(
        small.id, [NewPair("5", "sentence2phrase", "left", "right", ratings=(("ana", Decimal(1)),))]
    )
    page.locator("#agreement-refresh").click()
    expect(page.locator("#agreement-page details[data-old]")).to_have_count(0)
    expect(fold).to_have_attribute("open", "")


@pytest.mark.slow
def test_the_end_of_the_session_is_told_once_to_who_only_looks(site, browser, project, unused):
    name = site.add_user(unused, is_administrator=True).name
    page = site.page(browser, name, f"/annotate/agreement?project={project.id}")
    expect(page.locator("#agreement-all .figure-value")).to_be_visible()
    page.evaluate("Object.defineProperty(navigator, 'userActivation', { value: { isActive: false } })")
    site.services.sign_ins.sign_out_everywhere(name)
    ask = "() => fetch('/annotate/gradio_api/config').then((answer) => answer.status)"
    assert page.evaluate(ask) == 401
    notice = page.locator("#session-ended")
    expect(notice).not_to_contain_text("nothing was done")
    link = notice.get_by_role("link")
    link.focus()
    assert page.evaluate(ask) == 401
    expect(link).to_be_focused()


def test_a_rater_is_told_why_there_is_nothing(site, browser, project, unused):
    rater = site.add_user(unused).name
    site.services.projects.add_member(project.id, rater, Role.RATER)
    page = site.page(browser, rater, f"/annotate/agreement?project={project.id}")
    closed = page.locator("#agreement-closed")
    expect(closed).to_contain_text("Only administrators and adjudicators")
    expect(page.locator("#agreement-page")).to_be_hidden()
    assert "cleo" not in page.content()
