"""Tags and entities in a text: how it is read, and where its words stood."""

from __future__ import annotations

import html
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kpdemo
from kpdemo.errors import InputError
from kpdemo.markup import spans_as_given, without_markup
from kpdemo.selection import Proposal, build_answer
from kpdemo.types import Document

JATS = (
    "<jats:title>Abstract</jats:title><jats:p>A <jats:italic>boundary integral</jats:italic> equation for "
    "waves &amp; currents, with <inline-formula><tex-math>k</tex-math></inline-formula>.</jats:p>"
)


def read(text: str) -> str:
    return without_markup(Document(text)).body


@pytest.mark.parametrize(
    "text",
    [
        JATS,
        '<div class="abstract"><p>One<br/>two</p>\n<P CLASS=x>three H<sub>2</sub>O</P></div>',
        "<!-- a note --><style>p {color: red}</style>text<script>let a = '<p>';</script>",
        "&lt;p&gt;escaped &lt;i&gt;twice&lt;/i&gt;&lt;/p&gt; caf&#233; &#xe9; &nbsp;",
        "a <p id='p 1' lang = en>b <a href=\"http://x.org/\" rel=a>c</a> &lt;p id=&quot;d&quot;&gt;e",
        "<mml:math><mml:mi>x</mml:mi></mml:math> &lt; 3",
    ],
)
def test_nothing_moves_and_no_tag_is_left(text):
    found = read(text)
    assert len(found) == len(text)
    for word in re.findall(r"\b[a-z]+\b", found, re.ASCII):
        assert text.startswith(word, found.index(word)) or word in ("caf", "x")
    gone = ("<p", "</", "jats", "mml", "class", "note", "lt;", "amp")
    assert not any(mark in found for mark in gone)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"The kernel $\mathbf{k}$ is \emph{positive} definite.", "The kernel $ is positive definite."),
        (r"A $\nu$-SVM, $k$-means and $\ell_1$-regularization", "A ν-SVM, k-means and l1-regularization"),
        (r"CO$_2$ capture by Fe$^{3+}$ ions", "CO2 capture by Fe3 ions"),
        (r"Schr\"odinger and Erd\H{o}s, na\"{\i}ve, Stra{\ss}e", "Schrödinger and Erdős, naïve, Straße"),
        (r"\textbf{kernel}s at 5\% in R\&D~\cite{x}", "kernels at 5% in R&D"),
        (
            r"\section{Methods} We \textit{walk}. \begin{equation} a = \frac{b}{c} \end{equation}",
            "Methods We walk .",
        ),
        (r"\(x + 1\) and \[ y = 2 \] and \includegraphics[width=3cm]{fig/one.png}", "$ and and"),
        (r"\section{A} kernels % a remark", "A kernels"),
        ("It costs $5 and $10, 50% off, at C:\\Users.", "It costs $5 and $10, 50% off, at C:\\Users."),
        ("<img src=x onerror=alert(1)>A <svg onload='a>b'>b</svg> <input value=3 disabled>c", "A b'>b c"),
        ("Read [the page](https://x.org/y) now", "Read [the page] now"),
    ],
)
def test_only_what_is_printed_is_read(text, words):
    found = without_markup(Document(text))
    assert found.text.split() == words.split()
    assert len(found.text) == len(text)


@pytest.mark.parametrize("name", ["first", "tfidf", "positionrank", "multipartite", "yake"])
def test_no_baseline_gives_what_is_not_printed(name):
    text = (
        r"The kernel $\mathbf{k}$ of a \textsc{graph} is known \citep{smithson}. "
        "<img src=pic onerror=alert(1)> Kernels of graphs compare molecules."
    )
    [found] = kpdemo.load_predictor(name).predict([text], top_k=50)
    words = {word for keyphrase in found.present for word in keyphrase.text.lower().split()}
    assert not words & {"mathbf", "textsc", "citep", "smithson", "img", "src", "pic", "onerror", "alert"}
    assert "kernel" in words


@pytest.mark.parametrize(
    "command",
    [
        r"\cite{evans,lee:2020}", r"\citep[see][p.~3]{evans}", r"\citet*{evans}", r"\nocite{evans}",
        r"\ref{fig:walks}", r"\autoref{sec walks}", r"\eqref{eq:1}", r"\Cref{tab}", r"\label{sec:walks}",
    ],
)  # fmt: skip
def test_citations_and_references_of_latex_are_blanks(command):
    assert read(f"Random walks{command} converge.") == f"Random walks{' ' * len(command)} converge."


@pytest.mark.parametrize(
    "text",
    [
        r"Files in C:\label\x, {braces}, 50% of 5$ and 6$, a_b and x^2",
        "If x < y and y > z, then a<b.",
        "If a <b and c> d, for all p <s where s is the seed and t> 4",
        "Map<String, List<Item>> in C++, #include <vector>",
        "A <b-tree> with a <placeholder> & more; AT&T; &unknown; R&D;",
        "",
    ],
)
def test_what_is_no_tag_stays(text):
    document = Document(text)
    assert without_markup(document) is document


def test_paragraphs_end_phrases_and_inline_tags_do_not():
    assert read("<p>graph</p><p>kernel</p>").split("\n\n")[1:4:2] == [" graph", " kernel"]
    assert read("graph <i>kernel</i> method").split() == ["graph", "kernel", "method"]
    assert "\n" not in read("graph <i>kernel</i> method")


def test_a_title_has_tags_too_and_the_body_begins_where_it_did():
    document = Document("Text.", title="H<sub>2</sub>O")
    assert without_markup(document).body_start == document.body_start
    assert "sub" not in without_markup(document).title


@pytest.mark.parametrize("model", ["first", "multipartite", "yake", "tfidf"])
def test_no_name_of_a_tag_is_a_keyphrase_and_spans_count_in_the_text_given(model):
    [found] = kpdemo.load_predictor(model).predict([JATS], top_k=10)
    texts = [keyphrase.text for keyphrase in found.present]
    assert not {word for text in texts for word in text.split()} & {"jats", "p", "italic", "amp", "title"}
    spans = {keyphrase.text: keyphrase.spans for keyphrase in found.present}
    for text, places in spans.items():
        for start, end in places:
            assert re.sub(r"<.*?>", "", JATS[start:end]) == text
    if model == "multipartite":
        assert "boundary integral equation" in spans


def test_scripts_and_styles_are_no_text():
    text = (
        "One<script src='a.js'>alert('graph')</script> two <STYLE>p {color: red}</STYLE >three <script>four"
    )
    assert read(text).split() == ["One", "two", "three", "four"]
    assert len(read(text)) == len(text)
    assert read("<script>" * 30_000).strip() == ""  # in one pass, though none ends


def test_tags_alone_are_an_empty_text():
    with pytest.raises(InputError, match="The text is empty"):
        kpdemo.load_predictor("first").predict(["<p></p>\n<br/>"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R&amp;D of Schr&#246;dinger", "R&D of Schrödinger"),
        ("&Ouml;sterreich &eacute;t&eacute; na&iuml;ve", "Österreich été naïve"),
        ("CO<sub>2</sub> and H<sub>2</sub>O", "CO2 and H2O"),
        ("CO<sub><i>2</i></sub>-based, <b>K</b>ey-<i>Value</i>", "CO2-based, Key-Value"),
        ("Ti<jats:sub>3</jats:sub>C&lt;sub&gt;2&lt;/sub&gt;", "Ti3C2"),
        ("<em>k</em>NN and the <i>r</i>-th, Navier&ndash;Stokes", "kNN and the r-th, Navier–Stokes"),
        ("10<sup>3</sup> by our method<sup>1</sup>", "10 3 by our method 1"),
        ("graph<br>kernels, one<xref>12</xref>two", "graph kernels, one 12 two"),
        ("p&lt;0.05 &amp; a&nbsp;b", "p<0.05 & a b"),
        ("sci&shy;en&shy;tific cafe&#769; sci\u00aden<i>t\u00adi</i>fic", "scientific cafe\u0301 scientific"),
        ("C&plus;&plus; by 10&#46;5, 3&times;3", "C++ by 10.5, 3×3"),
        ("图<b>神经</b>网络 和 R&amp;D", "图神经网络 和 R&D"),
        (
            "<b>Background</b>Graph kernels. <b>AIM</b>Random <i>Walks</i>Here",
            "Background Graph kernels. AIM Random Walks Here",
        ),
        ("<b>Aim.</b>Graph <b>Methods:</b>random", "Aim. Graph Methods: random"),
        (
            "<span>graph kernels</span><span>random walks</span><a>drugs</a>",
            "graph kernels random walks drugs",
        ),
        (
            "<b>deep</b>-<i>learning</i> <i>N</i>-<i>gram</i> <i>e</i>Commerce",
            "deep-learning N-gram eCommerce",
        ),
        ("CO<inf>2</inf> <tt>k</tt>-means <i>in</i>/<i>ex</i> <i>end</i>", "CO2 k-means in/ex end"),
        ("AT&T; R&unknown;D &notit;", "AT&T; R&unknown;D &notit;"),
    ],
)
def test_a_word_is_read_as_it_is_shown(text, expected):
    found = read(text)
    assert found.split() == expected.split()
    assert len(found) == len(text)


WRITTEN = (
    "We model how R&amp;D spending of Schr&ouml;dinger &amp; Sons follows CO<sub>2</sub> emissions. "
    "CO<sub>2</sub> emissions rise, and R&amp;D spending of <em>k</em>NN classifiers falls."
)


def shown(text: str) -> str:
    """As a browser shows it."""
    return html.unescape(re.sub("<.*?>", "", text))


@pytest.mark.parametrize("model", ["first", "tfidf", "default", "embedding", "multilingual"])
def test_a_text_with_markup_has_the_keyphrases_of_the_text_that_is_shown(model):
    predictor = kpdemo.load_predictor(model, device="cpu")
    title = "R&amp;D spending and <i>the</i> climate"
    document, plain = Document(WRITTEN, title=title), Document(shown(WRITTEN), title=shown(title))
    [found], [expected] = (predictor.predict([one], top_k=30) for one in (document, plain))
    read = {one.text: [document.text[start:end] for start, end in one.spans] for one in found.present}
    places = {one.text: [plain.text[start:end] for start, end in one.spans] for one in expected.present}
    if model == "multilingual":  # how far behind the start a phrase stands counts, and blanks are counted too
        assert len(read.keys() & places.keys()) > len(places) / 2
        places = {text: places[text] for text in read.keys() & places.keys()}
    assert {text: [shown(place) for place in read[text]] for text in places} == places
    assert {"R&amp;D", "CO<sub>2</sub>"} & {word for found in read.values() for word in found[0].split()}


def test_what_a_generator_writes_is_found_where_it_stands():
    document = without_markup(Document("Rise of CO<sub>2</sub> in&nbsp;air"))
    [keyphrase] = build_answer(document, [Proposal("CO2", 0.5)], top_k=None, threshold=None).present
    assert keyphrase.text == "CO2"
    assert keyphrase.spans == ((8, 22),)


PIECES = (
    "<b>",
    "</b>",
    "<sub>",
    "</sub>",
    "<p>",
    "<sup>",
    "&amp;",
    "&lt;",
    "&eacute;",
    "&nbsp;",
    "&times;",
    "&shy;",
    "\u00ad",
    "\u200b",
    "\ufeff",
    "&#8203;",
    "ﬁ",
    "ﬃ",
    "𝑘",
    "<!--",
    "-->",
)


@given(st.lists(st.sampled_from([*PIECES, "a", "Z9", " ", "-", ", ", "\n", "&", "<", "语"]), max_size=30))
def test_every_character_that_is_left_is_known_by_its_place(pieces):
    text = "".join(pieces)
    document = without_markup(Document(text, title=text))
    shown = re.sub("<!--(?:(?!<!--).)*?-->", "", text, flags=re.DOTALL)
    surplus = 2 * (shown.count("ﬁ") + 2 * shown.count("ﬃ"))
    assert len(document.text) == len(Document(text, title=text).text) + surplus
    assert without_markup(document) is document
    places = [number for number, character in enumerate(document.text) if character in "aZ9语"]
    spans = spans_as_given(document, [(place, place + 1) for place in places])
    given_text = Document(text, title=text).text
    starts = [start for start, _ in spans]
    assert [given_text[start] for start in starts] == [document.text[place] for place in places]
    assert starts == sorted(set(starts))
    assert all(end - start == 1 or given_text[start + 1] in "<&\u00ad\u200b\ufeff" for start, end in spans)


opened = cache(kpdemo.load_predictor)
PRINTED = "Eﬃcient text classiﬁcation by ﬁne-tuning. We ﬁne-tune networks for text classiﬁcation."
HIDDEN = (
    "Graph\u200b kernels com\u2060pare mole\u200bcules. Neural\ufeff net\u200dworks and graph\u200b kernels."
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (PRINTED, PRINTED.replace("ﬃ", "ffi").replace("ﬁ", "fi")),
        (HIDDEN, re.sub("[\u200b\u2060\ufeff\u200d]", "", HIDDEN)),
        ("Random 𝑘-means and 𝐆𝐫𝐚𝐩𝐡 kernels of ﬂows", "Random k-means and Graph kernels of flows"),
    ],
)
@pytest.mark.parametrize("title", ["", "Classiﬁers\u200b of ﬁngerprints"])
def test_letters_of_print_and_hidden_ones_are_read_as_plain(text, plain, title):
    plain_title = title.replace("ﬁ", "fi").replace("\u200b", "")
    for model in ("english", "textrank", "yake"):
        [found, wanted] = opened(model).predict(
            [Document(text, title=title, language="en"), Document(plain, title=plain_title, language="en")]
        )
        assert [phrase.text for phrase in found.present] == [phrase.text for phrase in wanted.present]
        assert [phrase.text for phrase in found.absent] == [phrase.text for phrase in wanted.absent]
        for phrase in found.present:
            for start, end in phrase.spans:
                written = Document(text, title=title).text[start:end]
                key = " ".join(read(written).lower().split())
                assert key.replace(" ", "")[:4] == phrase.text.lower().replace(" ", "")[:4], (written, phrase)


def test_joiners_stay_in_scripts_where_they_make_another_word():
    text = "می\u200cخواهم क्\u200dष 👩\u200d💻"
    assert read(text) == text
    assert read("می&zwnj;خواهم") == "می\u200cخواهم     "


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Java\u200bScript Open\u00adStreet Power&#8203;Point", "JavaScript OpenStreet PowerPoint"),
        ("classi&filig;cation &#xFB01;ve e&#xFB03;cient", "classification five efficient"),
        ("deep\u2062learning net&zwj;work", "deeplearning network"),
    ],
)
def test_a_word_with_hidden_or_printed_letters_is_one_word(text, words):
    assert read(text).split() == words.split()


@pytest.mark.parametrize(
    "piece", ["<!--", "<style ", "<p ", "<p a=", "&lt;p a=b ", "&lt;jats:a ", "<p" + " " * 50]
)
def test_tags_that_nobody_closes_stay(piece):
    text = (piece * 250_000)[:250_000]  # in one pass: a pass for each would take minutes
    assert read(text) == re.sub(r"&lt;(\S*)", r"<\1   ", text)
